package relay

import (
	"slices"

	"wok/nostr"
	"wok/packed"
)

// A liveIndex finds the filters that a new event may match. Each filter stands
// under the values of one of its conditions, the one that fewest events meet;
// an event looks up its id, author, kind and tags. What is found is confirmed
// by the filter itself.
type liveIndex struct {
	keys  map[[32]byte][]*entry // ids and authors, which cannot be confused
	tags  map[string][]*entry   // packed tags
	kinds map[uint16][]*entry
	all   []*entry // without any such condition
}

// An entry is a filter of a subscription in the index.
type entry struct {
	sub    *subscription
	filter *nostr.Filter
}

func newLiveIndex() liveIndex {
	return liveIndex{
		keys:  make(map[[32]byte][]*entry),
		tags:  make(map[string][]*entry),
		kinds: make(map[uint16][]*entry),
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

func each(entries []*entry, fn func(*entry)) {
	for _, e := range entries {
		fn(e)
	}
}

func (x *liveIndex) add(e *entry) {
	x.eachList(e.filter, func(list []*entry) []*entry { return append(list, e) })
}

func (x *liveIndex) remove(e *entry) {
	x.eachList(e.filter, func(list []*entry) []*entry {
		i := slices.Index(list, e)
		if i < 0 {
			return list
		}
		last := len(list) - 1
		list[i], list[last] = list[last], nil
		return list[:last]
	})
}

// eachList changes all lists that f stands in. The choice depends on f alone,
// so that it is the same when f goes.
func (x *liveIndex) eachList(f *nostr.Filter, change func([]*entry) []*entry) {
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

func changeLists[K comparable](m map[K][]*entry, keys []K, change func([]*entry) []*entry) {
	for _, k := range keys {
		changeList(m, k, change)
	}
}

func changeList[K comparable](m map[K][]*entry, key K, change func([]*entry) []*entry) {
	list := change(m[key])
	if len(list) == 0 {
		delete(m, key)
		return
	}
	m[key] = list
}
