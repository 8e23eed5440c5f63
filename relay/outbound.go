package relay

import (
	"sync"
	"time"
)

// send queues a whole message.
func (c *conn) send(message []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendText(nil, message)
}

// sendText queues a whole message, which belongs to sub if that is not nil. The
// caller holds c.mu.
func (c *conn) sendText(sub *subscription, message []byte) {
	if c.out.ended() {
		return
	}
	c.srv.metrics.sent(verbOf(message), 1)
	c.out.text(sub, message)
	c.startWriter()
}

// sendEvent queues a live event for sub, which is open. The caller holds c.mu.
func (c *conn) sendEvent(sub *subscription, ev *liveEvent) {
	if c.out.ended() {
		return
	}
	c.srv.metrics.sent(verbEvent, 1)
	c.out.push(parcel{sub: sub, event: ev})
	c.startWriter()
}

// sendPage queues stored events for sub, which is open. The caller holds c.mu.
func (c *conn) sendPage(sub *subscription, p page) {
	if c.out.ended() || len(p.frames) == 0 {
		return
	}
	c.srv.metrics.sent(verbEvent, p.events)
	c.out.push(parcel{sub: sub, frames: p.frames})
	c.startWriter()
}

// sendFrames queues frames of control (RFC 6455, 5.5). The caller holds c.mu.
func (c *conn) sendFrames(frames []byte) {
	if c.out.ended() {
		return
	}
	c.out.push(parcel{frames: frames})
	c.startWriter()
}

// startWriter sees to it that somebody sends what is queued. The caller holds
// c.mu.
func (c *conn) startWriter() {
	if !c.out.writing {
		c.out.writing = true
		go c.write()
	}
}

const (
	// gatherBytes is about how much is sent by one system call.
	gatherBytes = 64 << 10
	// copyBelow is the length of frames that are gathered with others. Longer
	// ones are sent from where they are.
	copyBelow = 16 << 10
	// lingerTime is how long a client has to answer a close, and to take what
	// is sent when the connection is given up.
	lingerTime = 5 * time.Second
)

// A writer has what a goroutine needs that sends.
type writer struct {
	parcels []parcel
	frames  []byte // gathered
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// release puts w back for another connection.
func (w *writer) release() {
	clear(w.parcels[:cap(w.parcels)])
	w.parcels = w.parcels[:0]
	if cap(w.frames) <= 2*gatherBytes {
		w.frames = w.frames[:0]
		writers.Put(w)
	}
}

// write sends what is queued and ends when nothing is left. At most one runs
// on a connection.
func (c *conn) write() {
	w := writers.Get().(*writer)
	defer w.release()
	defer c.containWriter()
	for {
		w.parcels, w.frames = c.nextParcels(w.parcels[:0], w.frames[:0])
		if len(w.parcels) == 0 && len(w.frames) == 0 {
			return
		}
		if err := c.sendParcels(w); err != nil {
			c.abort()
			c.writerGone()
			return
		}
	}
}

// containWriter ends the connection where its writer panics.
func (c *conn) containWriter() {
	if p := recover(); p != nil {
		c.srv.caught(p, c)
		c.abort()
		c.writerGone()
	}
}

// writerGone says that nobody writes any more.
func (c *conn) writerGone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.writing = false
	c.changed.Broadcast()
}

// nextParcels adds what to send next, nothing when the writer is to end: the
// decision and the end are one step, so that nothing is left without a writer.
func (c *conn) nextParcels(parcels []parcel, frames []byte) ([]parcel, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.out.bytes
	frames = append(frames, c.out.pong...)
	c.out.pong = nil
	parcels = c.out.take(parcels, gatherBytes)
	m := &c.srv.marks
	if c.out.bytes <= m.low && len(c.parked) > 0 { // also where what waited was dropped
		c.srv.sched.add(c, resumed, c.parked...)
		c.parked = nil
	}
	if len(parcels) == 0 && len(frames) == 0 {
		c.out.writing = false
		c.changed.Broadcast()
		if c.out.closing {
			c.sock.linger()
		}
		return parcels, frames
	}
	if before > m.read && c.out.bytes <= m.read {
		c.changed.Broadcast()
	}
	return parcels, frames
}

// abort cuts the connection off; its reader and its writer learn of it from the
// socket.
func (c *conn) abort() {
	c.mu.Lock()
	c.out.broken = true
	c.out.clear()
	c.endSubs()
	c.changed.Broadcast()
	c.mu.Unlock()
	c.sock.Close()
}

// sendParcels sends w.frames and then w.parcels, many at once where they are
// small.
func (c *conn) sendParcels(w *writer) error {
	for i := range w.parcels {
		p := &w.parcels[i]
		switch {
		case p.event != nil:
			w.frames = p.event.appendTo(w.frames, p.sub.prefix, c.sock.deflate)
		case len(p.frames) < copyBelow:
			w.frames = append(w.frames, p.frames...)
		default:
			if err := c.flush(w); err != nil {
				return err
			}
			if err := c.sendBytes(p.frames); err != nil {
				return err
			}
			pageBuffers.put(p.frames)
			continue
		}
		if len(w.frames) >= gatherBytes {
			if err := c.flush(w); err != nil {
				return err
			}
		}
	}
	return c.flush(w)
}

// flush sends what w has gathered.
func (c *conn) flush(w *writer) error {
	err := c.sendBytes(w.frames)
	w.frames = w.frames[:0]
	return err
}

func (c *conn) sendBytes(frames []byte) error {
	c.srv.metrics.bytesOut.Add(int64(len(frames)))
	return c.sock.send(frames, c.srv.stall)
}
