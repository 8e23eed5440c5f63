package testdb

import (
	"encoding/json"
	"slices"
)

// Filters returns one to three filters, as JSON.
func (r *Random) Filters() [][]byte {
	filters := make([][]byte, skewed(r.rng, 1, 4))
	for i := range filters {
		filters[i] = r.Filter()
	}
	return filters
}

// Filter returns a filter as JSON: up to four conditions on ids, authors,
// kinds, tags and times, often a limit. Its values are mostly such as events
// of this world have; a list may be empty or name a value twice.
func (r *Random) Filter() []byte {
	f := map[string]any{}
	conditions := []func(map[string]any){
		r.ids, r.authors, r.authors, r.kinds, r.kinds, r.tags, r.tags, r.tags, r.since, r.until,
	}
	for range r.rng.IntN(5) {
		pick(r.rng, conditions)(f)
	}
	if oneIn(r.rng, 2) {
		f["limit"] = pick(r.rng, []int{0, 1, 1, 2, 3, 5, 10, 50, 5000})
	}
	b, err := json.Marshal(f)
	if err != nil {
		panic("testdb: filter: " + err.Error())
	}
	return b
}

func (r *Random) ids(f map[string]any)     { f["ids"] = listOf(r, r.id) }
func (r *Random) authors(f map[string]any) { f["authors"] = listOf(r, r.author) }
func (r *Random) since(f map[string]any)   { f["since"] = r.time() }
func (r *Random) until(f map[string]any)   { f["until"] = r.time() }

func (r *Random) kinds(f map[string]any) {
	f["kinds"] = listOf(r, func() int { return pick(r.rng, append(slices.Clone(randomKinds), 2, 64000)) })
}

// tags asks for a letter. Values of #e and #p are ids and keys: a relay may
// refuse others (01-R26).
func (r *Random) tags(f map[string]any) {
	letter := pick(r.rng, []byte("eepptttrrdTxEaq"))
	value := r.address
	switch letter {
	case 'e', 'E', 'q':
		value = r.id
	case 'p':
		value = r.author
	case 'd', 't', 'r', 'T', 'x':
		value = func() string { return pick(r.rng, tagValues[letter]) }
	}
	key := "#"
	if r.Each && oneIn(r.rng, 3) {
		key = "&"
	}
	f[key+string(letter)] = listOf(r, value)
}

// time is one of the world's seconds, one beside them, or 0.
func (r *Random) time() int64 {
	if oneIn(r.rng, 20) {
		return 0
	}
	return randomStart + int64(between(r.rng, -1, randomSeconds))
}

// listOf returns mostly one to three values, at times many or none.
func listOf[T any](r *Random, value func() T) []T {
	n := between(r.rng, 1, 3)
	switch r.rng.IntN(40) {
	case 0:
		n = 0
	case 1, 2, 3:
		n = between(r.rng, 4, 20)
	}
	list := make([]T, n)
	for i := range list {
		list[i] = value()
	}
	return list
}
