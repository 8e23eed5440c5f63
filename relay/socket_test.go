package relay

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// hurry lets the next connections have little time for a message.
func (r *testRelay) hurry() { r.messageTime = 10 * time.Millisecond }

// TestHalfMessage begins messages and does not end them: in the head of a frame,
// in a frame, between the frames of a message, with pings in between.
func TestHalfMessage(t *testing.T) {
	ping := []byte{0x89, 0x80, 0, 0, 0, 0}
	for name, half := range map[string][]byte{
		"head":     {0x81},
		"frame":    append([]byte{0x81, 0x80 | 100, 0, 0, 0, 0}, `["REQ"`...),
		"fragment": append([]byte{0x01, 0x80 | 6, 0, 0, 0, 0}, `["REQ"`...),
		"long":     append([]byte{0x81, 0xff, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0}, contentOf(3<<19, 1)...),
		"pings":    append(append([]byte{0x01, 0x80 | 6, 0, 0, 0, 0}, `["REQ"`...), append(ping, ping...)...),
	} {
		t.Run(name, func(t *testing.T) {
			r := startRelay(t)
			r.hurry()
			c := r.dial()
			c.quiet()
			if _, err := c.ws.NetConn().Write(half); err != nil {
				t.Fatal(err)
			}
			c.expectClose(websocket.ClosePolicyViolation)
		})
	}
}

// TestIdleHasTime has nothing but control come from a client, and long pauses
// between whole messages: no time runs then.
func TestIdleHasTime(t *testing.T) {
	r := startRelay(t)
	r.hurry()
	c := r.dial()
	sock := r.conn().sock
	for range 3 {
		before := sock.received.Load()
		for _, kind := range []int{websocket.PongMessage, websocket.PingMessage} {
			if err := c.ws.WriteControl(kind, nil, time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "they have come", func() bool { return sock.received.Load() >= before+12 })
		c.quiet()
		begin := time.Now()
		until(t, "a message would have taken too long", func() bool { return time.Since(begin) > 3*r.messageTime })
	}
	c.quiet()
}

// TestHandshakeHasDeadlines leaves the deadlines of a socket to net/http before
// the handshake is over: it ends its own reading by one.
func TestHandshakeHasDeadlines(t *testing.T) {
	s := &socket{begun: true}
	s.bound()
	if s.timed {
		t.Error("a deadline was set")
	}
}

// TestNoBufferWhileIdle waits for a client that has said something and says
// nothing more: the socket has no buffer meanwhile.
func TestNoBufferWhileIdle(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	s, err := newSocket(accepted)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(client, "something")
	if _, err := io.ReadFull(s, make([]byte, len("something"))); err != nil {
		t.Fatal(err)
	}
	if s.buf == nil {
		t.Fatal("nothing was read ahead")
	}
	s.Conn.SetReadDeadline(time.Now()) // which is when it stops waiting
	s.await()
	if s.buf != nil || s.rest != nil {
		t.Errorf("%d bytes are held", cap(s.buf))
	}
}

// A client that ends its side without a close is told of no code that stands for
// just that (RFC 6455, 7.4.1).
func TestHalfClosed(t *testing.T) {
	for _, sent := range [][]byte{nil, {0x81}, {0x81, 0x85, 0, 0, 0, 0, 'x'}} {
		r := startRelay(t)
		c := r.dial()
		nc := c.ws.NetConn().(*net.TCPConn)
		nc.Write(sent)
		nc.CloseWrite()
		nc.SetReadDeadline(time.Now().Add(patience))
		got, err := io.ReadAll(nc)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasSuffix(got, websocket.FormatCloseMessage(websocket.CloseAbnormalClosure, "")) {
			t.Errorf("after % x: got % x", sent, got)
		}
	}
}
