package index

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"wok/packed"
)

const (
	// PostingSize is the size of a stored posting in bytes.
	PostingSize = 16
	// MaxLevID is the largest local event id (40 bits).
	MaxLevID = 1<<40 - 1
)

// A Posting stands for one event in every list the event belongs to. Stored it
// is 16 bytes, big endian, so that the order of the bytes is the order of the
// postings; in memory it is the same bytes as two integers.
//
//	 0        5    7         12     14     16
//	+--------+----+---------+------+------+
//	| time   |tie | levId   | kind |author|
//	| uint40 |u16 | uint40  | u16  | u16  |
//	+--------+----+---------+------+------+
//
// time is created_at. tie is the complement of the first two bytes of the id,
// so that going down a list meets equal times lowest id first (NIP-01); where
// those two bytes are equal as well, see [Posting.SameTie]. kind is exact;
// author is the first two bytes of the pubkey, a test that lets one in 65536
// strangers pass.
type Posting struct{ Hi, Lo uint64 }

// Newest and Oldest are above and below every posting of an event.
var (
	Newest = Posting{^uint64(0), ^uint64(0)}
	Oldest = Posting{}
)

// NewPosting returns the posting of event v under the local id levID.
func NewPosting(v packed.View, levID uint64) Posting {
	tie := ^binary.BigEndian.Uint16(v.ID())
	author := binary.BigEndian.Uint16(v.Pubkey())
	return Posting{
		Hi: v.CreatedAt()<<24 | uint64(tie)<<8 | levID>>32,
		Lo: levID<<32 | uint64(v.Kind())<<16 | uint64(author),
	}
}

// ReadPosting reads a posting from the first 16 bytes of b.
func ReadPosting(b []byte) Posting {
	_ = b[PostingSize-1]
	return Posting{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// Append appends the 16 bytes of p to dst.
func (p Posting) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, p.Hi)
	return binary.BigEndian.AppendUint64(dst, p.Lo)
}

// Time returns created_at in unix seconds.
func (p Posting) Time() uint64 { return p.Hi >> 24 }

// LevID returns the local event id.
func (p Posting) LevID() uint64 { return p.Hi<<32&MaxLevID | p.Lo>>32 }

// Kind returns the event's kind.
func (p Posting) Kind() uint16 { return uint16(p.Lo >> 16) }

// Author returns the first two bytes of the event's pubkey, big endian.
func (p Posting) Author() uint16 { return uint16(p.Lo) }

// SameTie reports whether p and q have the same time and the same first two
// bytes of id: their order in the lists is then by levId, and only their whole
// ids tell which comes first on the wire.
func (p Posting) SameTie(q Posting) bool { return p.Hi>>8 == q.Hi>>8 }

// Less reports whether p stands below q, that is, is sent after it.
func (p Posting) Less(q Posting) bool {
	return p.Hi < q.Hi || p.Hi == q.Hi && p.Lo < q.Lo
}

// Compare orders postings as their bytes do: -1 where p stands below q.
func (p Posting) Compare(q Posting) int {
	if c := cmp.Compare(p.Hi, q.Hi); c != 0 {
		return c
	}
	return cmp.Compare(p.Lo, q.Lo)
}

// Prev returns the largest value below p, which must not be [Oldest].
func (p Posting) Prev() Posting {
	if p.Lo == 0 {
		p.Hi--
	}
	p.Lo--
	return p
}

func (p Posting) String() string {
	return fmt.Sprintf("time %d tie %04x lev %d kind %d author %04x",
		p.Time(), uint16(p.Hi>>8), p.LevID(), p.Kind(), p.Author())
}

// NotAfter returns a bound at or above every posting with a time of at most
// sec and below every later one.
func NotAfter(sec uint64) Posting {
	if sec >= packed.MaxCreatedAt {
		return Newest
	}
	return Posting{(sec+1)<<24 - 1, ^uint64(0)}
}

// NotBefore returns a bound at or below every posting with a time of at least
// sec and above every earlier one. Past [packed.MaxCreatedAt] there are no
// postings, and the bound is [Newest].
func NotBefore(sec uint64) Posting {
	if sec > packed.MaxCreatedAt {
		return Newest
	}
	return Posting{sec << 24, 0}
}
