package nostr

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"wok/packed"
)

// String returns the filter's canonical JSON.
func (f *Filter) String() string { return string(f.AppendJSON(nil)) }

// AppendJSON appends the filter in its canonical form: conditions in one
// order, lists sorted and distinct, nothing for what is no condition. Filters
// that ask the same have the same form.
func (f *Filter) AppendJSON(dst []byte) []byte {
	w := filterWriter{dst: append(dst, '{')}
	w.keys("ids", f.IDs)
	w.keys("authors", f.Authors)
	w.kinds(f.Kinds)
	for i := 0; i < len(f.Tags); {
		i += w.tags(f.Tags[i:])
	}
	if f.Since != 0 {
		w.number("since", f.Since)
	}
	if f.Until != NoUntil {
		w.number("until", f.Until)
	}
	if f.Limit != NoLimit {
		w.number("limit", uint64(f.Limit))
	}
	return append(w.dst, '}')
}

// A filterWriter appends the members of a JSON object to dst.
type filterWriter struct {
	dst   []byte
	later bool // a member has been written
}

func (w *filterWriter) key(name string) {
	if w.later {
		w.dst = append(w.dst, ',')
	}
	w.later = true
	w.dst = append(w.dst, '"')
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, '"', ':')
}

func (w *filterWriter) number(name string, n uint64) {
	w.key(name)
	w.dst = strconv.AppendUint(w.dst, n, 10)
}

// comma parts the i-th value of a list from the one before.
func (w *filterWriter) comma(i int) {
	if i > 0 {
		w.dst = append(w.dst, ',')
	}
}

func (w *filterWriter) keys(name string, keys [][32]byte) {
	if keys == nil {
		return
	}
	w.key(name)
	w.dst = append(w.dst, '[')
	for i := range keys {
		w.comma(i)
		w.dst = appendHexString(w.dst, keys[i][:])
	}
	w.dst = append(w.dst, ']')
}

func (w *filterWriter) kinds(kinds []uint16) {
	if kinds == nil {
		return
	}
	w.key("kinds")
	w.dst = append(w.dst, '[')
	for i, k := range kinds {
		w.comma(i)
		w.dst = strconv.AppendUint(w.dst, uint64(k), 10)
	}
	w.dst = append(w.dst, ']')
}

// tags writes the first of some conditions, with those that belong to the same
// "&", and returns how many that were.
func (w *filterWriter) tags(cs []TagCondition) int {
	n := 1
	w.key(cs[0].Name())
	for cs[0].Each && n < len(cs) && cs[n].Each && cs[n].Letter == cs[0].Letter {
		n++
	}
	w.dst = append(w.dst, '[')
	i := 0
	for _, c := range cs[:n] {
		i = w.values(&c, i)
	}
	w.dst = append(w.dst, ']')
	return n
}

// values writes the values of a condition, the first of which is number i of its
// list, and returns the number of the next.
func (w *filterWriter) values(c *TagCondition, i int) int {
	for _, t := range c.Values {
		switch t.Form() {
		case packed.Hex:
			w.comma(i)
			w.dst = appendHexString(w.dst, t.Value())
			i++
		case packed.Text:
			w.comma(i)
			w.dst = appendString(w.dst, string(t.Value()))
			i++
		}
	}
	for _, text := range c.Long {
		w.comma(i)
		w.dst = appendString(w.dst, text)
		i++
	}
	return i
}

// appendHexString appends b as a JSON string of lowercase hex digits.
func appendHexString(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = hex.AppendEncode(dst, b)
	return append(dst, '"')
}

// Shape returns the form of the filter without what is in it, for logs and
// metrics: "authors:500 kinds:[1 6] #t:2 since limit:50", or "all". Kinds are
// told while they are few; they say what the query is for and not who asks.
func (f *Filter) Shape() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if f.IDs != nil {
		add("ids:%d", len(f.IDs))
	}
	if f.Authors != nil {
		add("authors:%d", len(f.Authors))
	}
	if f.Kinds != nil && len(f.Kinds) <= fewNumbers {
		add("kinds:%d", f.Kinds)
	} else if f.Kinds != nil {
		add("kinds:%d", len(f.Kinds))
	}
	for _, c := range f.Tags {
		add("%s:%d", c.Name(), len(c.Values))
	}
	if f.Since != 0 {
		add("since")
	}
	if f.Until != NoUntil {
		add("until")
	}
	if f.Limit != NoLimit {
		add("limit:%d", f.Limit)
	}
	if parts == nil {
		return "all"
	}
	return strings.Join(parts, " ")
}
