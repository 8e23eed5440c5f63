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
	Lists    int    // how many lists, or look-ups, there are
	Postings uint64 // the sum of their lengths
	Sampled  bool   // Postings is reckoned from some of the lists

	what    settles
	known   []index.Posting // of look-ups, newest first
	pending [][32]byte      // ids that are looked up only when the term is opened

	// Of lists: the index, and the values whose combinations are the keys. A
	// part that the key does not have is nil.
	def     *index.Def
	authors [][32]byte
	kinds   []uint16
	tags    *nostr.TagCondition
}

// Name returns "ids", "addresses", or the index, with the letter where it is of
// tags.
func (t *Term) Name() string {
	switch {
	case t.what.ids:
		return "ids"
	case t.lookedUp():
		return "addresses"
	case t.tags != nil:
		return t.def.Name + " " + t.tags.Name()
	}
	return t.def.Name
}

// lookedUp reports whether the term is look-ups, not lists.
func (t *Term) lookedUp() bool { return t.def == nil }

// appendKey appends the key of list i to dst.
func (t *Term) appendKey(dst []byte, i int) []byte {
	var author []byte
	var kind uint16
	var tag packed.Tag
	if t.tags != nil {
		n := len(t.tags.Values)
		tag = t.tags.Values[i%n]
		i /= n
	}
	if t.kinds != nil {
		kind = t.kinds[i%len(t.kinds)]
		i /= len(t.kinds)
	}
	if t.authors != nil {
		author = t.authors[i][:]
	}
	return t.def.AppendKey(dst, author, kind, tag)
}

// settles says which conditions of a filter a term takes care of.
type settles struct {
	ids, authors, kinds bool
	tags                uint64 // a bit for each condition in Filter.Tags
}

// and adds what another term takes care of.
func (s settles) and(t settles) settles {
	return settles{s.ids || t.ids, s.authors || t.authors, s.kinds || t.kinds, s.tags | t.tags}
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
	if s.tags != 0 {
		g.Tags = nil
		for i, c := range f.Tags {
			if s.tags>>i&1 == 0 {
				g.Tags = append(g.Tags, c)
			}
		}
	}
	return g
}

const (
	// maxLists is how many lists a term may have. What would need more is reached
	// by another index.
	maxLists = 1 << 16
	// maxPerValue is how many lists a term may have for each value that makes
	// them, beyond fewLists. A paused query keeps some bytes a list, and what a
	// client can make a relay keep must be as much as it has sent, times a
	// constant: of many authors times many kinds, the kinds are then tested on the
	// postings.
	maxPerValue = 16
	fewLists    = 1024
)

// affordable reports whether lists may be made of so many values: some, and not
// too many.
func affordable(lists, values int) bool {
	return lists > 0 && lists <= min(maxLists, fewLists+maxPerValue*values)
}

// terms returns all terms that f offers, with their lengths.
func terms(tx *store.Txn, f *nostr.Filter) ([]Term, error) {
	// What is named is one event each: no list can be narrower.
	if f.IDs != nil {
		t, err := idTerm(tx, f)
		return []Term{t}, err
	}
	if t, ok, err := addressTerm(tx, f); ok || err != nil {
		return []Term{t}, err
	}
	ts := make([]Term, 0, len(index.All)+len(f.Tags))
	for i := range index.All {
		ts = appendTerms(ts, &index.All[i], f)
	}
	for i := range ts {
		if err := ts[i].measure(tx, maxMeasured); err != nil {
			return nil, err
		}
	}
	return ts, nil
}

// idTerm looks the ids up, unless they are many.
func idTerm(tx *store.Txn, f *nostr.Filter) (Term, error) {
	t := Term{Lists: len(f.IDs), what: settles{ids: true}}
	if t.Lists > maxLookups {
		t.Postings, t.Sampled, t.pending = uint64(t.Lists), true, f.IDs
		return t, nil
	}
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

// appendTerms appends the terms that index d offers: none where the filter does
// not say all parts of its key, or the lists are too many; one for each letter
// where the key has a tag.
func appendTerms(ts []Term, d *index.Def, f *nostr.Filter) []Term {
	t := Term{def: d, Lists: 1}
	values := 0
	if slices.Contains(d.Parts, index.Pubkey) {
		t.authors, t.what.authors = f.Authors, true
		t.Lists *= len(f.Authors)
		values += len(f.Authors)
	}
	if slices.Contains(d.Parts, index.Kind) {
		t.kinds, t.what.kinds = f.Kinds, true
		t.Lists *= len(f.Kinds)
		values += len(f.Kinds)
	}
	if !affordable(t.Lists, values) {
		return ts
	}
	if !d.HasTag() {
		return append(ts, t)
	}
	for i := range f.Tags {
		u := t
		u.what.tags, u.tags = 1<<i, &f.Tags[i]
		u.Lists *= len(u.tags.Values)
		if affordable(u.Lists, values+len(u.tags.Values)) {
			ts = append(ts, u)
		}
	}
	return ts
}

// maxMeasured is how many lists of a term are measured. Of more, a part is taken
// evenly and the rest is reckoned: the lengths must not cost more than the walk
// they are to save.
const maxMeasured = 48

// measure sets Postings, from the lengths of all lists, or of that many.
func (t *Term) measure(tx *store.Txn, most int) error {
	step := 1.0
	if t.Sampled = t.Lists > most; t.Sampled {
		step = float64(t.Lists) / float64(most)
	}
	n, sum := 0, uint64(0)
	key := make([]byte, 0, usualKey)
	for at := 0.0; int(at) < t.Lists; at += step {
		key = t.appendKey(key[:0], int(at))
		length, err := tx.Length(t.def.ID, key)
		if err != nil {
			return err
		}
		sum += length
		n++
	}
	t.Postings = sum * uint64(t.Lists) / uint64(max(1, n))
	return nil
}

// usualKey is what holds the keys of all indexes but of long tags.
const usualKey = 48

// disjoint reports whether no event can stand in two of the term's lists: an
// event has one author and one kind, but many tags.
func (t *Term) disjoint() bool { return t.what.tags == 0 }

// open returns the postings of the term.
func (t *Term) open() source {
	switch {
	case t.pending != nil:
		return &lookups{ids: t.pending}
	case t.lookedUp():
		return &fixed{postings: t.known}
	case t.Lists == 1:
		return &single{term: t}
	}
	return &union{term: t}
}
