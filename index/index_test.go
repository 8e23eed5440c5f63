package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wok/packed"
)

const someKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestRows(t *testing.T) {
	h := packed.Header{CreatedAt: 5, Kind: 0x0102}
	h.Pubkey[0], h.Pubkey[31] = 0xaa, 0xbb
	v := event(h, "tx", "e"+someKey, "tx", "tX", "Tx", "e"+someKey, "t")
	rows, arena := Rows(nil, nil, v)
	pubkey, kind := fmt.Sprintf("%x", h.Pubkey), "0102"
	want := []string{
		"created_at 00",
		"pubkey " + pubkey,
		"kind " + kind,
		"pubkeyKind " + pubkey + kind,
		fmt.Sprintf("tag %x", packed.AppendTag(nil, 't', "x")),
		fmt.Sprintf("tag %x", packed.AppendTag(nil, 'e', someKey)),
		fmt.Sprintf("tag %x", packed.AppendTag(nil, 't', "X")),
		fmt.Sprintf("tag %x", packed.AppendTag(nil, 'T', "x")),
		fmt.Sprintf("tag %x", packed.AppendTag(nil, 't', "")),
	}
	if got := basic(rows); !slices.Equal(got, want) {
		t.Errorf("rows\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// The same memory serves the next event.
	again, _ := Rows(rows[:0], arena[:0], event(packed.Header{Kind: 9}))
	want = []string{"created_at 00", "pubkey " + strings.Repeat("00", 32), "kind 0009", "pubkeyKind " + strings.Repeat("00", 32) + "0009"}
	if got := basic(again); !slices.Equal(got, want) {
		t.Errorf("rows\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// basic writes the rows of the indexes that there always were; golpe.yaml may
// declare more.
func basic(rows []Row) []string {
	var out []string
	for _, r := range rows {
		switch r.Index {
		case CreatedAt, ByPubkey, ByKind, ByPubkeyKind, ByTag:
			out = append(out, fmt.Sprintf("%s %x", All[r.Index].Name, r.Key))
		}
	}
	return out
}

// Rows of one event are distinct, few or many, and none is lost.
func TestRowsDistinct(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 18, 100, 3000} {
		var tags []string
		want := make(map[string]bool)
		for i := range n {
			tag := fmt.Sprintf("p%064x", i*7%(n/2+1))
			want[tag] = true
			tags = append(tags, tag)
		}
		rows, _ := Rows(nil, nil, event(packed.Header{Kind: 3}, tags...))
		seen := make(map[string]bool)
		for _, r := range rows {
			if r.Index != ByTag {
				continue
			}
			tag := packed.Tag(r.Key)
			name := fmt.Sprintf("%c%x", tag.Letter(), tag.Value())
			if seen[name] || !want[name] {
				t.Errorf("%d tags: row %s is too much", n, name)
			}
			seen[name] = true
		}
		if len(seen) != len(want) {
			t.Errorf("%d tags: %d rows, want %d", n, len(seen), len(want))
		}
	}
}

// A key belongs to its row alone: appending to it must not write into the next.
func TestRowKeysAreClipped(t *testing.T) {
	rows, _ := Rows(nil, nil, event(packed.Header{}, "ta", "tb"))
	for i, r := range rows {
		if cap(r.Key) != len(r.Key) {
			t.Errorf("row %d has room for %d bytes behind it", i, cap(r.Key)-len(r.Key))
		}
	}
}

// All has each index at its own number, with a tag nowhere but last.
func TestAll(t *testing.T) {
	names := make(map[string]bool)
	for i := range All {
		d := &All[i]
		if int(d.ID) != i || names[d.Name] || d.Name == "" || len(d.Parts) == 0 {
			t.Errorf("index %d: %+v", i, *d)
		}
		names[d.Name] = true
		for j, p := range d.Parts {
			if p == Tag && j != len(d.Parts)-1 {
				t.Errorf("%s: a tag does not stand last", d.Name)
			}
		}
	}
}

func TestRowsDoNotAllocate(t *testing.T) {
	var few, many []string
	for i := range 800 {
		many = append(many, fmt.Sprintf("p%064x", i))
	}
	few = many[:7]
	for _, tags := range [][]string{few, many} {
		v := event(packed.Header{Kind: 3}, tags...)
		rows, arena := Rows(nil, nil, v)
		if n := testing.AllocsPerRun(20, func() { Rows(rows[:0], arena[:0], v) }); n > 0 {
			t.Errorf("%d tags: %v allocations", len(tags), n)
		}
	}
}

// 01-R11 to 01-R15.
func TestClassOf(t *testing.T) {
	for _, c := range []struct {
		from, to uint16
		want     Class
	}{
		{0, 0, Replaceable}, {1, 2, Regular}, {3, 3, Replaceable}, {4, 44, Regular}, {45, 999, Regular}, {1000, 9999, Regular},
		{10000, 19999, Replaceable}, {20000, 29999, Ephemeral}, {30000, 39999, Addressable}, {40000, 65535, Regular},
	} {
		for k := int(c.from); k <= int(c.to); k++ {
			if got := ClassOf(uint16(k)); got != c.want {
				t.Fatalf("kind %d is %d, want %d", k, got, c.want)
			}
		}
	}
}

func TestAddressOf(t *testing.T) {
	pubkey := [32]byte{0xaa, 31: 0xbb}
	address := func(kind uint16, d string) []byte {
		b := binary.BigEndian.AppendUint16(bytes.Clone(pubkey[:]), kind)
		return packed.AppendTag(b, 'd', d)
	}
	long := strings.Repeat("x", packed.MaxText)
	for _, c := range []struct {
		name string
		kind uint16
		tags []string
		want []byte
	}{
		{"regular", 1, []string{"dx"}, nil},
		{"ephemeral", 20000, []string{"dx"}, nil},
		{"01-R12 replaceable", 0, nil, address(0, "")},
		{"01-R12 replaceable, d says nothing", 10002, []string{"dx"}, address(10002, "")},
		{"01-R14 addressable", 30023, []string{"ty", "dx", "dz"}, address(30023, "x")},
		{"01-R14 empty d", 30023, []string{"d", "dz"}, address(30023, "")},
		{"01-R14 no d", 30023, []string{"ty"}, address(30023, "")},
		{"d with colons", 30023, []string{"da:b:c"}, address(30023, "a:b:c")},
		{"d that is an id", 30023, []string{"d" + someKey}, address(30023, someKey)},
		{"01-R18 long d", 30023, []string{"d" + long + "1"}, address(30023, long+"1")},
	} {
		v := event(packed.Header{Kind: c.kind, Pubkey: pubkey}, c.tags...)
		got, ok := AddressOf([]byte("before"), v)
		if !bytes.Equal(got, append([]byte("before"), c.want...)) || ok != (c.want != nil) {
			t.Errorf("%s: %x %v, want %x", c.name, got, ok, c.want)
		}
	}
	if a, b := address(30023, long+"1"), address(30023, long+"2"); bytes.Equal(a, b) {
		t.Error("long d values share an address")
	}
	if a, b := AppendAddress(nil, pubkey[:], 10002, packed.AppendTag(nil, 'd', "x")), address(10002, ""); !bytes.Equal(a, b) {
		t.Errorf("replaceable with d: %x, want %x", a, b)
	}
}

func BenchmarkRows(b *testing.B) {
	for _, n := range []int{7, 800} {
		var tags []string
		for i := range n {
			tags = append(tags, fmt.Sprintf("p%064x", i*i))
		}
		v := event(packed.Header{Kind: 3}, tags...)
		b.Run(fmt.Sprintf("tags=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var rows []Row
			var arena []byte
			for b.Loop() {
				rows, arena = Rows(rows[:0], arena[:0], v)
			}
		})
	}
}
