package planner

import (
	"slices"

	"wok/index"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// addressTerm looks up the versions that a filter of authors and replaceable
// kinds asks for, with #d where the kinds are addressable: at most one event
// each. It reports false where the filter is of another shape.
//
// An addressable event has one packed d tag, the one that makes its address, so
// a look-up by address and the list of that tag agree.
func addressTerm(tx *store.Txn, f *nostr.Filter) (Term, bool, error) {
	t := Term{what: settles{authors: true, kinds: true}}
	ds, ok := addressed(f)
	if !ok {
		return t, false, nil
	}
	if d := f.Tag('d'); ds[0] != nil {
		t.what.tags = 1 << slices.IndexFunc(f.Tags, func(c nostr.TagCondition) bool { return &c.Values[0] == &d.Values[0] })
	}
	t.Lists = len(f.Authors) * len(f.Kinds) * len(ds)
	if t.Lists > maxLookups {
		return t, false, nil
	}
	var key []byte
	for i := range f.Authors {
		for _, kind := range f.Kinds {
			for _, d := range ds {
				key = index.AppendAddress(key[:0], f.Authors[i][:], kind, d)
				p, found, err := tx.ByAddress(key)
				if err != nil {
					return t, false, err
				}
				if found {
					t.known = append(t.known, p)
				}
			}
		}
	}
	t.known = newestFirst(t.known)
	t.Postings = uint64(len(t.known))
	return t, true, nil
}

// maxLookups is how many addresses are looked up, which is done while planning.
// More are left to the indexes, which are read in runs and up to a limit.
const maxLookups = 512

// addressed returns the d tags of the addresses that f names, a nil one for
// plain replaceable kinds, and whether it names addresses: all kinds are of one
// class, and #d goes with addressable ones only.
func addressed(f *nostr.Filter) ([]packed.Tag, bool) {
	if f.Authors == nil || f.Kinds == nil {
		return nil, false
	}
	class := index.ClassOf(f.Kinds[0])
	if slices.ContainsFunc(f.Kinds, func(k uint16) bool { return index.ClassOf(k) != class }) {
		return nil, false
	}
	switch d := f.Tag('d'); {
	case class == index.Replaceable:
		return []packed.Tag{nil}, true
	case class == index.Addressable && d != nil:
		return d.Values, true
	}
	return nil, false
}
