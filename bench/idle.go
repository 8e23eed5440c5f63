package main

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const idleDialers = 8

// settle leaves the relay without anything to do, before its memory is read:
// relays with a garbage collector have a chance to notice that they are idle.
func (b *bench) settle() { time.Sleep(b.seconds * 3) }

// idle measures what a connection with two subscriptions costs that has nothing
// to do, without and with compression.
func (b *bench) idle(ctx context.Context, p *process, r *report) error {
	return b.idleMemory(ctx, p, r, "idle connection", false)
}

func (b *bench) idleDeflate(ctx context.Context, p *process, r *report) error {
	return b.idleMemory(ctx, p, r, "idle connection, deflate", true)
}

func (b *bench) idleMemory(ctx context.Context, p *process, r *report, row string, deflate bool) error {
	if p.cmd == nil {
		return nil
	}
	warm, err := b.sitDown(ctx, p.url, idleDialers, deflate) // so that what is made once is there
	if err != nil {
		return err
	}
	defer closeAll(warm)
	if deflate && !warm[0].deflate {
		r.note("%s: %s does not compress", row, r.relay)
	}
	b.settle()
	before := p.anonymous()
	conns, err := b.sitDown(ctx, p.url, b.connections, deflate)
	if err != nil {
		return err
	}
	defer closeAll(conns)
	b.settle()
	grown := p.anonymous() - before
	r.less(row, "KiB", float64(grown)/1024/float64(len(conns)))
	return nil
}

// sitDown makes connections with two subscriptions each, whose stored events have
// been sent.
func (b *bench) sitDown(ctx context.Context, url string, n int, deflate bool) ([]*conn, error) {
	conns := make([]*conn, n)
	errs := make([]error, idleDialers)
	var wg sync.WaitGroup
	for d := range idleDialers {
		wg.Go(func() {
			for i := d; i < n && errs[d] == nil; i += idleDialers {
				conns[i], errs[d] = b.sit(ctx, url, i, deflate)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
		return nil, err
	}
	return conns, nil
}

// sit makes a connection with two subscriptions: one author's notes, and what
// mentions that author. Each has a stored event to send, mostly.
func (b *bench) sit(ctx context.Context, url string, n int, deflate bool) (*conn, error) {
	c, err := dial(ctx, url, 4<<10, deflate)
	if err != nil {
		return nil, err
	}
	f := &b.corpus.plain[n*7919%len(b.corpus.plain)]
	c.SetDeadline(time.Now().Add(30 * time.Second))
	for _, req := range []string{
		fmt.Sprintf(`["REQ","notes",{"kinds":[1,6,7],"authors":[%q],"limit":1}]`, f.Pubkey),
		fmt.Sprintf(`["REQ","mentions",{"kinds":[1,7,9735],"#p":[%q],"limit":1}]`, f.Pubkey),
	} {
		if err := c.converse(req); err != nil {
			c.Close()
			return nil, fmt.Errorf("connection %d: %w", n, err)
		}
	}
	c.SetDeadline(time.Time{})
	c.buf, c.long = nil, nil // nothing is read any more
	return c, nil
}

// converse sends a REQ, compressed where that was agreed on, and reads up to EOSE.
func (c *conn) converse(req string) error {
	frame := text(req)
	if c.deflate {
		frame = deflated(req)
	}
	if err := c.send(frame); err != nil {
		return err
	}
	for {
		m, compressed, err := c.next()
		if err != nil {
			return err
		}
		if compressed {
			if m, err = c.inflate(m); err != nil {
				return err
			}
		}
		switch verbOf(m) {
		case eose:
			return nil
		case closed, notice:
			return fmt.Errorf("answered %.200s", m)
		}
	}
}

// deflated returns the frame of a message, compressed by itself (RFC 7692).
func deflated(message string) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestSpeed) // no error for a valid level
	io.WriteString(w, message)
	w.Flush()
	return appendFrame(nil, finBit|rsv1Bit|opText, bytes.TrimSuffix(b.Bytes(), syncTail))
}

// syncTail ends what is flushed, and is left out on the wire. The block after it
// ends the stream for a reader.
var (
	syncTail = []byte{0, 0, 0xff, 0xff}
	lastTail = []byte{0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff}
)

// inflate decompresses a message. What came before it may be its dictionary.
func (c *conn) inflate(m []byte) ([]byte, error) {
	r := flate.NewReaderDict(io.MultiReader(bytes.NewReader(m), bytes.NewReader(lastTail)), c.window)
	out, err := io.ReadAll(r)
	c.window = append(c.window, out...)
	c.window = c.window[max(0, len(c.window)-32<<10):]
	return out, err
}
