package nostr

import (
	"bytes"
	"encoding/binary"
	"slices"

	"wok/index"
	"wok/packed"
)

// Match reports whether the event meets every condition of the filter. Limit
// is no condition, and whether the event may be seen is not asked here.
func (f *Filter) Match(v packed.View) bool {
	if t := v.CreatedAt(); t < f.Since || t > f.Until {
		return false
	}
	if f.Kinds != nil && !hasNumber(f.Kinds, v.Kind()) {
		return false
	}
	if f.Authors != nil && !hasKey(f.Authors, v.Pubkey()) {
		return false
	}
	if f.IDs != nil && !hasKey(f.IDs, v.ID()) {
		return false
	}
	return len(f.Tags) == 0 || f.matchTags(v.Tags())
}

// hasKey reports whether the sorted keys have the 32 bytes of key. Nearly
// every step is decided by the first eight bytes.
func hasKey(keys [][32]byte, key []byte) bool {
	want := binary.BigEndian.Uint64(key)
	lo, hi := 0, len(keys)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		at := binary.BigEndian.Uint64(keys[mid][:])
		switch {
		case at < want:
			lo = mid + 1
		case at > want:
			hi = mid
		default:
			switch bytes.Compare(keys[mid][8:], key[8:]) {
			case 0:
				return true
			case -1:
				lo = mid + 1
			default:
				hi = mid
			}
		}
	}
	return false
}

// matchTags walks an event's tags once, until each condition has been met.
func (f *Filter) matchTags(ts packed.Tags) bool {
	open := ^uint64(0) >> (maxTagConditions - len(f.Tags)) // a bit for each condition still to be met
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		for i := range f.Tags {
			c := &f.Tags[i]
			if open>>i&1 == 0 || c.Letter != t.Letter() || !c.has(t) {
				continue
			}
			if open &^= 1 << i; open == 0 {
				return true
			}
		}
	}
	return false
}

// maxTagConditions is how many conditions on tags a filter may have: all the
// letters, or some letters with several values each by "&".
const maxTagConditions = 64

// has reports whether t is one of the condition's values.
func (c *TagCondition) has(t packed.Tag) bool {
	if len(c.Values) == 1 {
		return bytes.Equal(c.Values[0], t)
	}
	_, found := slices.BinarySearchFunc(c.Values, t, func(a, b packed.Tag) int { return bytes.Compare(a, b) })
	return found
}

// A PostingTest is what a posting alone can tell about a filter: the bounds of
// time, the kind, and whether the author may be one of those named. It belongs
// to a scan and goes with it, because for many authors it takes 8 KiB, which a
// subscription that waits for new events should not hold.
type PostingTest struct {
	since, until   uint64
	kinds, authors numbers
}

// PostingTest returns the test of the filter. It shares memory with the filter.
func (f *Filter) PostingTest() PostingTest {
	t := PostingTest{since: f.Since, until: f.Until}
	if f.Kinds != nil {
		t.kinds = newNumbers(f.Kinds)
	}
	if f.Authors != nil {
		// Sorted keys have sorted prefixes.
		prefixes := make([]uint16, len(f.Authors))
		for i := range f.Authors {
			prefixes[i] = binary.BigEndian.Uint16(f.Authors[i][:])
		}
		t.authors = newNumbers(slices.Compact(prefixes))
	}
	return t
}

// Match reports false where the event of p cannot match the filter. True means
// that it may; where [Filter.DecidedByPosting] holds, that it does.
func (t *PostingTest) Match(p index.Posting) bool {
	at := p.Time()
	return at >= t.since && at <= t.until && t.kinds.has(p.Kind()) && t.authors.has(p.Author())
}

// numbers is a set of 16-bit numbers: all of them as the zero value, else a
// sorted list, else a bit for each number that there is.
type numbers struct {
	some bool
	list []uint16
	bits *[1 << 16 / 64]uint64
}

const (
	// fewNumbers is up to where walking a list is not slower than searching it.
	fewNumbers = 8
	// listNumbers is up to where a list is searched: it costs nothing to make,
	// the bits cost as much as 500 postings do.
	listNumbers = 64
)

func newNumbers(sorted []uint16) numbers {
	if len(sorted) <= listNumbers {
		return numbers{some: true, list: sorted}
	}
	n := numbers{some: true, bits: new([1 << 16 / 64]uint64)}
	for _, x := range sorted {
		n.bits[x/64] |= 1 << (x % 64)
	}
	return n
}

func (n *numbers) has(x uint16) bool {
	if n.bits != nil {
		return n.bits[x/64]>>(x%64)&1 == 1
	}
	return !n.some || hasNumber(n.list, x)
}

// hasNumber reports whether the sorted list has x.
func hasNumber(list []uint16, x uint16) bool {
	if len(list) <= fewNumbers {
		return slices.Contains(list, x)
	}
	_, found := slices.BinarySearch(list, x)
	return found
}
