package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"
)

const (
	bigBuffer = 256 << 10
	maxFrame  = 64 << 20 // bytes, of a message as well; a relay that sends more is at fault
)

// A conn is a websocket connection without luxury. One goroutine may read while
// others write.
type conn struct {
	net.Conn
	deflate bool // permessage-deflate was agreed on

	buf    []byte // buf[r:w] is read and not yet consumed
	r, w   int
	long   []byte // a message of several frames
	window []byte // of decompression, kept by inflate

	mu sync.Mutex // held while writing
}

// dial connects to a ws:// or wss:// URL, with a buffer of so many bytes.
func dial(ctx context.Context, address string, buffer int, deflate bool) (*conn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("url %q: %w", address, err)
	}
	c := &conn{buf: make([]byte, buffer)}
	if c.Conn, err = dialTCP(ctx, u); err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	if err := c.upgrade(u, deflate); err != nil {
		c.Close()
		return nil, fmt.Errorf("upgrade %s: %w", address, err)
	}
	return c, nil
}

func dialTCP(ctx context.Context, u *url.URL) (net.Conn, error) {
	port := u.Port()
	switch {
	case u.Scheme == "wss":
		if port == "" {
			port = "443"
		}
		return new(tls.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	case port == "":
		port = "80"
	}
	return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
}

// upgrade shakes hands. The key is always the same and the answer to it is not
// checked: what a cache in between could confuse is no matter here.
func (c *conn) upgrade(u *url.URL, deflate bool) error {
	extensions := ""
	if deflate { // as browsers offer it
		extensions = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
	}
	path := u.RequestURI()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	defer c.SetDeadline(time.Time{})
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n%s\r\n", path, u.Host, extensions)
	if err != nil {
		return err
	}
	end := -1
	for n := 1; end < 0; n = c.w - c.r + 1 {
		if err := c.fill(n); err != nil {
			return err
		}
		end = bytes.Index(c.buf[c.r:c.w], []byte("\r\n\r\n"))
	}
	head := c.buf[c.r : c.r+end]
	c.r += end + 4
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101")) {
		return fmt.Errorf("answered %q", head[:min(len(head), 40)])
	}
	c.deflate = bytes.Contains(bytes.ToLower(head), []byte("permessage-deflate"))
	return nil
}

// fill makes n bytes readable at c.r.
func (c *conn) fill(n int) error {
	if n > maxFrame {
		return fmt.Errorf("frame of %d bytes", n)
	}
	if c.r+n > len(c.buf) {
		buf := c.buf
		if n > len(buf) {
			buf = make([]byte, 2*n)
		}
		c.w = copy(buf, c.buf[c.r:c.w])
		c.r, c.buf = 0, buf
	}
	for c.w-c.r < n {
		got, err := c.Read(c.buf[c.w:])
		c.w += got
		if err != nil {
			return err
		}
	}
	return nil
}

// errClosed is that the relay said goodbye.
var errClosed = errors.New("closed by the relay")

// next returns the next message, valid until the next call, and whether it is
// compressed. It answers pings.
func (c *conn) next() (message []byte, compressed bool, err error) {
	c.long = c.long[:0]
	for {
		first, payload, err := c.frame()
		if err != nil {
			return nil, false, err
		}
		switch first & 0xf {
		case opClose:
			return nil, false, fmt.Errorf("%w: %q", errClosed, payload[min(len(payload), 2):])
		case opPing:
			if err := c.send(appendFrame(nil, finBit|opPong, payload)); err != nil {
				return nil, false, err
			}
			continue
		case opPong:
			continue
		}
		compressed = compressed || first&rsv1Bit != 0
		if first&finBit != 0 && len(c.long) == 0 {
			return payload, compressed, nil
		}
		if c.long = append(c.long, payload...); len(c.long) > maxFrame {
			return nil, false, fmt.Errorf("message of %d bytes and more", len(c.long))
		}
		if first&finBit != 0 {
			return c.long, compressed, nil
		}
	}
}

// frame consumes a frame. Those of a server are not masked.
func (c *conn) frame() (first byte, payload []byte, err error) {
	if err := c.fill(2); err != nil {
		return 0, nil, err
	}
	head, n := 2, int(c.buf[c.r+1]&0x7f)
	if n >= 126 {
		head = 4 + (n-126)*6
		if err := c.fill(head); err != nil {
			return 0, nil, err
		}
		if head == 4 {
			n = int(binary.BigEndian.Uint16(c.buf[c.r+2:]))
		} else {
			n = int(min(binary.BigEndian.Uint64(c.buf[c.r+2:]), maxFrame))
		}
	}
	if err := c.fill(head + n); err != nil {
		return 0, nil, err
	}
	first, payload = c.buf[c.r], c.buf[c.r+head:c.r+head+n]
	c.r += head + n
	return first, payload, nil
}

// send writes frames.
func (c *conn) send(frames []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.Write(frames)
	return err
}
