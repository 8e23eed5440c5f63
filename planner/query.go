package planner

import (
	"errors"
	"strings"

	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// Options say who asks.
type Options struct {
	// Visible reports whether the asker may see an event; nil is everybody may
	// see all. It is asked before limits, and must not keep the view. Expired
	// events are never seen.
	Visible func(packed.View) bool
}

// A Query answers the filters of one request.
type Query struct {
	scans    []scan
	opts     Options
	snapshot uint64
	unsorted bool   // only which events match is asked, not their order
	postings uint64 // looked at so far
}

// New plans a query over what is stored in the snapshot of tx.
func New(tx *store.Txn, filters []*nostr.Filter, opts Options) (*Query, error) {
	q := &Query{opts: opts, scans: make([]scan, 0, len(filters))}
	var err error
	if q.snapshot, err = tx.LastLevID(); err != nil {
		return nil, err
	}
	for _, f := range filters {
		p, err := plan(tx, f)
		if err != nil {
			return nil, err
		}
		q.scans = append(q.scans, newScan(p, f.Limit))
	}
	return q, nil
}

// Snapshot returns the levId of the newest event that can be part of the
// answer. Later ones are not stored for this query, they are live.
func (q *Query) Snapshot() uint64 { return q.snapshot }

// Run goes on with the query in tx until it is done, the budget is used, or
// emit returns false, and reports whether it is done. Emit gets each event of
// the answer in turn; the event is borrowed from tx and counts as sent also
// where emit returns false.
func (q *Query) Run(tx *store.Txn, b Budget, emit func(levID uint64, v packed.View) bool) (bool, error) {
	r, err := q.begin(tx, b)
	if err != nil {
		return false, err
	}
	defer q.end(r)
	for {
		h, err := q.next(r)
		if err != nil {
			if errors.Is(err, errPause) {
				return false, nil
			}
			return false, err
		}
		if h == nil {
			return true, nil
		}
		v, err := tx.Must(h.posting)
		if err != nil {
			return false, err
		}
		if !emit(h.posting.LevID(), v) {
			return false, nil
		}
	}
}

// begin starts a run. What an earlier one has found and not returned is looked
// at again: it may have gone since, and must not use up a limit.
func (q *Query) begin(tx *store.Txn, b Budget) (*run, error) {
	r := &run{tx: tx, budget: b, visible: q.opts.Visible, snapshot: q.snapshot, unsorted: q.unsorted}
	for i := range q.scans {
		if err := q.scans[i].resume(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// end adds up what the run has cost and lets go of its transaction.
func (q *Query) end(r *run) {
	q.postings += uint64(r.spent)
	for i := range q.scans {
		q.scans[i].pause()
	}
}

// next takes the first hit of all scans, nil at the end. Where several filters
// match it, it is taken from each.
func (q *Query) next(r *run) (*hit, error) {
	var first *hit
	for i := range q.scans {
		h, err := q.scans[i].head(r)
		if err != nil {
			return nil, err
		}
		if h != nil && (first == nil || r.before(h, first)) {
			first = h
		}
	}
	if first == nil {
		return nil, nil
	}
	h := *first
	for i := range q.scans {
		s := &q.scans[i]
		if len(s.ties) > 0 && s.ties[0].posting == h.posting {
			s.take()
		}
	}
	return &h, nil
}

// Hint says, once the query is done, whether there are more stored matches than
// it has returned (NIP-67), as far as that is known without further work.
func (q *Query) Hint() nostr.Hint {
	for i := range q.scans {
		if s := &q.scans[i]; !s.plan.Empty && s.left == 0 {
			return nostr.HintNone
		}
	}
	return nostr.HintFinish
}

// String returns the plans of all filters.
func (q *Query) String() string {
	var b strings.Builder
	for i := range q.scans {
		b.WriteString(q.scans[i].plan.String())
	}
	return b.String()
}
