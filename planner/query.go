package planner

import (
	"errors"
	"strings"

	"wok/index"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// Options say who asks.
type Options struct {
	// Visible reports whether the asker may see an event; nil is everybody may
	// see all. It is asked before limits, and must not keep the view. Events that
	// have expired or vanished are never seen.
	Visible func(packed.View) bool
	// HLL asks for HyperLogLog registers where a count is eligible for them.
	// They take a look at each event, which the count alone may not.
	HLL bool
	// WholeSeconds returns, beyond a limit, what else matches in the second in
	// which the limit was met, so that who goes on below that second misses
	// nothing (NIP-67).
	WholeSeconds bool
}

// A Query answers the filters of one request.
type Query struct {
	filters  []*nostr.Filter
	scans    []scan // of the filters, as far as they have been planned
	opts     Options
	snapshot uint64
	unsorted bool // only which events match is asked, not their order
	readless bool // and not even that they are looked at
	work     Work
	lost     int
	hint     nostr.Hint
}

// New plans a query over what is stored in the snapshot of tx.
func New(tx *store.Txn, filters []*nostr.Filter, opts Options) (*Query, error) {
	return newQuery(tx, filters, opts, false)
}

// plannedAtOnce is how many filters are planned before the first run. A plan
// takes up to a few hundred look-ups: those of more filters are a run's work.
const plannedAtOnce = 8

func newQuery(tx *store.Txn, filters []*nostr.Filter, opts Options, readless bool) (*Query, error) {
	q := &Query{opts: opts, filters: filters, readless: readless, scans: make([]scan, 0, len(filters))}
	r := newRun(tx, Budget{})
	var err error
	if q.snapshot, err = tx.LastLevID(); err != nil {
		return nil, err
	}
	if len(filters) <= plannedAtOnce {
		err = q.plan(r)
	}
	q.work = r.done()
	return q, err
}

// Snapshot returns the levId of the newest event that can be part of the
// answer. Later ones are not stored for this query, they are live.
func (q *Query) Snapshot() uint64 { return q.snapshot }

// Run goes on with the query in tx until it is done, the budget is used, or
// emit returns false, and reports whether it is done. Emit gets each event of
// the answer in turn; the event is borrowed from tx and counts as sent also
// where emit returns false.
func (q *Query) Run(tx *store.Txn, b Budget, emit func(levID uint64, v packed.View) bool) (bool, error) {
	r := q.begin(tx, b)
	defer q.end(r)
	for {
		h, ok, err := q.next(r)
		if err != nil {
			if errors.Is(err, errPause) {
				return false, nil
			}
			return false, err
		}
		if !ok {
			q.hint, err = q.lookAhead(r)
			return err == nil, err
		}
		before := *tx.Work()
		more := emit(h.posting.LevID(), h.view)
		r.forget(before)
		if !more {
			return false, nil
		}
	}
}

// begin starts a run.
func (q *Query) begin(tx *store.Txn, b Budget) *run {
	r := newRun(tx, b)
	r.visible, r.snapshot, r.unsorted = q.opts.Visible, q.snapshot, q.unsorted
	return r
}

// plan plans the filters that have not been planned: some in each run, until its
// time is over.
func (q *Query) plan(r *run) error {
	for first := true; len(q.scans) < len(q.filters); first = false {
		if !first && r.late(clockEvery) {
			return errPause
		}
		f := q.filters[len(q.scans)]
		p, err := newPlan(r.tx, f, q.readless)
		if err != nil {
			return err
		}
		s := newScan(p, f.Limit)
		s.whole = q.opts.WholeSeconds
		q.scans = append(q.scans, s)
	}
	return nil
}

// end adds up what the run has done and lets go of its transaction.
func (q *Query) end(r *run) {
	q.work.add(r.done())
	q.lost += r.lost
	for i := range q.scans {
		q.scans[i].pause()
	}
}

// next takes the first hit of all scans and reports whether there is one. Where
// several filters match it, it is taken from each.
func (q *Query) next(r *run) (hit, bool, error) {
	if len(q.scans) < len(q.filters) {
		if err := q.plan(r); err != nil {
			return hit{}, false, err
		}
	}
	var first *hit
	for i := range q.scans {
		h, err := q.scans[i].head(r)
		if err != nil {
			return hit{}, false, err
		}
		if h != nil && (first == nil || r.before(h, first)) {
			first = h
		}
	}
	if first == nil {
		return hit{}, false, nil
	}
	h := *first
	for i := range q.scans {
		s := &q.scans[i]
		if !s.full() && len(s.ties.hits) > 0 && s.ties.hits[0].posting == h.posting {
			s.drop()
		}
	}
	return h, true, nil
}

const (
	// lookAheadPostings bounds what is looked at behind a limit to learn whether
	// there is more.
	lookAheadPostings = 64
	// lookAheadHidden is the bound where the asker may not see all. A look that
	// ends without an answer tells that so much was passed over, so it must be
	// more than the letters of nearly anybody (67-R4); it takes some milliseconds.
	lookAheadHidden = 4096
)

// lookAhead finds out, as far as that is cheap, whether there are more stored
// matches than the limits let through (NIP-67).
func (q *Query) lookAhead(r *run) (nostr.Hint, error) {
	hint := nostr.HintFinish
	for i := range q.scans {
		s := &q.scans[i]
		if s.plan.Empty || s.left != 0 && s.tail == 0 {
			continue // all of its matches were returned
		}
		more, known, err := s.more(r)
		switch {
		case err != nil:
			return "", err
		case known && more && len(q.scans) == 1:
			return nostr.HintMore, nil
		case !known || more:
			// What lies behind one limit may have come by another filter.
			hint = nostr.HintNone
		}
	}
	return hint, nil
}

// more looks whether a hit lies behind the limit, and whether that is known.
func (s *scan) more(r *run) (more, known bool, err error) {
	if len(s.ties.hits) > 0 {
		return true, true, nil
	}
	if s.path == nil { // of limit 0, nothing was begun
		return false, false, nil
	}
	if s.whole { // what was read ended with the second
		s.low, s.ended = index.NotBefore(s.plan.Filter.Since), false
		if s.state != srcIdle {
			s.state = srcTorn
		}
	}
	s.left, s.tail = nostr.NoLimit, 0
	far := lookAheadPostings
	if r.visible != nil {
		far += lookAheadHidden
	}
	r.budget = Budget{Postings: int(r.work.Postings) + far, Seeks: int(r.sought) + far}
	h, err := s.head(r)
	s.left = 0
	if errors.Is(err, errPause) {
		return false, false, nil
	}
	return h != nil, err == nil, err
}

// Hint says, once the query is done, whether there are more stored matches than
// it has returned (NIP-67); HintNone is not known.
func (q *Query) Hint() nostr.Hint { return q.hint }

// Work returns what the query has done so far.
func (q *Query) Work() Work { return q.work }

// Lost returns how many events, so far, could not be read and were left out: a
// damaged row costs only itself.
func (q *Query) Lost() int { return q.lost }

// Plans returns the plan of each filter, those of many filters once the query
// has run. A plan changes while its query runs.
func (q *Query) Plans() []*Plan {
	ps := make([]*Plan, len(q.scans))
	for i := range q.scans {
		ps[i] = q.scans[i].plan
	}
	return ps
}

// String returns the plans of all filters.
func (q *Query) String() string {
	var b strings.Builder
	for _, p := range q.Plans() {
		b.WriteString(p.String())
	}
	return b.String()
}
