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
	Deadline time.Time // when to stop; looked at every few postings
}

// clockEvery is after how many postings, or events read, the clock is asked.
const clockEvery = 64

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
	// floor is how many postings are looked at before the clock counts: as
	// many as lists had to be found to begin. Else a query of many lists
	// could spend all its runs on beginning.
	floor uint64
	// least is how many postings are looked at whatever the budget, so that
	// every run gets on: a join that is opened leaps as often as it has terms
	// before it stands on a posting, which then has to be looked at.
	least uint64
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
	if r.budget.Postings > 0 && n >= max(uint64(r.budget.Postings), r.least) {
		return errPause
	}
	if n%clockEvery == clockEvery-1 && n >= r.floor && !r.budget.Deadline.IsZero() && !time.Now().Before(r.budget.Deadline) {
		return errPause
	}
	r.work.Postings++
	return nil
}

// read returns the packed event with that levId to be tested, and whether there
// is one that can be read.
func (r *run) read(levID uint64) (packed.View, bool, error) {
	r.work.Reads++
	v, ok, err := r.tx.Packed(levID)
	if errors.Is(err, store.ErrCorrupt) {
		r.lost++
		return nil, false, nil
	}
	return v, ok, err
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
