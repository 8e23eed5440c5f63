package planner

import (
	"errors"
	"time"

	"wok/packed"
	"wok/store"
)

// A Budget bounds one run of a query. The zero Budget has no bound.
type Budget struct {
	Postings int       // how many postings may be looked at, but for a step that each run makes
	Seeks    int       // how many lists may be sought to merge them, or ids be looked up
	Deadline time.Time // when to stop; looked at every few postings
}

// The clock is asked after that many ticks: a posting is one, and what costs
// more, and may have to wait for the disk, is several.
const (
	clockEvery = 64
	readTicks  = 4
	seekTicks  = 8
)

// errPause says that the budget of a run is used up.
var errPause = errors.New("pause")

// Work is what a query has really done.
type Work struct {
	Postings uint64 // postings looked at, and leaps of joins
	Pages    uint64 // pages of lists taken on
	Seeks    uint64 // descents into lists, and look-ups
	Reads    uint64 // packed events read to test them
}

func (w *Work) add(v Work) {
	w.Postings += v.Postings
	w.Pages += v.Pages
	w.Seeks += v.Seeks
	w.Reads += v.Reads
}

// sub returns what was done since v.
func (w Work) sub(v Work) Work {
	return Work{w.Postings - v.Postings, w.Pages - v.Pages, w.Seeks - v.Seeks, w.Reads - v.Reads}
}

// Cost returns what the work is priced at: the time it takes on a database in
// memory, the same on every machine.
func (w Work) Cost() time.Duration { return time.Duration(w.nanos()) }

// nanos prices the work as [Cost] is priced.
func (w Work) nanos() float64 {
	return float64(w.Postings)*costPosting + float64(w.Pages)*costPage +
		float64(w.Seeks)*costSeek + float64(w.Reads)*costRead
}

// A run is one slice of a query: a transaction and what may be spent in it.
type run struct {
	tx       *store.Txn
	visible  func(packed.View) bool
	budget   Budget
	snapshot uint64
	unsorted bool // see Query
	// readless says that what a posting decides needs no look at the event:
	// nothing is hidden, and everybody may see everything.
	readless bool

	start store.Work // of tx, when the run began
	work  Work       // postings and reads; see done
	lost  int        // events that could not be read
	// broken is set when a damaged page was met: all else is to be asked of the
	// next transaction.
	broken bool
	// least is how many postings are looked at whatever the budget and the clock,
	// so that every run gets on: a join that is begun leaps as often as it has
	// terms before it stands on a posting, which then has to be looked at.
	least  uint64
	sought uint64 // lists and look-ups, see seek
	ticks  int    // since the clock was last asked
}

// newRun starts a run in tx. What tx has done before is not the run's.
func newRun(tx *store.Txn, b Budget) *run { return &run{tx: tx, budget: b, start: *tx.Work()} }

// done returns what the run has done so far. A read of an event is a descent to
// the store; here it counts as a read alone.
func (r *run) done() Work {
	w, now := r.work, r.tx.Work()
	w.Pages = now.Pages - r.start.Pages
	w.Seeks = now.Seeks - r.start.Seeks - w.Reads
	return w
}

// forget takes out what tx has done since then: others did it.
func (r *run) forget(since store.Work) {
	now := r.tx.Work()
	r.start.Pages += now.Pages - since.Pages
	r.start.Seeks += now.Seeks - since.Seeks
}

// spend takes one posting from the budget.
func (r *run) spend() error {
	n := r.work.Postings
	if n >= r.least {
		if b := r.budget.Postings; b > 0 && n >= uint64(b) || r.late(1) {
			return errPause
		}
	}
	r.work.Postings++
	return nil
}

// seek takes one step on the way to a posting from the budget: a list to be
// sought or an id to be looked up, which will not have to be done again in the
// next run. The first is free, so that every run gets on.
func (r *run) seek() error {
	if b := r.budget.Seeks; r.sought > 0 && (b > 0 && r.sought >= uint64(b) || r.late(seekTicks)) {
		return errPause
	}
	r.sought++
	return nil
}

// late counts ticks and reports, when there are enough of them, whether the
// deadline has passed.
func (r *run) late(ticks int) bool {
	if r.ticks += ticks; r.ticks < clockEvery || r.budget.Deadline.IsZero() {
		return false
	}
	r.ticks = 0
	return !time.Now().Before(r.budget.Deadline)
}

// read returns the packed event with that levId to be tested, and whether there
// is one that can be read.
func (r *run) read(levID uint64) (packed.View, bool, error) {
	r.work.Reads++
	r.ticks += readTicks
	v, ok, err := r.tx.Packed(levID)
	damaged := errors.Is(err, store.ErrDamaged)
	if damaged || errors.Is(err, store.ErrCorrupt) {
		r.lost++
		r.broken = r.broken || damaged
		return nil, false, nil
	}
	return v, ok, err
}

// holds reports whether h is still part of the answer. A hit of an earlier run
// may have gone since, and must not use up a limit.
func (r *run) holds(h *hit) (bool, error) {
	if h.view != nil || r.readless {
		return true, nil
	}
	v, ok, err := r.read(h.posting.LevID())
	if err != nil || !ok {
		return false, err
	}
	h.view = v
	return r.sees(v)
}

// sees reports whether the asker may see v now. It is asked before anything is
// counted against a limit.
func (r *run) sees(v packed.View) (bool, error) {
	if r.visible != nil && !r.visible(v) {
		return false, nil
	}
	hidden, err := r.tx.Hidden(v)
	return !hidden, err
}

// before reports whether h is returned before g. Where order does not matter it
// is that of the postings, in which all scans agree without a look at events.
func (r *run) before(h, g *hit) bool {
	if r.unsorted {
		return g.posting.Less(h.posting)
	}
	return h.compare(g) < 0
}
