package relay

import "sync"

// A bufferPool lends buffers of a size. What has grown to more than maxKept is
// not taken back, so that a few large messages leave nothing behind.
type bufferPool struct {
	size, maxKept int
	pool          sync.Pool
}

func (p *bufferPool) get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, p.size)
}

func (p *bufferPool) put(b []byte) {
	if cap(b) >= p.size && cap(b) <= p.maxKept {
		p.pool.Put(&b)
	}
}

var (
	// messageBuffers hold a message of a client until it is answered.
	messageBuffers = bufferPool{size: 4 << 10, maxKept: 128 << 10}
	// readBuffers hold what is read ahead: most messages, and many of a client
	// that sends many.
	readBuffers = bufferPool{size: 16 << 10, maxKept: 16 << 10}
	// pageBuffers hold stored events.
	pageBuffers = bufferPool{size: 64 << 10, maxKept: 128 << 10}
)
