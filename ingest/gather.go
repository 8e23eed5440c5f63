package ingest

import (
	"cmp"
	"slices"
	"sync"
)

// A gatherer holds admitted events until the writer comes for them, which is
// what makes batches: while the writer syncs one, the next gathers here.
//
// It knows how many events are on their way, and keeps an idle writer waiting
// only for those: an event that comes alone is committed at once, and events
// that come together share a transaction.
type gatherer struct {
	maxEvents, maxBytes int

	mu       sync.Mutex
	changed  *sync.Cond // for the writer
	coming   int        // events that are submitted and not yet settled
	admitted []*job
	bytes    int // JSON of admitted
	closed   bool
}

func newGatherer(maxEvents, maxBytes int) *gatherer {
	g := &gatherer{maxEvents: maxEvents, maxBytes: maxBytes}
	g.changed = sync.NewCond(&g.mu)
	return g
}

// expect announces an event. An admit or a settle follows.
func (g *gatherer) expect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.coming++
}

// admit takes an announced event in.
func (g *gatherer) admit(j *job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.admitted = append(g.admitted, j)
	g.bytes += len(j.ev.JSON)
	g.arrived()
}

// settle says that an announced event does not come.
func (g *gatherer) settle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.arrived()
}

func (g *gatherer) arrived() {
	g.coming--
	if g.ready() {
		g.changed.Signal()
	}
}

// close says that no more events will be announced.
func (g *gatherer) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.changed.Signal()
}

// ready reports whether the writer has something to do.
func (g *gatherer) ready() bool {
	switch {
	case g.closed, len(g.admitted) >= g.maxEvents, g.bytes >= g.maxBytes:
		return true
	}
	return g.coming == 0 && len(g.admitted) > 0
}

// next waits for a batch and returns it over dst: within the bounds, but one
// event at least, in the order of submission as far as that is known. It
// returns nothing once the gatherer is closed and empty.
func (g *gatherer) next(dst []*job) []*job {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.ready() {
		g.changed.Wait()
	}
	slices.SortFunc(g.admitted, func(a, b *job) int { return cmp.Compare(a.seq, b.seq) })
	n := g.fitting()
	dst = append(dst[:0], g.admitted[:n]...)
	g.admitted = slices.Delete(g.admitted, 0, n)
	for _, j := range dst {
		g.bytes -= len(j.ev.JSON)
	}
	return dst
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
