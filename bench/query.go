package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	queryConns = 8                // that ask, one query at a time each
	patience   = 10 * time.Second // with the last query of a scenario
)

// idDigits stand for the number of a subscription: relays take the messages of a
// connection side by side, so a CLOSE must never meet the REQ after it.
const idDigits = "00000000"

// request returns the frame of a REQ with a filter.
func request(filter string) []byte { return text(`["REQ","` + idDigits + `",` + filter + `]`) }

var closing = text(`["CLOSE","` + idDigits + `"]`)

// An asker asks one query after another on a connection.
type asker struct {
	*conn
	last uint32 // number of the last subscription
	out  []byte
}

// ask sends a REQ, and the CLOSE of the one before with it, and reads up to EOSE.
func (a *asker) ask(req []byte) (answers int, err error) {
	a.out = a.out[:0]
	if a.last > 0 {
		a.out = number(append(a.out, closing...), a.last)
	}
	a.last++
	start := len(a.out)
	a.out = append(a.out, req...)
	number(a.out[start:], a.last)
	if err := a.send(a.out); err != nil {
		return 0, err
	}
	for {
		m, _, err := a.next()
		if err != nil {
			return answers, err
		}
		switch verbOf(m) {
		case event:
			answers++
		case eose:
			return answers, nil
		case closed, notice:
			return answers, fmt.Errorf("answered %.200s", m)
		}
	}
}

// number writes the number of a subscription into a frame.
func number(frame []byte, n uint32) []byte {
	at := bytes.Index(frame, []byte(idDigits))
	for i := len(idDigits) - 1; i >= 0; i-- {
		frame[at+i] = byte('0' + n%10)
		n /= 10
	}
	return frame
}

// query asks for a shape on several connections.
func (b *bench) query(ctx context.Context, p *process, s shape, r *report) error {
	conns, err := dialAll(ctx, p.url, queryConns, bigBuffer)
	if err != nil {
		return err
	}
	defer closeAll(conns)
	frames := s.frames(b.corpus)
	answers, err := once(conns[0], frames)
	if err != nil {
		return err
	}
	meter := p.meter()
	start := time.Now()
	timed, cancel := context.WithTimeout(ctx, b.seconds/2)
	defer cancel()
	h, err := askWhile(timed, conns, frames)
	elapsed := time.Since(start)
	if err != nil {
		return err
	}
	row := s.scenario()
	r.more(row, "/s", float64(h.n)/elapsed.Seconds())
	r.detail(row+", p50", "ms", ms(h.quantile(0.5)))
	r.detail(row+", p99", "ms", ms(h.quantile(0.99)))
	meter.report(r, row, "query", h.n)
	r.same(row+", answers", float64(answers))
	return nil
}

// once asks all queries once, which warms the relay up, and returns how many
// events came.
func once(c *conn, frames [][]byte) (answers int, err error) {
	c.SetDeadline(time.Now().Add(time.Minute))
	a := asker{conn: c, last: 9000000}
	for _, frame := range frames {
		n, err := a.ask(frame)
		if err != nil {
			return 0, err
		}
		answers += n
	}
	return answers, nil
}

// askWhile asks on all connections at once until ctx ends, which has a deadline,
// and returns the latencies. A query that is not answered in time is an error, and
// counts with the time that was waited for it.
func askWhile(ctx context.Context, conns []*conn, frames [][]byte) (*hist, error) {
	var (
		wg   sync.WaitGroup
		all  hist
		errs = make([]error, len(conns))
		hs   = make([]hist, len(conns))
	)
	end, _ := ctx.Deadline()
	for i, c := range conns {
		c.SetDeadline(end.Add(patience))
		wg.Go(func() { errs[i] = askOn(ctx, c, frames, i*len(frames)/len(conns), &hs[i]) })
	}
	wg.Wait()
	for i := range hs {
		all.merge(&hs[i])
	}
	return &all, errors.Join(errs...)
}

func askOn(ctx context.Context, c *conn, frames [][]byte, first int, h *hist) error {
	a := asker{conn: c}
	for start, i := time.Now(), first; ctx.Err() == nil; i++ {
		_, err := a.ask(frames[i%len(frames)])
		now := time.Now()
		h.add(now.Sub(start))
		if err != nil {
			return err
		}
		start = now
	}
	return nil
}

func dialAll(ctx context.Context, url string, n, buffer int) ([]*conn, error) {
	var conns []*conn
	for range n {
		c, err := dial(ctx, url, buffer, false)
		if err != nil {
			closeAll(conns)
			return nil, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		c.Close()
	}
}
