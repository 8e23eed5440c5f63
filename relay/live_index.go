package relay

import (
	"wok/nostr"
	"wok/packed"
)

// A liveIndex finds the filters that a new event may match. Each filter stands
// under the values of one of its conditions, the one that fewest events meet;
// an event looks up its id, author, kind and tags. What is found is confirmed
// by the filter itself.
type liveIndex struct {
	keys  map[[32]byte][]slot // ids and authors, which cannot be confused
	tags  map[string][]slot   // packed tags
	kinds map[uint16][]slot
	all   []slot // without any such condition
}

// An entry is a filter of a subscription in the index.
type entry struct {
	sub    *subscription
	filter *nostr.Filter
	at     []int32 // where it stands in each of its lists, in their order
}

// A slot is a place in a list: the entry, and which of the entry's lists it is.
// With it an entry is taken out of a list of any length at once.
type slot struct {
	*entry
	list int32
}

func newLiveIndex() liveIndex {
	return liveIndex{
		keys:  make(map[[32]byte][]slot),
		tags:  make(map[string][]slot),
		kinds: make(map[uint16][]slot),
	}
}

// candidates calls fn with the entries that v may match; an entry may come more
// than once.
func (x *liveIndex) candidates(v packed.View, fn func(*entry)) {
	each(x.keys[[32]byte(v.ID())], fn)
	each(x.keys[[32]byte(v.Pubkey())], fn)
	each(x.kinds[v.Kind()], fn)
	each(x.all, fn)
	if len(x.tags) == 0 {
		return
	}
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		each(x.tags[string(t)], fn)
	}
}

func each(slots []slot, fn func(*entry)) {
	for _, s := range slots {
		fn(s.entry)
	}
}

func (x *liveIndex) add(e *entry) {
	x.eachList(e.filter, func(list []slot) []slot {
		list = append(list, slot{e, int32(len(e.at))})
		e.at = append(e.at, int32(len(list)-1))
		return list
	})
}

// remove takes e out of all its lists. The last of each list comes in its place.
func (x *liveIndex) remove(e *entry) {
	n := 0
	x.eachList(e.filter, func(list []slot) []slot {
		at, last := e.at[n], len(list)-1
		n++
		moved := list[last]
		list[at] = moved
		moved.at[moved.list] = at
		list[last] = slot{}
		return list[:last]
	})
}

// eachList changes all lists that f stands in. The choice depends on f alone,
// so that it is the same when f goes.
func (x *liveIndex) eachList(f *nostr.Filter, change func([]slot) []slot) {
	tag := narrowestTag(f)
	switch {
	case f.IDs != nil:
		changeLists(x.keys, f.IDs, change)
	case f.Authors != nil && (tag == nil || len(f.Authors) <= len(tag.Values)):
		changeLists(x.keys, f.Authors, change)
	case tag != nil:
		for _, t := range tag.Values {
			changeList(x.tags, string(t), change)
		}
	case f.Kinds != nil:
		changeLists(x.kinds, f.Kinds, change)
	default:
		x.all = change(x.all)
	}
}

// narrowestTag returns the tag condition of f with the fewest values, nil if it
// has none.
func narrowestTag(f *nostr.Filter) (narrowest *nostr.TagCondition) {
	for i := range f.Tags {
		if narrowest == nil || len(f.Tags[i].Values) < len(narrowest.Values) {
			narrowest = &f.Tags[i]
		}
	}
	return narrowest
}

func changeLists[K comparable](m map[K][]slot, keys []K, change func([]slot) []slot) {
	for _, k := range keys {
		changeList(m, k, change)
	}
}

func changeList[K comparable](m map[K][]slot, key K, change func([]slot) []slot) {
	list := change(m[key])
	if len(list) == 0 {
		delete(m, key)
		return
	}
	m[key] = list
}
