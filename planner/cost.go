package planner

import (
	"math"
	"math/bits"

	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// What the steps of a scan cost, in nanoseconds, on a database in memory.
// BenchmarkCosts prints them anew. Only their ratios matter.
const (
	costSeek    = 600 // find a list, or a posting in it, from the root
	costPage    = 90  // take on the next page of a list
	costPosting = 12  // look at a posting
	costMerge   = 9   // for each halving of a merge's lists, a posting
	costLeap    = 30  // move within a page to a posting
	costRead    = 450 // read and match a packed event
)

// perPage is how many postings a page of a long list holds on average.
const perPage = 180

// A Cost is what a scan is expected to do, or has done.
type Cost struct {
	Postings float64 // postings looked at
	Seeks    float64 // descents into lists, and look-ups
	Reads    float64 // packed events read
	Nanos    float64 // all of it priced
}

// facts are what is known about a filter before it runs.
type facts struct {
	events  float64 // events stored
	share   float64 // of them, those between since and until
	matches float64 // events that match, reckoned as if conditions were independent
	limit   float64 // how many are wanted

	kinds, authors float64 // share of all events that meet the condition
	prefixes       float64 // share of all events that pass an author's first 16 bits
	readless       bool    // matches are only counted: no event need be read for its own sake
}

// learn gathers the facts about f.
func learn(tx *store.Txn, f *nostr.Filter, ts []Term, readless bool) (facts, error) {
	events, err := tx.Events()
	if err != nil {
		return facts{}, err
	}
	share, err := tx.TimeShare(f.Since, f.Until)
	if err != nil {
		return facts{}, err
	}
	k := facts{events: float64(max(events, 1)), share: share, limit: math.Inf(1), kinds: 1, authors: 1, prefixes: 1, readless: readless}
	if f.Limit != nostr.NoLimit {
		k.limit = float64(f.Limit)
	}
	both := 1.0
	for i := range ts {
		t := &ts[i]
		part := math.Min(1, float64(t.Postings)/k.events)
		switch {
		case t.what.tags != 0:
		case t.lookedUp(), t.what.authors && t.what.kinds:
			both = part
		case t.what.authors:
			k.authors = part
		case t.what.kinds:
			k.kinds = part
		}
	}
	switch {
	case f.Authors != nil:
		k.prefixes = math.Min(1, k.authors+float64(len(f.Authors))/(1<<16))
		both = math.Min(both, k.authors)
	case f.Kinds != nil:
		both = math.Min(both, k.kinds)
	}
	k.matches = k.events * k.share * both * tagShare(ts, k.events)
	return k, nil
}

// tagShare returns the share of all events that meet the conditions on tags, as
// if those were independent. Of a condition that several terms settle, the
// narrowest tells most.
func tagShare(ts []Term, events float64) float64 {
	all := 1.0
	for i := range ts {
		t := &ts[i]
		if t.what.tags == 0 || narrower(ts, i) {
			continue
		}
		all *= math.Min(1, float64(t.Postings)/events)
	}
	return all
}

// narrower reports whether another term than number i settles the same tags and
// is narrower, or as narrow and comes before.
func narrower(ts []Term, i int) bool {
	for j := range ts {
		u, t := &ts[j], &ts[i]
		if u.what.tags == t.what.tags && (u.Postings < t.Postings || u.Postings == t.Postings && j < i) {
			return true
		}
	}
	return false
}

// price returns what path p is expected to cost from where a scan stands to its
// end: left is the share of the bounded time that is still to be read, matches
// how many matches lie there, limit how many are wanted.
func (p *Path) price(k *facts, left, matches, limit float64) Cost {
	window := k.share * left
	drive := p.Terms[0]
	n := drive.within(window)
	matches = math.Min(matches, n)
	part := 1.0 // of the postings that is read until the limit is met
	if limit < matches {
		part = (limit + 1) / (matches + 1)
	}
	c := Cost{Postings: n * part, Seeks: drive.begin()}
	c.Nanos = c.Postings * drive.perPosting()
	found := c.Postings // that come out of the terms
	for _, t := range p.Terms[1:] {
		other := t.within(window) * part
		c.Seeks += t.begin()
		c.leap(t, found, other)
		found = math.Min(found, found*math.Min(1, float64(t.Postings)/k.events))
	}
	found = math.Max(found, matches*part)
	if !k.readless {
		c.Reads = matches * part
	}
	if !p.plain {
		c.Reads = math.Max(c.Reads, found*p.pass(k))
	}
	c.Nanos += c.Seeks*costSeek + c.Reads*costRead
	return c
}

// leap adds the cost of seeking steps times in term t, of which other postings
// lie on the way.
func (c *Cost) leap(t *Term, steps, other float64) {
	if steps == 0 {
		return
	}
	jump := other / steps // postings passed over a step
	lists := math.Min(float64(t.Lists), math.Max(1, jump))
	if per := jump / lists; per < perPage {
		c.Nanos += steps * lists * (costLeap + per/perPage*costPage)
		return
	}
	c.Seeks += steps * lists
}

// pass returns the share of the path's postings that pass the test of a posting
// and whose event must be read.
func (p *Path) pass(k *facts) float64 {
	part := 1.0
	open := p.opens()
	if open.kinds {
		part *= k.kinds
	}
	if open.authors {
		part *= k.prefixes
	}
	return part
}

// begin returns how many descents it takes to begin a walk of the term.
func (t *Term) begin() float64 {
	if t.lookedUp() {
		return float64(len(t.pending))
	}
	return float64(t.Lists)
}

// within returns how many of the term's postings lie in a share of all time.
func (t *Term) within(window float64) float64 {
	if t.lookedUp() {
		return float64(t.Postings)
	}
	return float64(t.Postings) * window
}

// perPosting returns what one posting costs in a walk of the term.
func (t *Term) perPosting() float64 {
	return costPosting + costPage/perPage + costMerge*float64(bits.Len(uint(max(0, t.Lists-1))))
}

// timeLeft returns the share of the time between since and until, counted in
// events, that lies at or below sec.
func timeLeft(tx *store.Txn, f *nostr.Filter, sec uint64) (float64, error) {
	all, err := tx.TimeShare(f.Since, min(f.Until, packed.MaxCreatedAt))
	if err != nil || all == 0 {
		return 1, err
	}
	part, err := tx.TimeShare(f.Since, sec)
	return math.Min(1, part/all), err
}
