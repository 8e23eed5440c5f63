package ingest

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A gatherer holds admitted events until the writer comes for them, which is
// what makes batches: while the writer syncs one, the next gathers here.
//
// An idle writer waits, so that events that come together share a transaction,
// but never without bound:
//
//   - for the events that are on their way when it could begin, of which no more
//     than a batch, and not for those after them: an event alone is committed at
//     once, and a stream of others, of duplicates say, holds nothing up;
//   - then for events of those who were answered just now, a short part of the
//     time that the last commit took. The dearer commits are, the more are worth
//     waiting for.
type gatherer struct {
	maxEvents, maxBytes int

	expected atomic.Uint64 // events announced so far
	wake     chan struct{} // of capacity one: the writer may begin

	mu       sync.Mutex
	settled  uint64 // of those expected
	admitted []*job
	bytes    int    // JSON of admitted
	mark     uint64 // the writer waits until that many are settled
	want     int    // and until that many are admitted,
	late     bool   // or the time for that is over
	closed   bool
}

func newGatherer(maxEvents, maxBytes int) *gatherer {
	return &gatherer{maxEvents: maxEvents, maxBytes: maxBytes, wake: make(chan struct{}, 1)}
}

// expect announces an event, for which settle follows.
func (g *gatherer) expect() { g.expected.Add(1) }

// settle takes admitted events in, out of n announced ones of which the others
// do not come.
func (g *gatherer) settle(admitted []*job, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settled += uint64(n)
	if len(g.admitted) == 0 {
		g.setMark()
	}
	g.admitted = append(g.admitted, admitted...)
	for _, j := range admitted {
		g.bytes += len(j.ev.JSON)
	}
	g.tell()
}

// close says that no more events will be announced.
func (g *gatherer) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.tell()
}

// tell wakes the writer if it has something to do. The caller holds g.mu.
func (g *gatherer) tell() {
	if !g.ready() {
		return
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// ready reports whether the writer has something to do. The caller holds g.mu.
func (g *gatherer) ready() bool {
	switch {
	case g.closed, len(g.admitted) >= g.maxEvents, g.bytes >= g.maxBytes:
		return true
	case len(g.admitted) == 0:
		return false
	}
	return g.settled >= g.mark && (g.late || len(g.admitted) >= g.want)
}

// next waits for a batch and returns it over dst, whose events were answered
// just now: within the bounds, but one event at least. Events for which patience
// is to be had are waited for that long. It returns nothing once the gatherer is
// closed and empty.
func (g *gatherer) next(dst []*job, patience time.Duration) []*job {
	g.begin(len(dst))
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		if batch, ok := g.pick(dst[:0]); ok {
			return batch
		}
		select {
		case <-g.wake:
		case <-timer.C:
			g.setLate()
		}
	}
}

// begin notes what is worth waiting for, after so many events were answered:
// what is on its way, and as many once more.
func (g *gatherer) begin(answered int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setMark()
	coming := int(g.expected.Load() - g.settled)
	g.want = answered + len(g.admitted) + coming
	g.late = false
}

// setMark makes the writer wait for what is on its way, though for no more than
// could make a batch. The caller holds g.mu.
func (g *gatherer) setMark() { g.mark = min(g.expected.Load(), g.settled+uint64(g.maxEvents)) }

func (g *gatherer) setLate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.late = true
}

// pick moves a batch to dst if it is time for one.
func (g *gatherer) pick(dst []*job) ([]*job, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ready() {
		return dst, false
	}
	slices.SortFunc(g.admitted, func(a, b *job) int { return cmp.Compare(a.seq, b.seq) })
	n := g.fitting()
	if n < len(g.admitted) {
		g.takeTurns()
		n = g.fitting()
	}
	dst = append(dst, g.admitted[:n]...)
	g.admitted = slices.Delete(g.admitted, 0, n)
	for _, j := range dst {
		g.bytes -= len(j.ev.JSON)
	}
	return dst, true
}

// takeTurns orders the admitted, which are in the order of submission, so that
// the first of every submitter go before the second of any.
func (g *gatherer) takeTurns() {
	for _, j := range g.admitted {
		j.turn = j.from.turn
		j.from.turn++
	}
	for _, j := range g.admitted {
		j.from.turn = 0
	}
	slices.SortFunc(g.admitted, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.seq, b.seq))
	})
}

// fitting returns how many of the admitted make a batch.
func (g *gatherer) fitting() int {
	size := 0
	for n, j := range g.admitted {
		size += len(j.ev.JSON)
		if n == g.maxEvents || n > 0 && size > g.maxBytes {
			return n
		}
	}
	return len(g.admitted)
}
