package relay

import (
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Frames are made here and not by the websocket library, which reads for us: so
// an event is copied once on its way to a socket, and deflated once for all that
// it goes to. A frame of a server is a short head and the payload (RFC 6455, 5.2).

// The first byte of a frame: the last of its message, and what it is.
const (
	frameText     = 0x81
	frameDeflated = 0xc1 // text, compressed (RFC 7692)
	frameClose    = 0x88
	framePing     = 0x89
	framePong     = 0x8a
)

// maxHead is the length of the longest head.
const maxHead = 10

// appendHead appends the head of a frame with n bytes of payload.
func appendHead(dst []byte, first byte, n int) []byte {
	switch {
	case n < 126:
		return append(dst, first, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, first, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, first, 127), uint64(n))
	}
}

// appendFrame appends a frame.
func appendFrame(dst []byte, first byte, payload []byte) []byte {
	return append(appendHead(dst, first, len(payload)), payload...)
}

// appendEvent appends the frame of an EVENT: prefix is what stands before the
// event and names the subscription.
func appendEvent(dst, prefix, json []byte) []byte {
	dst = appendHead(dst, frameText, len(prefix)+len(json)+1)
	dst = append(dst, prefix...)
	dst = append(dst, json...)
	return append(dst, ']')
}

// appendDeflatedEvent appends the frame of an EVENT whose event comes from
// deflate. A deflated message is a series of blocks, and the blocks of the event
// refer to nothing before them; so the prefix goes before them as a block that
// is not compressed (RFC 1951, 3.2.4), and they are the same for everybody.
func appendDeflatedEvent(dst, prefix, deflated []byte) []byte {
	const stored = 5 // the head of such a block: 0, the length, its complement
	dst = appendHead(dst, frameDeflated, stored+len(prefix)+len(deflated))
	dst = append(dst, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(prefix)))
	dst = binary.LittleEndian.AppendUint16(dst, ^uint16(len(prefix)))
	dst = append(dst, prefix...)
	return append(dst, deflated...)
}

const (
	// deflateFrom is the length from which an event is worth compressing.
	deflateFrom = 512
	// deflateLevel is chosen for events, most of which are a kilobyte of
	// hexadecimal: docs/benchmarks.md has what the levels yield.
	deflateLevel = 6
)

// A deflater compresses events, each on its own. It keeps no state between them,
// so that a few serve all connections.
type deflater struct {
	w   *flate.Writer
	out []byte
}

var deflaters = sync.Pool{New: func() any {
	d := new(deflater)
	d.w, _ = flate.NewWriter(d, deflateLevel) // an error is of the level alone
	return d
}}

// Write implements io.Writer, for the compressor.
func (d *deflater) Write(p []byte) (int, error) {
	d.out = append(d.out, p...)
	return len(p), nil
}

// deflate returns the last part of a deflated EVENT: the event and the bracket
// behind it. It is valid until the next call.
func (d *deflater) deflate(json []byte) []byte {
	d.out = d.out[:0]
	d.w.Reset(d)
	d.w.Write(json) // errors are those of our own Write
	d.w.Write([]byte{']'})
	d.w.Flush()
	return d.out[:len(d.out)-4] // every message ends in these bytes, and they are not sent
}

// A liveEvent is an event on its way to any number of subscriptions.
type liveEvent struct {
	json []byte

	once     sync.Once
	deflated []byte // made for the first client that wants it
}

// deflate returns what appendDeflatedEvent takes.
func (e *liveEvent) deflate() []byte {
	e.once.Do(func() {
		d := deflaters.Get().(*deflater)
		e.deflated = append([]byte(nil), d.deflate(e.json)...)
		deflaters.Put(d)
	})
	return e.deflated
}

// appendTo appends the frame of e for a subscription.
func (e *liveEvent) appendTo(dst, prefix []byte, deflate bool) []byte {
	if deflate && len(e.json) >= deflateFrom {
		return appendDeflatedEvent(dst, prefix, e.deflate())
	}
	return appendEvent(dst, prefix, e.json)
}

const (
	// pageBytes is about how many bytes of stored events are queued at once.
	pageBytes = 48 << 10
	// roomForEOSE is how much room a short page has behind its events.
	roomForEOSE = 128
)

// A page is stored events on their way to a subscription: whole frames.
type page struct {
	frames []byte
	events int
}

// add appends an event.
func (p *page) add(prefix, json []byte, deflate bool) {
	p.events++
	if !deflate || len(json) < deflateFrom {
		p.frames = appendEvent(p.frames, prefix, json)
		return
	}
	d := deflaters.Get().(*deflater)
	p.frames = appendDeflatedEvent(p.frames, prefix, d.deflate(json))
	deflaters.Put(d)
}
