package index

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"wok/packed"
)

func event(h packed.Header, tags ...string) packed.View {
	b := packed.AppendHeader(nil, &h)
	for _, t := range tags {
		b = packed.AppendTag(b, t[0], t[1:])
	}
	return packed.View(b)
}

func TestPosting(t *testing.T) {
	h := packed.Header{CreatedAt: 0x0102030405, Kind: 0x0a0b, ID: [32]byte{0xff, 0x0f}, Pubkey: [32]byte{0xcc, 0xdd}}
	p := NewPosting(event(h), 0x1112131415)
	want := []byte{1, 2, 3, 4, 5, 0x00, 0xf0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x0a, 0x0b, 0xcc, 0xdd}
	if got := p.Append(nil); !bytes.Equal(got, want) || len(got) != PostingSize {
		t.Errorf("stored as %x, want %x", got, want)
	}
	if got := ReadPosting(want); got != p {
		t.Errorf("read as %v, want %v", got, p)
	}
	if p.Time() != h.CreatedAt || p.LevID() != 0x1112131415 || p.Kind() != h.Kind || p.Author() != 0xccdd {
		t.Error(p)
	}
	if got := p.String(); got != "time 4328719365 tie 00f0 lev 73317684245 kind 2571 author ccdd" {
		t.Error(got)
	}
}

// The extremes of every part come back, and none runs into its neighbour.
func TestPostingExtremes(t *testing.T) {
	for _, full := range []int{0, 1, 2, 3, 4} { // the part that is all ones
		h := packed.Header{ID: [32]byte{0xff, 0xff}} // a tie of zero
		lev := uint64(0)
		switch full {
		case 0:
			h.CreatedAt = packed.MaxCreatedAt
		case 1:
			h.ID = [32]byte{}
		case 2:
			lev = MaxLevID
		case 3:
			h.Kind = packed.MaxKind
		case 4:
			h.Pubkey = [32]byte{0xff, 0xff}
		}
		p := NewPosting(event(h), lev)
		ones := 0
		for i, width := range []int{5, 2, 5, 2, 2} {
			part := p.Append(nil)[ones : ones+width]
			want := byte(0)
			if i == full {
				want = 0xff
			}
			for _, b := range part {
				if b != want {
					t.Errorf("part %d full: part %d is %x", full, i, part)
				}
			}
			ones += width
		}
		if p.Time() != h.CreatedAt || p.LevID() != lev || p.Kind() != h.Kind {
			t.Errorf("part %d: %v", full, p)
		}
	}
}

// Read downwards a list is newest first, and lowest id first in a second
// (01-R29): what Compare says, Less says, and the bytes say.
func TestPostingOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var events []packed.View
	for range 200 {
		h := packed.Header{CreatedAt: r.Uint64N(5) * packed.MaxCreatedAt / 4, Kind: uint16(r.Uint32())}
		for i := range h.ID {
			h.ID[i], h.Pubkey[i] = byte(r.Uint32()), byte(r.Uint32())
		}
		events = append(events, event(h))
	}
	slices.SortFunc(events, func(a, b packed.View) int {
		if a.CreatedAt() != b.CreatedAt() {
			return -1 + 2*btoi(a.CreatedAt() < b.CreatedAt())
		}
		return bytes.Compare(a.ID(), b.ID())
	})
	for i := 1; i < len(events); i++ {
		first, second := NewPosting(events[i-1], r.Uint64N(MaxLevID)), NewPosting(events[i], r.Uint64N(MaxLevID))
		if first.SameTie(second) {
			continue // their order is by levId, see SameTie
		}
		if !second.Less(first) || first.Less(second) || first.Less(first) {
			t.Errorf("%v is not below %v", second, first)
		}
		if second.Compare(first) != -1 || first.Compare(second) != 1 || first.Compare(first) != 0 {
			t.Errorf("%v and %v compare otherwise", second, first)
		}
		if bytes.Compare(second.Append(nil), first.Append(nil)) != -1 {
			t.Errorf("the bytes of %v are not below those of %v", second, first)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestSameTie(t *testing.T) {
	p := NewPosting(event(packed.Header{CreatedAt: 7, ID: [32]byte{1, 2, 3}, Kind: 1}), 1)
	for _, c := range []struct {
		h    packed.Header
		lev  uint64
		want bool
	}{
		{packed.Header{CreatedAt: 7, ID: [32]byte{1, 2, 9}, Kind: 9, Pubkey: [32]byte{9}}, MaxLevID, true},
		{packed.Header{CreatedAt: 8, ID: [32]byte{1, 2, 3}}, 1, false},
		{packed.Header{CreatedAt: 7, ID: [32]byte{1, 3}}, 1, false},
	} {
		if q := NewPosting(event(c.h), c.lev); p.SameTie(q) != c.want || q.SameTie(p) != c.want {
			t.Errorf("%v and %v: %v", p, q, !c.want)
		}
	}
}

// 01-R27: both ends belong to the range.
func TestBounds(t *testing.T) {
	at := func(sec, lev uint64, id byte) Posting {
		return NewPosting(event(packed.Header{CreatedAt: sec, ID: [32]byte{id, id}, Kind: packed.MaxKind * uint16(lev&1), Pubkey: [32]byte{id, id}}), lev)
	}
	for _, sec := range []uint64{0, 1, 1700000000, packed.MaxCreatedAt - 1, packed.MaxCreatedAt} {
		for _, p := range []Posting{at(sec, 1, 0), at(sec, MaxLevID, 0xff), at(sec, 0, 0xff)} {
			if NotAfter(sec).Less(p) || p.Less(NotBefore(sec)) {
				t.Errorf("second %d does not hold %v", sec, p)
			}
			if sec > 0 && !NotAfter(sec-1).Less(p) {
				t.Errorf("second %d holds %v", sec-1, p)
			}
			if sec < packed.MaxCreatedAt && !p.Less(NotBefore(sec+1)) {
				t.Errorf("second %d holds %v", sec+1, p)
			}
		}
	}
	for _, sec := range []uint64{packed.MaxCreatedAt + 1, 1<<64 - 1} {
		if NotBefore(sec) != Newest || NotAfter(sec) != Newest {
			t.Errorf("second %d: %v, %v", sec, NotBefore(sec), NotAfter(sec))
		}
	}
	if NotBefore(0) != Oldest {
		t.Error(NotBefore(0))
	}
}

func TestPrev(t *testing.T) {
	for _, p := range []Posting{Newest, {1, 0}, {1, 1}, {0, 1}, {1 << 63, 0}} {
		q := p.Prev()
		if !q.Less(p) {
			t.Errorf("%v is not below %v", q, p)
		}
		if q.Lo+1 != p.Lo || p.Lo != 0 && q.Hi != p.Hi || p.Lo == 0 && q.Hi+1 != p.Hi {
			t.Errorf("%v is not next to %v", q, p)
		}
	}
}
