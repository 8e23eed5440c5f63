package planner

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"wok/index"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// A Budget bounds one run of a query. The zero Budget has no bound.
type Budget struct {
	Postings int       // how many postings may be looked at
	Deadline time.Time // when to stop; looked at every few postings
}

// clockEvery is after how many postings, or events read, the clock is asked.
const clockEvery = 64

// errPause says that the budget of a run is used up.
var errPause = errors.New("pause")

// A run is one slice of a query: a transaction and what may be spent in it.
type run struct {
	tx      *store.Txn
	visible func(packed.View) bool
	budget  Budget
	spent   int
	// readless says that what a posting decides needs no look at the event:
	// nothing has expired, and everybody may see everything.
	readless bool
	snapshot uint64
	unsorted bool // see Query
}

// spend takes one posting from the budget.
func (r *run) spend() error {
	if r.budget.Postings > 0 && r.spent >= r.budget.Postings {
		return errPause
	}
	r.spent++
	if !r.budget.Deadline.IsZero() && r.spent%clockEvery == 0 && !time.Now().Before(r.budget.Deadline) {
		return errPause
	}
	return nil
}

// A scan finds the events of one filter. Everything but src survives the run.
type scan struct {
	plan  Plan
	test  nostr.PostingTest
	plain bool // the posting decides all that the lists leave open
	left  int  // how many events may still be taken; negative is no limit

	// next is the bound from which the scan goes on: everything above it has
	// been dealt with. low is the lowest posting asked for.
	next, low index.Posting
	src       source // nil between runs
	fresh     bool   // src stands on a posting that has not been dealt with

	// ties are the hits that come next: those of one second and id prefix,
	// in the order of their ids once complete. A posting tells only two bytes
	// of the id, so where several events share them the ids decide.
	ties     []hit
	complete bool // no more hits belong to ties
	ended    bool // there are no more postings
}

func newScan(p Plan, limit int) scan {
	s := scan{plan: p, left: limit, ended: p.Empty || limit == 0}
	if !s.ended {
		f := &s.plan.Path.settled
		s.test, s.plain = f.PostingTest(), f.DecidedByPosting()
		s.next, s.low = index.NotAfter(f.Until), index.NotBefore(f.Since)
	}
	return s
}

// pause lets go of the run's transaction.
func (s *scan) pause() { s.src, s.fresh = nil, false }

// resume drops hits that have gone, or may no longer be seen, since the run that
// found them.
func (s *scan) resume(r *run) error {
	var err error
	s.ties = slices.DeleteFunc(s.ties, func(h hit) bool {
		v, ok, e := r.tx.Packed(h.posting.LevID())
		err = cmp.Or(err, e)
		return e == nil && (!ok || !r.sees(v))
	})
	s.complete = s.complete && len(s.ties) > 0
	return err
}

// head returns the hit that comes next, nil at the end. The error is errPause
// when the budget ends first; then the scan goes on from there.
func (s *scan) head(r *run) (*hit, error) {
	for !s.complete && !s.ended {
		if err := s.step(r); err != nil {
			return nil, err
		}
	}
	if len(s.ties) == 0 {
		return nil, nil
	}
	return &s.ties[0], nil
}

// take removes the hit that head returned.
func (s *scan) take() {
	s.ties = s.ties[1:]
	if s.left > 0 {
		s.left--
	}
	if len(s.ties) == 0 {
		s.ties, s.complete = s.ties[:0:0], false
	}
	if s.left == 0 {
		s.ended, s.ties = true, nil
	}
}

// step looks at the next posting.
func (s *scan) step(r *run) error {
	p, ok, err := s.posting(r)
	if err != nil {
		return err
	}
	if !ok || p.Less(s.low) {
		s.ended = true
		s.finishTies()
		return nil
	}
	if len(s.ties) > 0 && (r.unsorted || !p.SameTie(s.ties[0].posting)) {
		s.finishTies()
		return nil
	}
	if err := r.spend(); err != nil {
		return err
	}
	h, ok, err := s.match(r, p)
	if err != nil {
		return err
	}
	if ok {
		s.ties = append(s.ties, h)
	}
	if p == index.Oldest {
		s.ended = true
		s.finishTies()
		return nil
	}
	s.next, s.fresh = p.Prev(), false
	return nil
}

func (s *scan) finishTies() {
	s.complete = len(s.ties) > 0
	if len(s.ties) > 1 {
		slices.SortFunc(s.ties, func(a, b hit) int { return a.compare(&b) })
	}
}

// posting returns the largest posting of at most next.
func (s *scan) posting(r *run) (index.Posting, bool, error) {
	var ok bool
	var err error
	switch {
	case s.src == nil:
		s.src = s.plan.Path.open(r.tx)
		ok, err = s.src.Seek(s.next)
	case s.fresh:
		ok = true
	default:
		ok, err = s.src.Next()
	}
	if err != nil || !ok {
		return index.Posting{}, false, err
	}
	s.fresh = true
	return s.src.Posting(), true, nil
}

// match decides whether the event of p is part of the answer.
func (s *scan) match(r *run, p index.Posting) (hit, bool, error) {
	h := hit{posting: p}
	if p.LevID() > r.snapshot || !s.test.Match(p) {
		return h, false, nil
	}
	if r.readless && s.plain {
		return h, true, nil
	}
	v, ok, err := r.tx.Packed(p.LevID())
	if err != nil || !ok {
		return h, false, err
	}
	if !s.plain && !s.plan.Path.settled.Match(v) || !r.sees(v) {
		return h, false, nil
	}
	copy(h.id[:], v.ID())
	return h, true, nil
}

// before reports whether h is returned before g. Where order does not matter it
// is that of the postings, in which all scans agree without a look at events.
func (r *run) before(h, g *hit) bool {
	if r.unsorted {
		return g.posting.Less(h.posting)
	}
	return h.compare(g) < 0
}

// sees reports whether the asker may see v now. It is asked before anything is
// counted against a limit.
func (r *run) sees(v packed.View) bool {
	return !v.Expired(r.tx.Now()) && (r.visible == nil || r.visible(v))
}
