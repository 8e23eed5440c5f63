package planner

import (
	"cmp"
	"slices"

	"wok/nostr"
)

// A Path is one way to the events of a filter: terms that are joined, and the
// conditions that they leave to be tested on each posting or event.
type Path struct {
	Terms []*Term // one or more; the shortest first, which drives the join
	Cost  Cost

	filter *nostr.Filter
	what   settles // by the terms
	plain  bool    // the posting decides what they leave open
}

// newPath returns the path that joins some terms of f. It sorts them.
func newPath(f *nostr.Filter, ts ...*Term) Path {
	p := Path{Terms: ts, filter: f}
	slices.SortStableFunc(p.Terms, func(a, b *Term) int { return cmp.Compare(a.Postings, b.Postings) })
	for _, t := range p.Terms {
		p.what = p.what.and(t.what)
	}
	open := p.opens()
	p.plain = !open.ids && !open.authors && open.tags == 0
	return p
}

// opens returns the conditions of the filter that the terms leave open.
func (p *Path) opens() settles {
	f := p.filter
	return settles{
		ids:     f.IDs != nil && !p.what.ids,
		authors: f.Authors != nil && !p.what.authors,
		kinds:   f.Kinds != nil && !p.what.kinds,
		tags:    (1<<len(f.Tags) - 1) &^ p.what.tags,
	}
}

// paths returns every path worth a thought through the terms of f: each term
// alone; and joined, the author's narrowest term and those of the tags, all of
// them and by two. Kinds are not joined: every posting tells its kind.
func paths(f *nostr.Filter, ts []Term) []Path {
	var joinable []*Term
	alone := make([]*Term, len(ts))
	for i := range ts {
		t := &ts[i]
		alone[i] = t
		switch {
		case t.what.tags != 0 && !t.what.authors:
			joinable = append(joinable, t)
		case t.what.authors && !t.lookedUp():
			joinable = joinAuthor(joinable, t)
		}
	}
	n := len(joinable)
	all := make([]Path, 0, len(ts)+n*(n-1)/2+1)
	for i := range alone {
		all = append(all, newPath(f, alone[i:i+1:i+1]...))
	}
	for i := range joinable {
		for j := range i {
			all = append(all, newPath(f, joinable[i], joinable[j]))
		}
	}
	if n > 2 {
		all = append(all, newPath(f, joinable...))
	}
	return all
}

// joinAuthor adds an author's term to those that are joined, in the place of a
// wider one.
func joinAuthor(joinable []*Term, t *Term) []*Term {
	i := slices.IndexFunc(joinable, func(u *Term) bool { return u.what.authors })
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
