package planner

import (
	"errors"
	"slices"

	"wok/index"
	"wok/nostr"
	"wok/store"
)

// A scan finds the events of one filter. Everything but src survives the run.
type scan struct {
	plan *Plan
	path *Path // the one being walked; at first the plan's
	test nostr.PostingTest
	left int // how many events may still be taken; negative is no limit

	// next is the bound from which the scan goes on: everything above it has
	// been dealt with. low is the lowest posting asked for.
	next, low index.Posting
	src       source // nil between runs
	state     srcState

	// ties are the hits that come next: those of one second and id prefix,
	// in the order of their ids once complete. A posting tells only two bytes
	// of the id, so where several events share them the ids decide.
	ties     []hit
	room     [1]hit // what ties mostly takes
	complete bool   // no more hits belong to ties
	ended    bool   // there are no more postings

	whole bool // see Options.WholeSeconds
	tail  int  // when the limit has been met: how many more of its second may come

	watch watch // over the price of path
}

// A srcState says where a scan's source stands.
type srcState uint8

const (
	srcDone  srcState = iota // on a posting that has been dealt with
	srcFresh                 // on a posting that has not
	srcTorn                  // somewhere above next
)

func newScan(p *Plan, limit int) scan {
	s := scan{plan: p, left: limit, ended: p.Empty || limit == 0}
	if !s.ended {
		s.next, s.low = index.NotAfter(p.Filter.Until), index.NotBefore(p.Filter.Since)
		s.take(&p.Path, p.Path.Cost.Nanos, 1)
	}
	return s
}

// take goes on with path p, which is expected to cost that much, with that share
// of the time left.
func (s *scan) take(p *Path, nanos, left float64) {
	s.path, s.src = p, nil
	s.test = p.settled.PostingTest()
	s.watch = newWatch(nanos, left)
}

// pause lets go of the run's transaction.
func (s *scan) pause() {
	s.src = nil
	for i := range s.ties {
		s.ties[i].view = nil
	}
}

// resume reads the hits of earlier runs again, and drops those that have gone
// since, or may no longer be seen.
func (s *scan) resume(r *run) error {
	kept := s.ties[:0]
	for _, h := range s.ties {
		v, ok, err := r.read(h.posting.LevID())
		if err != nil {
			return err
		}
		if ok {
			ok, err = r.sees(v)
		}
		if err != nil {
			return err
		}
		if ok {
			h.view = v
			kept = append(kept, h)
		}
	}
	s.ties = kept
	s.complete = s.complete && len(s.ties) > 0
	return nil
}

// head returns the hit that comes next, nil at the end. The error is errPause
// when the budget ends first; then the scan goes on from there.
func (s *scan) head(r *run) (*hit, error) {
	if s.full() {
		return nil, nil // ties may hold more, see more
	}
	if !s.complete && !s.ended {
		if err := s.fill(r); err != nil {
			return nil, err
		}
	}
	if len(s.ties) == 0 {
		return nil, nil
	}
	return &s.ties[0], nil
}

// fill steps until ties are complete, and keeps watch over what that costs.
func (s *scan) fill(r *run) error {
	m := newMeter(r)
	defer m.settle(&s.watch)
	for !s.complete && !s.ended {
		err := s.step(r)
		if err != nil && !errors.Is(err, errThink) {
			return err
		}
		if err == nil && !s.watch.tick() {
			continue
		}
		m.settle(&s.watch)
		if !s.watch.alarmed() {
			continue
		}
		if err := s.reconsider(r); err != nil {
			return err
		}
	}
	return nil
}

// drop removes the hit that head returned, and counts it.
func (s *scan) drop() {
	last := s.ties[0].posting.Time()
	s.ties = s.ties[1:]
	switch {
	case s.tail > 0:
		s.tail--
	case s.left > 0:
		if s.left--; s.left == 0 && s.whole {
			s.tail, s.low = maxTail, index.NotBefore(last)
		}
	}
	if len(s.ties) == 0 {
		s.ties, s.complete = s.room[:0], false
	}
}

