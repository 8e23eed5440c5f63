package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	sluggards      = 4   // connections that never read
	slice          = 300 // events that a filter of theirs asks for, under every relay's limit
	slicesARequest = 50
)

// slow has connections ask for everything and read nothing, and measures what the
// relay keeps for them and how another client fares meanwhile.
func (b *bench) slow(ctx context.Context, p *process, r *report) error {
	asking, err := dial(ctx, p.url, bigBuffer, false)
	if err != nil {
		return err
	}
	defer asking.Close()
	frames := shapes[oneID].frames(b.corpus)
	if _, err := once(asking, frames); err != nil {
		return err
	}
	b.settle()
	before := p.anonymous()

	conns, err := dialAll(ctx, p.url, sluggards, 4<<10)
	if err != nil {
		return err
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	defer closeAll(conns)
	requests := b.corpus.everything()
	for _, c := range conns {
		c.SetDeadline(time.Now().Add(b.seconds))
		sending.Go(func() { c.sendUnread(requests) })
	}

	ctx, cancel := context.WithTimeout(ctx, b.seconds)
	defer cancel()
	peak := make(chan int)
	go func() { peak <- p.peak(ctx) }()
	h, err := askWhile(ctx, []*conn{asking}, frames)
	cancel()
	grown := <-peak - before
	if errors.Is(err, os.ErrDeadlineExceeded) {
		r.note("4 slow readers: the other client waited %v for one event, in vain", b.seconds+patience)
	} else if err != nil {
		return fmt.Errorf("the other client: %w", err)
	}
	if p.cmd != nil {
		r.less("4 slow readers, memory", "MiB", float64(max(grown, 0))/(1<<20))
	}
	r.less("4 slow readers, other client p50", "ms", ms(h.quantile(0.5)))
	r.less("4 slow readers, other client p99", "ms", ms(h.quantile(0.99)))
	return nil
}

// sendUnread sends requests until nobody takes them any more: until the deadline
// of the connection, or until it is closed.
func (c *conn) sendUnread(requests [][]byte) {
	for _, req := range requests {
		if c.send(req) != nil {
			return
		}
	}
}

// peak returns the most anonymous memory that was seen until ctx ended.
func (p *process) peak(ctx context.Context) (most int) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		most = max(most, p.anonymous())
		select {
		case <-ctx.Done():
			return most
		case <-tick.C:
		}
	}
}

// everything returns REQs that together ask for all events once, by filters that
// each want less than relays send for one.
func (c *corpus) everything() (requests [][]byte) {
	var filters []string
	flush := func() {
		requests = append(requests, text(fmt.Sprintf(`["REQ","all%d",%s]`, len(requests), strings.Join(filters, ","))))
		filters = nil
	}
	until := c.times[len(c.times)-1]
	for end := len(c.times); end > 0; {
		start := max(0, end-slice)
		since := c.times[start]
		for start > 0 && c.times[start-1] == since { // whole seconds
			start--
		}
		filters = append(filters, fmt.Sprintf(`{"since":%d,"until":%d,"limit":500}`, since, until))
		if len(filters) == slicesARequest {
			flush()
		}
		end, until = start, since-1
	}
	if len(filters) > 0 {
		flush()
	}
	return requests
}
