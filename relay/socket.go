package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
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
	s, err := newSocket(nc)
	if err != nil {
		nc.Close()
		l.failed(err)
	}
	return s, err
}

// A socket is the network connection below the websocket library. The library
// reads through it, and the socket has a buffer only while there is something
// to read: an idle connection has none. It writes past the library, which only
// answers the handshake, and says goodbye to a client that broke the protocol.
type socket struct {
	net.Conn
	raw      syscall.RawConn
	deflate  bool         // permessage-deflate was negotiated
	received atomic.Int64 // bytes read

	// Set when the handshake is over, before the goroutines of the connection
	// begin. Until then net/http has the socket, with deadlines of its own.
	upgraded    bool
	messageTime time.Duration // how long a message may take from its first byte to its last

	// The reader's own.

	ready func(fd uintptr) bool // readReady, made once
	buf   []byte                // of readBuffers, what is read ahead
	rest  []byte                // of buf, not yet asked for
	err   error                 // of the last system call
	begun bool                  // a message has begun
	timed bool                  // and must be over at a set time

	mu        sync.Mutex
	goodbye   []byte // what the library would say since then
	lingering bool   // the end of reading has been set
}

func newSocket(nc net.Conn) (*socket, error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a connection of type %T has no descriptor", nc)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("descriptor of a connection: %w", err)
	}
	s := &socket{Conn: nc, raw: raw}
	s.ready = s.readReady
	return s, nil
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		s.release()
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// await waits until there is something to read. Read would do so itself, but
// below the library: the stack of a goroutine that waits here takes half the
// memory. An error shows again when the library reads.
func (s *socket) await() {
	if len(s.rest) == 0 {
		s.release()
		s.fill()
	}
}

// fill waits until there is something to read, and reads it.
func (s *socket) fill() error {
	if err := s.raw.Read(s.ready); err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	s.received.Add(int64(len(s.rest)))
	s.begun = true
	return nil
}

// readReady reads what there is. It reports whether that was anything, an error
// and the end included; else the runtime waits and calls it again.
func (s *socket) readReady(fd uintptr) bool {
	buf := readBuffers.get()
	buf = buf[:cap(buf)]
	n, err := syscall.Read(int(fd), buf)
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), buf)
	}
	if n > 0 {
		s.buf, s.rest, s.err = buf, buf[:n], nil
		return true
	}
	readBuffers.put(buf)
	switch {
	case err == syscall.EAGAIN:
		s.bound()
		return false
	case err == nil:
		s.err = io.EOF
	default:
		s.err = os.NewSyscallError("read", err)
	}
	return true
}

// bound is called before the reader waits. It bounds the time where a message
// has begun.
func (s *socket) bound() {
	if s.upgraded && s.begun && !s.timed {
		s.timed = true
		s.setReadEnd(time.Now().Add(s.messageTime))
	}
}

// messageOver says that what comes next begins a new message.
func (s *socket) messageOver() {
	s.begun = len(s.rest) > 0
	if s.timed {
		s.timed = false
		s.setReadEnd(time.Time{})
	}
}

func (s *socket) setReadEnd(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lingering {
		s.Conn.SetReadDeadline(t)
	}
}

// linger sets when reading ends at the latest: a close has been sent.
func (s *socket) linger() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lingering = true
	s.Conn.SetReadDeadline(time.Now().Add(lingerTime))
}

// release gives the buffer back.
func (s *socket) release() {
	if s.buf != nil {
		readBuffers.put(s.buf)
		s.buf, s.rest = nil, nil
	}
}

// Write implements net.Conn, for the library.
func (s *socket) Write(p []byte) (int, error) {
	if s.upgraded {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.goodbye = append(s.goodbye, p...)
		return len(p), nil
	}
	// The library does not tell what it has negotiated, but its answer does.
	s.deflate = s.deflate || bytes.Contains(p, []byte("permessage-deflate"))
	return s.Conn.Write(p)
}

// lastWords returns what the library would say, nil for nothing: the frame of a
// close.
func (s *socket) lastWords() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.goodbye
}

// SetWriteDeadline implements net.Conn. The library means its own writes, which
// never wait once the handshake is over.
func (s *socket) SetWriteDeadline(t time.Time) error {
	if s.upgraded {
		return nil
	}
	return s.Conn.SetWriteDeadline(t)
}

// send sends p. It may take as long as it likes while the client takes
// something; an error is that nothing went for the time of stall, or that the
// connection is gone.
func (s *socket) send(p []byte, stall time.Duration) error {
	for len(p) > 0 {
		s.Conn.SetWriteDeadline(time.Now().Add(stall))
		n, err := s.Conn.Write(p)
		p = p[n:]
		if err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}