// maxTail bounds how many events of one second may follow a limit.
const maxTail = 500

// full reports whether all has been returned that the limit lets through.
func (s *scan) full() bool { return s.left == 0 && s.tail == 0 }

// step looks at the next posting.
func (s *scan) step(r *run) error {
	p, ok, err := s.posting(r)
	if err != nil {
		return err
	}
	if !ok || p.Less(s.low) {
		s.end()
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
		if len(s.ties) == 0 {
			s.ties = s.room[:0]
		}
		s.ties = append(s.ties, h)
		s.watch.hits++
	}
	if p == index.Oldest {
		s.end()
		return nil
	}
	s.next, s.state = p.Prev(), srcDone
	return nil
}

// end notes that there are no more postings.
func (s *scan) end() {
	s.ended, s.src = true, nil
	s.finishTies()
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
		r.floor += uint64(s.path.lists())
		r.least = r.work.Postings + uint64(s.path.leaps()) + 1
		s.src = s.path.open(r.tx, func() error { return s.leave(r) })
		ok, err = s.src.Seek(s.next)
	case s.state == srcFresh:
		ok = true
	case s.state == srcTorn:
		ok, err = s.src.Seek(s.next)
	default:
		ok, err = s.src.Next()
	}
	if err != nil {
		if j, torn := s.src.(*join); torn && j.reached.Less(s.next) {
			s.next = j.reached
		}
		s.state = srcTorn
		return index.Posting{}, false, err
	}
	if !ok {
		return index.Posting{}, false, nil
	}
	s.state = srcFresh
	return s.src.Posting(), true, nil
}

// leave lets a join make one more leap: within the budget, and until it is time
// to think about its price again.
func (s *scan) leave(r *run) error {
	if s.watch.tick() {
		return errThink
	}
	return r.spend()
}

// match decides whether the event of p is part of the answer.
func (s *scan) match(r *run, p index.Posting) (hit, bool, error) {
	h := hit{posting: p}
	if p.LevID() > r.snapshot || !s.test.Match(p) {
		return h, false, nil
	}
	if r.readless && s.path.plain {
		return h, true, nil
	}
	v, ok, err := r.read(p.LevID())
	if err != nil || !ok {
		return h, false, err
	}
	if !s.path.plain && !s.path.settled.Match(v) {
		return h, false, nil
	}
	h.id, h.view = [32]byte(v.ID()), v
	ok, err = r.sees(v)
	return h, ok, err
}

// filter returns the whole filter of the scan.
func (s *scan) filter() *nostr.Filter { return s.plan.Filter }

// reconsider looks whether another path is cheaper from here on, now that the
// one being walked has cost more than it should. All paths yield one order, so
// the scan goes on with another at the posting it has reached, and nothing that
// was done is lost.
func (s *scan) reconsider(r *run) error {
	k := &s.plan.facts
	left, err := timeLeft(r.tx, s.filter(), s.next.Time())
	if err != nil {
		return err
	}
	passed := max(s.watch.left-left, 0.25/store.TimeShareGrain)
	part := left / passed
	matches := (float64(s.watch.hits) + 0.5) * part // as many as so far in the same time
	limit := k.limit
	if s.left >= 0 {
		limit = float64(s.left)
	}
	now := s.path.price(k, left, matches, limit).Nanos
	seen := s.watch.spent.nanos() * part * min(1, limit/matches)
	now = max(now, seen)
	best, bestNanos := s.path, now/2 // to turn must be worth it
	for _, p := range s.plan.all() {
		if c := p.price(k, left, matches, limit).Nanos; p != s.path && c < bestNanos {
			best, bestNanos = p, c
		}
	}
	if best == s.path {
		s.watch.extend()
		return nil
	}
	s.plan.turn(best)
	s.take(best, bestNanos, left)
	return nil
}
