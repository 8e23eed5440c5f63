package planner

import (
	"errors"

	"wok/index"
	"wok/nostr"
	"wok/store"
)

// A scan finds the events of one filter.
type scan struct {
	plan *Plan
	path *Path        // the one being walked; at first the plan's
	rest nostr.Filter // what path leaves open
	test nostr.PostingTest
	left int // how many events may still be taken; negative is no limit

	// next is the bound from which the scan goes on: everything above it has
	// been dealt with. low is the lowest posting asked for.
	next, low index.Posting
	src       source // of path; nil before it is opened
	state     srcState

	ties  ties
	ended bool // there are no more postings

	whole bool // see Options.WholeSeconds
	tail  int  // when the limit has been met: how many more of its second may come

	watch watch // over the price of path
}

// A srcState says where a scan's source stands.
type srcState uint8

const (
	srcIdle  srcState = iota // not begun in this run
	srcDone                  // on a posting that has been dealt with
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
	s.path, s.src, s.state = p, nil, srcIdle
	s.rest = p.what.from(p.filter)
	s.test = s.rest.PostingTest()
	s.watch = newWatch(nanos, left)
}

// pause lets go of the run's transaction.
func (s *scan) pause() {
	s.ties.pause()
	switch {
	case s.ended || s.full():
		s.src = nil
	case s.state != srcIdle:
		s.src.pause()
	}
	s.state = srcIdle
}

// head returns the hit that comes next, nil at the end. The error is errPause
// when the budget ends first; then the scan goes on from there.
func (s *scan) head(r *run) (*hit, error) {
	for !s.full() { // else ties may hold more, see more
		if r.broken {
			return nil, errPause
		}
		if !s.ties.complete && !s.ended {
			if err := s.fill(r); err != nil {
				return nil, err
			}
		}
		if len(s.ties.hits) == 0 {
			break
		}
		h := &s.ties.hits[0]
		ok, err := r.holds(h)
		if ok || err != nil {
			return h, err
		}
		s.pop()
	}
	return nil, nil
}

// pop removes the first of the ties.
func (s *scan) pop() {
	if s.ties.pop() {
		s.next, s.ended = s.ties.from, false
		s.src, s.state = nil, srcIdle // sources do not move up
	}
}

// fill steps until ties are complete, and keeps watch over what that costs.
func (s *scan) fill(r *run) error {
	m := newMeter(r)
	defer m.settle(&s.watch)
	for !s.ties.complete && !s.ended {
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
	last := s.ties.hits[0].posting.Time()
	s.pop()
	switch {
	case s.tail > 0:
		s.tail--
	case s.left > 0:
		if s.left--; s.left == 0 && s.whole {
			s.tail, s.low = maxTail, index.NotBefore(last)
		}
	}
}

// maxTail bounds how many events of one second may follow a limit.
const maxTail = 500

// full reports whether all has been returned that the limit lets through.
func (s *scan) full() bool { return s.left == 0 && s.tail == 0 }

// step looks at the next posting.
func (s *scan) step(r *run) error {
	if r.broken {
		return errPause
	}
	p, ok, err := s.posting(r)
	if err != nil {
		return err
	}
	if !ok || p.Less(s.low) {
		s.end()
		return nil
	}
	if len(s.ties.hits) > 0 && (r.unsorted || !s.ties.has(p)) {
		s.ties.finish()
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
		s.ties.add(h)
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
	s.ended = true
	s.ties.finish()
}

// posting returns the largest posting of at most next.
func (s *scan) posting(r *run) (p index.Posting, ok bool, err error) {
	if s.state == srcIdle {
		s.begin(r)
	}
	switch s.state {
	case srcFresh:
		ok = true
	case srcTorn:
		ok, err = s.src.Seek(s.next)
	default:
		ok, err = s.src.Next()
	}
	if err != nil {
		if j, torn := s.src.(*join); torn && j.reached.Less(s.next) {
			s.next = j.reached
		}
		s.state = srcTorn
		return p, false, err
	}
	if !ok {
		return p, false, nil
	}
	s.state = srcFresh
	return s.src.Posting(), true, nil
}

// begin gives the source the run.
func (s *scan) begin(r *run) {
	if s.src == nil {
		s.src = s.path.open()
	}
	s.src.begin(r, &s.watch)
	s.state = srcTorn
	r.least = r.work.Postings + uint64(s.path.leaps()) + 1
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
	if !s.path.plain && !s.rest.Match(v) {
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
