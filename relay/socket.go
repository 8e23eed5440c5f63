package relay

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A listener makes a socket of every connection it accepts.
type listener struct {
	net.Listener
	keepalive bool
	// failed is told of errors of accepting, such as too many open files, which
	// clients see only as silence.
	failed func(error)
}

func (l listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		if !errors.Is(err, net.ErrClosed) {
			l.failed(err)
		}
		return nil, err
	}
	if tcp, ok := nc.(*net.TCPConn); ok && !l.keepalive {
		tcp.SetKeepAlive(false) // on is Go's default
	}
	return &socket{Conn: nc}, nil
}

// A socket is the network connection below the websocket library, which writes
// every frame by itself. While gathering, what is written is only kept, and
// flush sends all of it at once: many frames cost one system call, and neither
// a compressor nor a lock of the library is held while a client is slow.
type socket struct {
	net.Conn
	gathering bool         // set before the second goroutine begins
	received  atomic.Int64 // bytes read

	mu  sync.Mutex
	buf []byte // gathered
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.received.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (int, error) {
	if !s.gathering {
		return s.Conn.Write(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buf == nil {
		s.buf = getBuffer()
	}
	s.buf = append(s.buf, p...)
	return len(p), nil
}

// SetWriteDeadline implements net.Conn. The library means its own writes, which
// never wait while gathering.
func (s *socket) SetWriteDeadline(t time.Time) error {
	if s.gathering {
		return nil
	}
	return s.Conn.SetWriteDeadline(t)
}

// gathered returns the number of bytes that wait for flush.
func (s *socket) gathered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.buf)
}

// flush sends what has been gathered. It may take as long as it likes while the
// client takes something; an error is that nothing went for the time of stall,
// or that the connection is gone.
func (s *socket) flush(stall time.Duration) error {
	s.mu.Lock()
	buf := s.buf
	s.buf = nil
	s.mu.Unlock()
	defer putBuffer(buf)
	for rest := buf; len(rest) > 0; {
		s.Conn.SetWriteDeadline(time.Now().Add(stall))
		n, err := s.Conn.Write(rest)
		rest = rest[n:]
		if err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

// Buffers for messages in either direction, while they are read or gathered.
// Few are larger than this; those are not kept.
const (
	bufferSize    = 4 << 10
	maxBufferKept = 128 << 10
)

var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, bufferSize)) }}

func getBuffer() []byte { return (*buffers.Get().(*[]byte))[:0] }

func putBuffer(b []byte) {
	if cap(b) >= bufferSize && cap(b) <= maxBufferKept {
		buffers.Put(&b)
	}
}
