package nostr

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"wok/packed"
)

// A Filter is a query (NIP-01): an event matches when every condition holds,
// and a list condition holds when one of its values fits. It is compiled once
// and then serves stored events, live ones, COUNT and reconciliation alike.
//
// In every list nil means no condition, and empty but not nil means a
// condition that nothing meets (01-R25). Lists are sorted and distinct.
//
// A Filter is a plain value: nobody changes one that is in use, everybody may
// copy it and take conditions away from the copy. [NewFilter] is the start of
// one made by hand; the zero Filter has Until 0 and Limit 0.
type Filter struct {
	IDs     [][32]byte
	Authors [][32]byte
	Kinds   []uint16
	Tags    []TagCondition // by letter; one with values to choose from, others with Each
	Since   uint64         // unix seconds, inclusive; 0 is no bound
	Until   uint64         // unix seconds, inclusive; NoUntil is no bound
	Limit   int            // of the stored events; NoLimit is no limit, 0 is none of them
}

const (
	// NoUntil stands in Filter.Until for no bound.
	NoUntil = math.MaxUint64
	// NoLimit stands in Filter.Limit for no limit.
	NoLimit = -1
)

// A TagCondition holds for events that have one of the tags in Values.
//
// Values are packed tags, letter and all: their bytes are keys of the tag
// index, and equal bytes mean equal tags. A value over 255 bytes is there as
// its hash; Long keeps such texts, because a hash cannot be written back.
type TagCondition struct {
	Letter byte
	Each   bool         // asked for by "&", which wants every value: one condition a value (NIP-91)
	Values []packed.Tag // sorted, distinct
	Long   []string     // sorted, distinct: the texts of the hashes in Values
}

// Name returns the key of the condition in JSON, "#t" or "&t".
func (c *TagCondition) Name() string {
	if c.Each {
		return "&" + string(c.Letter)
	}
	return "#" + string(c.Letter)
}

// NewFilter returns a filter without conditions.
func NewFilter() *Filter { return &Filter{Until: NoUntil, Limit: NoLimit} }

// Never reports whether the filter can match no event at all: a list is empty,
// or no time is left between the bounds.
func (f *Filter) Never() bool {
	empty := f.IDs != nil && len(f.IDs) == 0 ||
		f.Authors != nil && len(f.Authors) == 0 ||
		f.Kinds != nil && len(f.Kinds) == 0 ||
		slices.ContainsFunc(f.Tags, func(c TagCondition) bool { return len(c.Values) == 0 })
	return empty || f.Since > f.Until || f.Since > packed.MaxCreatedAt
}

// DecidedByPosting reports whether a posting tells all that the filter asks:
// what passes its [PostingTest] then matches, and no event need be read. A
// planner whose list stands for a condition already asks this of a copy of the
// filter without that condition.
func (f *Filter) DecidedByPosting() bool {
	return f.IDs == nil && f.Authors == nil && len(f.Tags) == 0
}

// Tag returns the condition on the given letter that has values to choose from,
// nil where there is none.
func (f *Filter) Tag(letter byte) *TagCondition {
	for i := range f.Tags {
		if f.Tags[i].Letter == letter && !f.Tags[i].Each {
			return &f.Tags[i]
		}
	}
	return nil
}

// compile brings the lists into the order that everyone relies on.
func (f *Filter) compile() {
	f.IDs = sortKeys(f.IDs)
	f.Authors = sortKeys(f.Authors)
	slices.Sort(f.Kinds)
	f.Kinds = slices.Compact(f.Kinds)
	f.bindEach()
	for i := range f.Tags {
		c := &f.Tags[i]
		slices.SortFunc(c.Values, func(a, b packed.Tag) int { return bytes.Compare(a, b) })
		c.Values = slices.CompactFunc(c.Values, func(a, b packed.Tag) bool { return bytes.Equal(a, b) })
		slices.Sort(c.Long)
		c.Long = slices.Compact(c.Long)
	}
}

// bindEach orders the conditions. What "&" asks for binds first (NIP-91): it is
// asked for once, and is no choice of the same letter any more.
func (f *Filter) bindEach() {
	slices.SortFunc(f.Tags, func(a, b TagCondition) int {
		switch {
		case a.Letter != b.Letter:
			return int(a.Letter) - int(b.Letter)
		case a.Each != b.Each:
			if a.Each {
				return 1
			}
			return -1
		}
		return slices.CompareFunc(a.Values, b.Values, func(x, y packed.Tag) int { return bytes.Compare(x, y) })
	})
	f.Tags = slices.CompactFunc(f.Tags, func(a, b TagCondition) bool {
		return a.Each && b.Each && len(a.Values) == 1 && len(b.Values) == 1 && bytes.Equal(a.Values[0], b.Values[0])
	})
	var each []packed.Tag
	for _, c := range f.Tags {
		if c.Each {
			each = append(each, c.Values...)
		}
	}
	if each == nil {
		return
	}
	asked := func(t packed.Tag) bool {
		return slices.ContainsFunc(each, func(e packed.Tag) bool { return bytes.Equal(e, t) })
	}
	f.Tags = slices.DeleteFunc(f.Tags, func(c TagCondition) bool {
		return !c.Each && slices.ContainsFunc(c.Values, asked) && !slices.ContainsFunc(c.Values, func(t packed.Tag) bool { return !asked(t) })
	})
	for i := range f.Tags {
		if c := &f.Tags[i]; !c.Each {
			c.Values = slices.DeleteFunc(c.Values, asked)
		}
	}
}

func sortKeys(keys [][32]byte) [][32]byte {
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys)
}

// compareKeys compares two keys. The first eight bytes nearly always decide,
// which sorts 500 keys in three quarters of the time of bytes.Compare alone.
func compareKeys(a, b [32]byte) int {
	if c := cmp.Compare(binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(b[:])); c != 0 {
		return c
	}
	return bytes.Compare(a[:], b[:])
}
