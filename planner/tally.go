package planner

import (
	"sort"

	"wok/index"
	"wok/nostr"
	"wok/store"
)

// A tally counts the events of one term's lists where the postings decide which
// match, and none stands in two lists. Order does not matter then, and lists are
// counted one after another: by their length, where all of them counts; by
// whole pages, where nothing but a span of time is asked; else by each posting.
type tally struct {
	term *Term
	test nostr.PostingTest

	every bool // nothing but time is asked
	whole bool // not even time

	low, high index.Posting
	list      int           // the list being counted
	next      index.Posting // from where on
}

// newTally returns the cheapest tally of a plan, and takes its path for that of
// the plan; nil where there is none, or a scan is cheaper.
func newTally(p *Plan) *tally {
	if p.Empty {
		return nil
	}
	var best *tally
	var path *Path
	least := p.Path.Cost.Nanos
	for _, q := range p.all() {
		t := q.Terms[0]
		if !q.plain || len(q.Terms) > 1 || t.lookedUp() || t.Lists > 1 && !t.disjoint() {
			continue
		}
		y := tallyOf(p.Filter, q)
		if n := y.nanos(p.facts.share); n <= least {
			best, path, least = y, q, n
		}
	}
	if best != nil {
		p.Path, *path = *path, p.Path
	}
	return best
}

func tallyOf(f *nostr.Filter, p *Path) *tally {
	rest := p.what.from(f)
	y := &tally{
		term: p.Terms[0], test: rest.PostingTest(), every: !p.opens().kinds,
		low: index.NotBefore(f.Since), high: index.NotAfter(f.Until),
	}
	y.whole = y.every && f.Since == 0 && y.high == index.Newest
	y.next = y.high
	return y
}

// nanos prices the tally.
func (y *tally) nanos(share float64) float64 {
	n := float64(y.term.Lists) * costSeek
	switch within := y.term.within(share); {
	case y.whole:
		return n
	case y.every:
		return n + within/perPage*costPage
	default:
		return n + within*costPosting
	}
}

// run goes on and adds to n. The error is errPause when the budget ends first.
func (y *tally) run(r *run, n *uint64) error {
	last, err := r.tx.LastLevID()
	if err != nil {
		return err
	}
	// What came after the snapshot stands in the lists as well.
	blind := r.readless && last == r.snapshot
	for y.list < y.term.Lists {
		if err := r.seek(); err != nil {
			return err
		}
		key := y.term.appendKey(make([]byte, 0, usualKey), y.list)
		if blind && y.whole && y.next == y.high {
			length, err := r.tx.Length(y.term.def.ID, key)
			if err != nil {
				return err
			}
			*n += length
		} else if err := y.walk(r, r.tx.List(y.term.def.ID, key), blind, n); err != nil {
			return err
		}
		y.list, y.next = y.list+1, y.high
	}
	return nil
}

// walk counts list l from y.next on.
func (y *tally) walk(r *run, l store.List, blind bool, n *uint64) error {
	ok, err := l.Seek(y.next)
	for ok && err == nil {
		p := l.Posting()
		if p.Less(y.low) {
			break
		}
		if err := r.spend(); err != nil {
			y.next = p
			return err
		}
		if blind && y.every {
			*n += y.within(l.Page())
			ok, err = l.NextPage()
			continue
		}
		if ok, err = y.counts(r, p); ok {
			*n++
		}
		if err == nil {
			ok, err = l.Next()
		}
	}
	return err
}

// within returns how many of a page's postings are not below y.low.
func (y *tally) within(page []byte) uint64 {
	n := len(page) / index.PostingSize
	if !index.ReadPosting(page).Less(y.low) {
		return uint64(n)
	}
	return uint64(n - sort.Search(n, func(i int) bool {
		return !index.ReadPosting(page[i*index.PostingSize:]).Less(y.low)
	}))
}

// counts reports whether the event of p is one that counts.
func (y *tally) counts(r *run, p index.Posting) (bool, error) {
	if p.LevID() > r.snapshot || !y.test.Match(p) {
		return false, nil
	}
	if r.readless {
		return true, nil
	}
	v, ok, err := r.read(p.LevID())
	if err != nil || !ok {
		return false, err
	}
	return r.sees(v)
}
