package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	publishConns  = 4
	publishWindow = 64 // events without OK on each of them
	batch         = 16 // events in one write at most
	grace         = 5 * time.Second
)

// A flight is events on their way, with the times they left at.
type flight struct {
	events []fresh
	index  map[uint64]int32 // by id
	start  time.Time
	next   atomic.Int64   // of events, to be sent
	sent   []atomic.Int64 // nanoseconds after start
}

func newFlight(events []fresh) *flight {
	f := &flight{
		events: events,
		index:  make(map[uint64]int32, len(events)),
		sent:   make([]atomic.Int64, len(events)),
	}
	for i := range events {
		f.index[events[i].id] = int32(i)
	}
	return f
}

// since returns how long ago an event left.
func (f *flight) since(i int32, now time.Time) time.Duration {
	return now.Sub(f.start) - time.Duration(f.sent[i].Load())
}

// A lane is a connection that publishes events of a flight.
type lane struct {
	*conn
	flight *flight
	tokens chan struct{}                // to send an event takes one
	acked  func(i int32, accepted bool) // gives it back, sooner or later
	pace   time.Duration                // between events; 0 is full speed

	pending     atomic.Int64 // events without OK
	done        atomic.Bool  // no more will be sent
	ok, refused int
	latency     hist
	last        time.Time // of an OK
	lastRefused string
}

// newTokens returns a channel with n tokens.
func newTokens(n int) chan struct{} {
	tokens := make(chan struct{}, n)
	for range n {
		tokens <- struct{}{}
	}
	return tokens
}

// run publishes until ctx ends or no events are left, and waits for the OKs.
func (l *lane) run(ctx context.Context) error {
	var sending error
	var wg sync.WaitGroup
	l.SetReadDeadline(time.Time{})
	wg.Go(func() {
		sending = l.write(ctx)
		l.done.Store(true)
		l.SetReadDeadline(time.Now().Add(grace))
		if l.pending.Load() == 0 {
			l.SetReadDeadline(time.Now())
		}
	})
	err := l.read()
	wg.Wait()
	return errors.Join(sending, err)
}

func (l *lane) write(ctx context.Context) error {
	var out []byte
	for wake := l.flight.start; ; {
		if l.pace > 0 {
			wake = wake.Add(l.pace)
			time.Sleep(time.Until(wake))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.tokens:
		}
		if out = l.load(out[:0]); len(out) == 0 {
			return nil
		}
		if err := l.send(out); err != nil {
			return err
		}
	}
}

// load appends the next events to out, as many as there are tokens for. That of
// the first has been taken.
func (l *lane) load(out []byte) []byte {
	f := l.flight
	for n := 1; ; n++ {
		i := int(f.next.Add(1)) - 1
		if i >= len(f.events) {
			return out
		}
		out = append(out, f.events[i].frame...)
		l.pending.Add(1)
		f.sent[i].Store(int64(time.Since(f.start)))
		if n == batch || l.pace > 0 || !take(l.tokens) {
			return out
		}
	}
}

// take takes a token if there is one.
func take(tokens chan struct{}) bool {
	select {
	case <-tokens:
		return true
	default:
		return false
	}
}

// read takes OKs until there is none to come.
func (l *lane) read() error {
	for {
		m, _, err := l.next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return err
		case verbOf(m) != okay:
			continue
		}
		id, accepted, verdict := okOf(m)
		i, ours := l.flight.index[id]
		if !ours {
			continue
		}
		l.last = time.Now()
		l.latency.add(l.flight.since(i, l.last))
		if accepted {
			l.ok++
		} else {
			l.refused++
			l.lastRefused = string(bytes.TrimSuffix(verdict, []byte{']'}))
		}
		l.acked(i, accepted)
		if l.pending.Add(-1) == 0 && l.done.Load() {
			return nil
		}
	}
}

// An outcome is what became of events that were published.
type outcome struct {
	sent, ok, refused, missing int
	lastRefused                string
	latency                    hist
	elapsed                    time.Duration // up to the last OK
}

