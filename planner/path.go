package planner

import (
	"cmp"
	"slices"

	"wok/nostr"
)

// A Path is one way to the events of a filter: terms that are joined, and the
// conditions that they leave to be tested on each posting or event.
type Path struct {
	Terms []Term // one or more; the shortest first, which drives the join
	Cost  Cost

	settled nostr.Filter // the filter without what the terms settle
	plain   bool         // the posting decides all of settled
}

// newPath returns the path that joins some terms of f.
func newPath(f *nostr.Filter, ts ...Term) Path {
	p := Path{Terms: slices.Clone(ts), settled: *f}
	slices.SortStableFunc(p.Terms, func(a, b Term) int { return cmp.Compare(a.Postings, b.Postings) })
	var what settles
	for i := range p.Terms {
		what = what.and(p.Terms[i].what)
	}
	p.settled = what.from(f)
	p.plain = p.settled.DecidedByPosting()
	return p
}

// paths returns every path worth a thought through the terms of f: each term
// alone; and joined, the author's narrowest term and those of the tags, all of
// them and by two. Kinds are not joined: every posting tells its kind.
func paths(f *nostr.Filter, ts []Term) []Path {
	var all []Path
	var joinable []Term
	for _, t := range ts {
		all = append(all, newPath(f, t))
		switch {
		case t.what.tags != 0 && !t.what.authors:
			joinable = append(joinable, t)
		case t.what.authors && !t.lookedUp():
			joinable = joinAuthor(joinable, t)
		}
	}
	for i := range joinable {
		for j := range i {
			all = append(all, newPath(f, joinable[i], joinable[j]))
		}
	}
	if len(joinable) > 2 {
		all = append(all, newPath(f, joinable...))
	}
	return all
}

// joinAuthor adds an author's term to those that are joined, in the place of a
// wider one.
func joinAuthor(joinable []Term, t Term) []Term {
	i := slices.IndexFunc(joinable, func(u Term) bool { return u.what.authors })
	switch {
	case i < 0:
		return append(joinable, t)
	case t.Postings <= joinable[i].Postings:
		joinable[i] = t
	}
	return joinable
}

// open returns the postings of the path.
func (p *Path) open() source {
	if len(p.Terms) == 1 {
		return p.Terms[0].open()
	}
	j := &join{sources: make([]source, len(p.Terms))}
	for i := range p.Terms {
		j.sources[i] = p.Terms[i].open()
	}
	return j
}

// leaps returns how many leaps it takes at least until the path stands on a
// posting.
func (p *Path) leaps() int {
	if len(p.Terms) == 1 {
		return 0
	}
	return len(p.Terms)
}
