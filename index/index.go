package index

import (
	"encoding/binary"
	"slices"

	"wok/packed"
)

// An ID names one index. The constants are generated from golpe.yaml; the
// numbers are those of today's build and are never stored.
type ID uint8

// A Part is one component of an index's key.
type Part uint8

// The parts a key can be made of. A key holds them in the order the index
// declares; all but [Tag] have a fixed size.
const (
	// Every is one zero byte, the same for every event: the one list of all.
	Every Part = iota
	// Pubkey is the author's 32 bytes.
	Pubkey
	// Kind is the kind, two bytes, big endian.
	Kind
	// Tag is one packed tag. An event has a key for each distinct tag.
	Tag
)

// A Def declares one index.
type Def struct {
	ID    ID
	Name  string // the table's name in the database
	Table TableID
	Parts []Part // what a key is made of; at most one Tag, and it stands last
	Help  string
}

// HasTag reports whether the keys of the index hold a tag, so that an event
// may have none or many of them.
func (d *Def) HasTag() bool { return slices.Contains(d.Parts, Tag) }

// AppendKey appends to dst the key of the index for an event's pubkey, kind
// and tag. Parts that the index does not have are not looked at.
func (d *Def) AppendKey(dst []byte, pubkey []byte, kind uint16, tag packed.Tag) []byte {
	for _, p := range d.Parts {
		switch p {
		case Every:
			dst = append(dst, 0)
		case Pubkey:
			dst = append(dst, pubkey...)
		case Kind:
			dst = binary.BigEndian.AppendUint16(dst, kind)
		case Tag:
			dst = append(dst, tag...)
		}
	}
	return dst
}

// A Row is one place where an event's posting stands.
type Row struct {
	Index ID
	Key   []byte
}

// Rows appends to dst every row of event v, each once, in the order of the
// index table. Keys are appended to arena, which is returned grown: rows are
// valid until the caller reuses it.
func Rows(dst []Row, arena []byte, v packed.View) ([]Row, []byte) {
	for i := range All {
		d := &All[i]
		if !d.HasTag() {
			at := len(arena)
			arena = d.AppendKey(arena, v.Pubkey(), v.Kind(), nil)
			dst = append(dst, Row{d.ID, arena[at:len(arena):len(arena)]})
			continue
		}
		first := len(dst)
		ts := v.Tags()
		for t, ok := ts.Next(); ok; t, ok = ts.Next() {
			at := len(arena)
			arena = d.AppendKey(arena, v.Pubkey(), v.Kind(), t)
			dst = append(dst, Row{d.ID, arena[at:len(arena):len(arena)]})
		}
		dst = dst[:first+distinct(dst[first:])]
	}
	return dst, arena
}

// distinct moves the rows with distinct keys to the front, in order of first
// appearance where there are few, and returns how many there are. Follow lists
// with thousands of tags must not cost the square of that.
func distinct(rows []Row) int {
	const few = 16
	if len(rows) > few {
		slices.SortFunc(rows, func(a, b Row) int { return slices.Compare(a.Key, b.Key) })
		return len(slices.CompactFunc(rows, func(a, b Row) bool { return slices.Equal(a.Key, b.Key) }))
	}
	n := 0
	for _, r := range rows {
		if !slices.ContainsFunc(rows[:n], func(q Row) bool { return slices.Equal(q.Key, r.Key) }) {
			rows[n] = r
			n++
		}
	}
	return n
}
