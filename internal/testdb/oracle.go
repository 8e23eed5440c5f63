package testdb

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// The oracle: what a filter matches and in which order, as plainly as it can
// be said. It shares no code with the relay.

// Match reports whether event e passes all conditions of f but limit. An empty
// list lets nothing pass (01-R25).
func (f Filter) Match(e Event) bool {
	for name, wanted := range f.Lists {
		if letter, ok := strings.CutPrefix(name, "&"); ok { // NIP-91
			has := e.values("#" + letter)
			if len(wanted) == 0 || slices.ContainsFunc(wanted, func(v string) bool { return !slices.Contains(has, v) }) {
				return false
			}
			continue
		}
		if each := f.Lists["&"+strings.TrimPrefix(name, "#")]; name[0] == '#' && each != nil && len(wanted) > 0 {
			wanted = slices.DeleteFunc(slices.Clone(wanted), func(v string) bool { return slices.Contains(each, v) })
			if len(wanted) == 0 {
				continue
			}
		}
		if !slices.ContainsFunc(e.values(name), func(v string) bool { return slices.Contains(wanted, v) }) {
			return false
		}
	}
	return (f.Since == nil || *f.Since <= e.CreatedAt) && (f.Until == nil || e.CreatedAt <= *f.Until)
}

// values returns what e has for the condition of the given name. A tag without
// a value has none (01-R19).
func (e Event) values(name string) []string {
	switch name {
	case "ids":
		return []string{e.ID}
	case "authors":
		return []string{e.Pubkey}
	case "kinds":
		return []string{strconv.Itoa(e.Kind)}
	}
	var values []string
	for _, tag := range e.Tags {
		if len(tag) > 1 && "#"+tag[0] == name {
			values = append(values, tag[1])
		}
	}
	return values
}

// Compare orders events as they are sent: newest first, then lowest id.
func Compare(a, b Event) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.ID, b.ID))
}

// Query returns the events that a REQ with the filters is to be sent: of each
// filter the first up to its limit, each event once, in the order of [Compare].
func Query(filters []Filter, events []Event) []Event {
	sorted := slices.SortedFunc(slices.Values(events), Compare)
	sorted = slices.CompactFunc(sorted, func(a, b Event) bool { return a.ID == b.ID })
	chosen := map[string]bool{}
	for _, f := range filters {
		n := int64(0)
		for _, e := range sorted {
			if (f.Limit == nil || n < *f.Limit) && f.Match(e) {
				chosen[e.ID] = true
				n++
			}
		}
	}
	return slices.DeleteFunc(sorted, func(e Event) bool { return !chosen[e.ID] })
}

// Match is Filter.Match for JSON.
func Match(filter, event []byte) bool { return DecodeFilter(filter).Match(Decode(event)) }
