package relay

import "slices"

// A parcel is what waits to be sent: whole frames, or a live event, of which
// only a client's own part is made when its turn comes.
type parcel struct {
	sub    *subscription // that it belongs to, nil for none
	frames []byte        // or
	event  *liveEvent
}

// parcelSize is about what a parcel takes beside what it holds: many of them
// are small.
const parcelSize = 64

// size returns how much memory the parcel takes, roughly what it has on the wire.
func (p *parcel) size() int {
	if p.event != nil {
		return parcelSize + len(p.sub.prefix) + len(p.event.json)
	}
	return parcelSize + len(p.frames)
}

// An outbox is what waits to be sent to one client, in order. The mutex of the
// connection guards it.
type outbox struct {
	parcels []parcel
	bytes   int    // of parcels
	pong    []byte // a frame, sent before them
	writing bool   // a goroutine is sending
	closing bool   // the last frame is a close: nothing is accepted any more
	broken  bool   // the socket is gone: nothing is accepted, nothing is sent
}

// ended reports whether nothing more is accepted.
func (o *outbox) ended() bool { return o.closing || o.broken }

// push puts a parcel at the end.
func (o *outbox) push(p parcel) {
	o.parcels = append(o.parcels, p)
	o.bytes += p.size()
}

// text puts a message at the end: where it can, into the parcel that is there.
func (o *outbox) text(sub *subscription, message []byte) {
	if n := len(o.parcels); n > 0 {
		last := &o.parcels[n-1]
		if last.event == nil && last.sub == sub && len(last.frames)+maxHead+len(message) <= maxShared {
			o.bytes -= last.size()
			last.frames = appendFrame(last.frames, frameText, message)
			o.bytes += last.size()
			return
		}
	}
	o.push(parcel{sub: sub, frames: appendFrame(make([]byte, 0, maxHead+len(message)), frameText, message)})
}

// maxShared is how long the frames of a parcel may become by adding to it: the
// parcel is sent whole.
const maxShared = 8 << 10

// answerPing answers a ping, instead of one that has not been answered yet if
// there is one: the last is enough (RFC 6455, 5.5.3).
func (o *outbox) answerPing(data string) {
	o.pong = append(appendHead(o.pong[:0], framePong, len(data)), data...)
}

// take moves parcels of about size bytes, at least one, to the end of dst.
func (o *outbox) take(dst []parcel, size int) []parcel {
	n := 0
	for n < len(o.parcels) && size > 0 {
		size -= o.parcels[n].size()
		o.bytes -= o.parcels[n].size()
		n++
	}
	dst = append(dst, o.parcels[:n]...)
	clear(o.parcels[:n]) // the array stays, what it pointed to need not
	o.parcels = o.parcels[n:]
	if len(o.parcels) == 0 {
		o.parcels = nil
	}
	return dst
}

// drop removes what belongs to sub.
func (o *outbox) drop(sub *subscription) {
	o.parcels = slices.DeleteFunc(o.parcels, func(p parcel) bool {
		if p.sub != sub {
			return false
		}
		o.bytes -= p.size()
		return true
	})
}

// clear removes everything.
func (o *outbox) clear() { o.parcels, o.bytes, o.pong = nil, 0, nil }