func (o *outcome) rate() float64 { return float64(o.ok+o.refused) / o.elapsed.Seconds() }

func (o *outcome) add(other *outcome) {
	o.sent += other.sent
	o.ok += other.ok
	o.refused += other.refused
	o.missing += other.missing
	o.latency.merge(&other.latency)
	o.elapsed += other.elapsed
	if other.lastRefused != "" {
		o.lastRefused = other.lastRefused
	}
}

// fly runs lanes until ctx ends.
func (f *flight) fly(ctx context.Context, lanes []*lane) (*outcome, error) {
	var wg sync.WaitGroup
	errs := make([]error, len(lanes))
	f.start = time.Now()
	for i, l := range lanes {
		wg.Go(func() { errs[i] = l.run(ctx) })
	}
	wg.Wait()
	o := &outcome{}
	for _, l := range lanes {
		o.ok += l.ok
		o.refused += l.refused
		o.missing += int(l.pending.Load())
		o.latency.merge(&l.latency)
		o.elapsed = max(o.elapsed, l.last.Sub(f.start))
		if l.lastRefused != "" {
			o.lastRefused = l.lastRefused
		}
	}
	o.sent = o.ok + o.refused + o.missing
	if o.ok+o.refused == 0 {
		return nil, errors.Join(append(errs, errors.New("no OK came"))...)
	}
	return o, errors.Join(errs...)
}

// A publisher publishes events until ctx ends.
type publisher func(ctx context.Context, url string, events []fresh) (*outcome, error)

// publishAll publishes at full speed until ctx ends.
func publishAll(ctx context.Context, url string, events []fresh) (*outcome, error) {
	conns, err := dialAll(ctx, url, publishConns, bigBuffer)
	if err != nil {
		return nil, err
	}
	defer closeAll(conns)
	f := newFlight(events)
	var lanes []*lane
	for _, c := range conns {
		tokens := newTokens(publishWindow)
		lanes = append(lanes, &lane{conn: c, flight: f, tokens: tokens,
			acked: func(int32, bool) { tokens <- struct{}{} }})
	}
	return f.fly(ctx, lanes)
}

// publishAgain publishes the same events in turns until ctx ends.
func publishAgain(ctx context.Context, url string, events []fresh) (*outcome, error) {
	all := &outcome{}
	for {
		o, err := publishAll(ctx, url, events)
		if ctx.Err() != nil && all.sent > 0 && o == nil {
			return all, nil // there was no time for a turn
		}
		if err != nil {
			return nil, err
		}
		all.add(o)
		if ctx.Err() != nil || o.missing > 0 {
			return all, nil
		}
	}
}

// publish publishes events that are new, and then the same again.
func (b *bench) publish(ctx context.Context, p *process, r *report) error {
	o, err := b.publishTimed(ctx, p, r, "publish", b.toPublish, publishAll)
	if err != nil {
		return err
	}
	r.detail("publish, refused", "", float64(o.refused))
	again := b.toPublish[:o.sent]
	if _, err := b.publishTimed(ctx, p, r, "publish duplicates", again, publishAgain); err != nil {
		return fmt.Errorf("duplicates: %w", err)
	}
	return nil
}

// publishTimed has a publisher publish for a while, and reports a row.
func (b *bench) publishTimed(ctx context.Context, p *process, r *report, row string, events []fresh, by publisher) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, b.seconds)
	defer cancel()
	meter := p.meter()
	o, err := by(ctx, p.url, events)
	if err != nil {
		return nil, err
	}
	r.more(row, "OK/s", o.rate())
	r.less(row+", p50", "ms", ms(o.latency.quantile(0.5)))
	r.less(row+", p99", "ms", ms(o.latency.quantile(0.99)))
	meter.report(r, row, "event", o.ok+o.refused)
	r.zero(row+", not answered", float64(o.missing))
	if o.refused > 0 {
		r.note("%s: %d of %d refused, the last with %s", row, o.refused, o.sent, o.lastRefused)
	}
	return o, nil
}
