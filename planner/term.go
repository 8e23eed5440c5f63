package planner

import (
	"slices"

	"wok/index"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// A Term is one condition of a filter, or two that share an index, as lists:
// every event that meets the condition has its posting in one of them. The
// lists of a term are merged; the terms of a path are joined.
type Term struct {
	Name     string // "ids", "addresses", or the index, with the letter where it is of tags
	Lists    int    // how many lists, or look-ups, there are
	Postings uint64 // the sum of their lengths
	Sampled  bool   // Postings is reckoned from some of the lists

	index index.ID
	keys  [][]byte        // of the lists
	known []index.Posting // of look-ups, newest first
	what  settles
}

// settles says which conditions of a filter a term takes care of.
type settles struct {
	ids, authors, kinds bool
	letter              byte // of a tag condition, 0 for none
}

// from returns f without the conditions that are settled.
func (s settles) from(f *nostr.Filter) nostr.Filter {
	g := *f
	if s.ids {
		g.IDs = nil
	}
	if s.authors {
		g.Authors = nil
	}
	if s.kinds {
		g.Kinds = nil
	}
	if s.letter != 0 {
		g.Tags = slices.DeleteFunc(slices.Clone(g.Tags), func(c nostr.TagCondition) bool { return c.Letter == s.letter })
	}
	return g
}

// maxLists is how many lists, or look-ups, a term may have. What would need
// more is reached by another index.
const maxLists = 1 << 16

// terms returns all terms that f offers, with their lengths.
func terms(tx *store.Txn, f *nostr.Filter) ([]Term, error) {
	if f.IDs != nil {
		// An id names one event: nothing can be narrower.
		t, err := idTerm(tx, f)
		return []Term{t}, err
	}
	t, ok, err := addressTerm(tx, f)
	if err != nil {
		return nil, err
	}
	var ts []Term
	if ok {
		ts = append(ts, t)
	}
	for i := range index.All {
		ts = append(ts, indexTerms(&index.All[i], f)...)
	}
	for i := range ts {
		if err := ts[i].measure(tx, maxMeasured); err != nil {
			return nil, err
		}
	}
	return ts, nil
}

// idTerm looks the ids up.
func idTerm(tx *store.Txn, f *nostr.Filter) (Term, error) {
	t := Term{Name: "ids", Lists: len(f.IDs), what: settles{ids: true}}
	for i := range f.IDs {
		p, ok, err := tx.ByID(f.IDs[i][:])
		if err != nil {
			return t, err
		}
		if ok {
			t.known = append(t.known, p)
		}
	}
	t.known = newestFirst(t.known)
	t.Postings = uint64(len(t.known))
	return t, nil
}

// indexTerms returns the terms that index d offers: none where the filter does
// not say all parts of its key, one for each letter where the key has a tag.
func indexTerms(d *index.Def, f *nostr.Filter) []Term {
	what := settles{
		authors: slices.Contains(d.Parts, index.Pubkey),
		kinds:   slices.Contains(d.Parts, index.Kind),
	}
	if what.authors && f.Authors == nil || what.kinds && f.Kinds == nil {
		return nil
	}
	if !d.HasTag() {
		return indexTerm(nil, d, f, what, nil)
	}
	var ts []Term
	for i := range f.Tags {
		what.letter = f.Tags[i].Letter
		ts = indexTerm(ts, d, f, what, f.Tags[i].Values)
	}
	return ts
}

// indexTerm appends to ts the term of index d for all combinations of the
// values of f that its key is made of, unless they are too many.
func indexTerm(ts []Term, d *index.Def, f *nostr.Filter, what settles, tags []packed.Tag) []Term {
	t := Term{Name: d.Name, index: d.ID, what: what}
	authors, kinds := [][32]byte{{}}, []uint16{0}
	if what.authors {
		authors = f.Authors
	}
	if what.kinds {
		kinds = f.Kinds
	}
	if what.letter != 0 {
		t.Name += " #" + string(what.letter)
	} else {
		tags = []packed.Tag{nil}
	}
	if t.Lists = len(authors) * len(kinds) * len(tags); t.Lists > maxLists {
		return ts
	}
	t.keys = make([][]byte, 0, t.Lists)
	var arena []byte
	for i := range authors {
		for _, k := range kinds {
			for _, tag := range tags {
				at := len(arena)
				arena = d.AppendKey(arena, authors[i][:], k, tag)
				t.keys = append(t.keys, arena[at:len(arena):len(arena)])
			}
		}
	}
	return append(ts, t)
}

// maxMeasured is how many lists of a term are measured. Of more, that many are
// taken evenly and the rest is reckoned: the lengths must not cost more than
// the walk they are to save.
const maxMeasured = 64

// measure sets Postings, from the lengths of all lists, or of that many of them.
func (t *Term) measure(tx *store.Txn, most int) error {
	if t.keys == nil {
		return nil // looked up already
	}
	step := 1.0
	if t.Sampled = len(t.keys) > most; t.Sampled {
		step = float64(len(t.keys)) / float64(most)
	}
	n, sum := 0, uint64(0)
	for at := 0.0; int(at) < len(t.keys); at += step {
		length, err := tx.Length(t.index, t.keys[int(at)])
		if err != nil {
			return err
		}
		sum += length
		n++
	}
	t.Postings = sum * uint64(len(t.keys)) / uint64(max(1, n))
	return nil
}

// disjoint reports whether no event can stand in two of the term's lists: an
// event has one author and one kind, but many tags.
func (t *Term) disjoint() bool { return t.what.letter == 0 }

// open returns the postings of the term in a transaction.
func (t *Term) open(tx *store.Txn) source {
	if t.keys == nil {
		return &fixed{postings: t.known}
	}
	return newUnion(lists(tx, t.index, t.keys))
}
