package planner

import (
	"slices"

	"wok/index"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// A Path is one way to the events of a filter: the lists that hold all of them,
// and the conditions that those lists do not settle.
type Path struct {
	Name     string // "ids", or the index, with the letter where it is of tags
	Lists    int    // how many lists are merged
	Postings uint64 // their lengths together; at least that many where Cut
	Cut      bool   // adding up was stopped: another path is narrower already

	index   index.ID
	keys    [][]byte        // of the lists
	known   []index.Posting // of ids, instead of lists
	settled nostr.Filter    // the filter without what the lists settle
}

// paths returns every path of f, the narrowest first. A filter that can match
// nothing has none.
func paths(tx *store.Txn, f *nostr.Filter) ([]Path, error) {
	if f.Never() {
		return nil, nil
	}
	if f.IDs != nil {
		// An id names one event: no list can be narrower.
		p, err := idPath(tx, f)
		return []Path{p}, err
	}
	var all []Path
	best := ^uint64(0)
	for i := range index.All {
		for _, p := range indexPaths(&index.All[i], f) {
			if err := p.measure(tx, best); err != nil {
				return nil, err
			}
			best = min(best, p.Postings)
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b Path) int {
		switch {
		case a.Cut != b.Cut:
			if a.Cut {
				return 1
			}
			return -1
		case a.Postings < b.Postings:
			return -1
		case a.Postings > b.Postings:
			return 1
		}
		return a.Lists - b.Lists
	})
	return all, nil
}

// measure adds up the exact lengths of the lists, until they exceed bound.
func (p *Path) measure(tx *store.Txn, bound uint64) error {
	for i, k := range p.keys {
		if p.Postings > bound && i > 0 {
			p.Cut = true
			return nil
		}
		n, err := tx.Length(p.index, k)
		if err != nil {
			return err
		}
		p.Postings += n
	}
	return nil
}

// idPath looks the ids up.
func idPath(tx *store.Txn, f *nostr.Filter) (Path, error) {
	p := Path{Name: "ids", Lists: len(f.IDs), settled: *f}
	p.settled.IDs = nil
	for i := range f.IDs {
		q, ok, err := tx.ByID(f.IDs[i][:])
		if err != nil {
			return p, err
		}
		if ok {
			p.known = append(p.known, q)
		}
	}
	p.Postings = uint64(len(p.known))
	return p, nil
}

// maxKeys is how many lists a path may merge. A filter that asks for more
// authors times kinds than that is served by another index.
const maxKeys = 1 << 16

// indexPaths returns the paths that index d offers: none where the filter does
// not say all parts of its key, one for each letter where the key has a tag.
func indexPaths(d *index.Def, f *nostr.Filter) []Path {
	if slices.Contains(d.Parts, index.Pubkey) && f.Authors == nil ||
		slices.Contains(d.Parts, index.Kind) && f.Kinds == nil {
		return nil
	}
	if !d.HasTag() {
		p := newPath(d, f, nil)
		if p == nil {
			return nil
		}
		return []Path{*p}
	}
	var ps []Path
	for i := range f.Tags {
		if p := newPath(d, f, &f.Tags[i]); p != nil {
			ps = append(ps, *p)
		}
	}
	return ps
}

// newPath returns the path through index d, with tag for the tag part of its
// key, or nil where it would have too many lists.
func newPath(d *index.Def, f *nostr.Filter, tag *nostr.TagCondition) *Path {
	p := &Path{Name: d.Name, index: d.ID, settled: *f}
	authors, kinds, tags := [][32]byte{{}}, []uint16{0}, []packed.Tag{nil}
	if slices.Contains(d.Parts, index.Pubkey) {
		authors, p.settled.Authors = f.Authors, nil
	}
	if slices.Contains(d.Parts, index.Kind) {
		kinds, p.settled.Kinds = f.Kinds, nil
	}
	if tag != nil {
		p.Name += " #" + string(tag.Letter)
		tags = tag.Values
		p.settled.Tags = slices.DeleteFunc(slices.Clone(f.Tags), func(c nostr.TagCondition) bool { return c.Letter == tag.Letter })
	}
	p.Lists = len(authors) * len(kinds) * len(tags)
	if p.Lists > maxKeys {
		return nil
	}
	p.keys = make([][]byte, 0, p.Lists)
	var arena []byte
	for i := range authors {
		for _, k := range kinds {
			for _, t := range tags {
				at := len(arena)
				arena = d.AppendKey(arena, authors[i][:], k, t)
				p.keys = append(p.keys, arena[at:len(arena):len(arena)])
			}
		}
	}
	return p
}

// open returns the postings of the path in a transaction.
func (p *Path) open(tx *store.Txn) source {
	if p.keys == nil {
		return newFixed(p.known)
	}
	return newUnion(lists(tx, p.index, p.keys))
}
