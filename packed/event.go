package packed

import (
	"encoding/binary"
	"fmt"
)

// Offsets of the header's fields in bytes. Integers are little endian on every
// machine.
const (
	offID         = 0
	offPubkey     = 32
	offCreatedAt  = 64
	offKind       = 72
	offExpiration = 80

	// HeaderSize is the size of the fixed part in bytes; the tags follow.
	HeaderSize = 88
)

const (
	// MaxCreatedAt is the latest created_at, in unix seconds, that a posting
	// can hold (40 bits).
	MaxCreatedAt = 1<<40 - 1
	// MaxKind is the largest kind (NIP-01).
	MaxKind = 1<<16 - 1
)

// A Header holds the fixed fields of an event while it is built.
type Header struct {
	ID         [32]byte
	Pubkey     [32]byte
	CreatedAt  uint64 // unix seconds
	Kind       uint16
	Expiration uint64 // unix seconds; 0 is never (NIP-40)
}

// AppendHeader appends the 88 bytes of h to dst. Tags follow by [AppendTag].
func AppendHeader(dst []byte, h *Header) []byte {
	dst = append(dst, h.ID[:]...)
	dst = append(dst, h.Pubkey[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, h.CreatedAt)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Kind))
	return binary.LittleEndian.AppendUint64(dst, h.Expiration)
}

// A View is a packed event, read in place:
//
//	 0        32       64          72      80          88
//	+--------+--------+-----------+-------+-----------+--- - - -
//	| id     | pubkey | created_at| kind  | expiration| tags
//	+--------+--------+-----------+-------+-----------+--- - - -
//
// A view over store memory is valid until its transaction ends; Clone keeps
// it. The methods expect a valid event: bytes from outside go through [Parse].
type View []byte

// Parse checks that b is exactly one valid packed event and returns it as a
// view that shares b.
func Parse(b []byte) (View, error) {
	if len(b) < HeaderSize {
		return nil, fmt.Errorf("packed event of %d bytes is shorter than its header", len(b))
	}
	v := View(b)
	if k := v.u64(offKind); k > MaxKind {
		return nil, fmt.Errorf("packed event has kind %d", k)
	}
	if t := v.CreatedAt(); t > MaxCreatedAt {
		return nil, fmt.Errorf("packed event has created_at %d", t)
	}
	for at := HeaderSize; at < len(b); {
		n, err := checkTag(b[at:])
		if err != nil {
			return nil, fmt.Errorf("packed event, tag at byte %d: %w", at, err)
		}
		at += n
	}
	return v, nil
}

func (v View) u64(off int) uint64 { return binary.LittleEndian.Uint64(v[off:]) }

// ID returns the event's id: 32 bytes, borrowed.
func (v View) ID() []byte { return v[offID:offPubkey:offPubkey] }

// Pubkey returns the author's key: 32 bytes, borrowed.
func (v View) Pubkey() []byte { return v[offPubkey:offCreatedAt:offCreatedAt] }

// CreatedAt returns created_at in unix seconds, at most [MaxCreatedAt].
func (v View) CreatedAt() uint64 { return v.u64(offCreatedAt) }

// Kind returns the event's kind.
func (v View) Kind() uint16 { return binary.LittleEndian.Uint16(v[offKind:]) }

// Expiration returns when the event expires in unix seconds, 0 for never.
func (v View) Expiration() uint64 { return v.u64(offExpiration) }

// Expired reports whether the event has expired at now, in unix seconds
// (NIP-40): it is gone in the second its expiration names.
func (v View) Expired(now uint64) bool {
	e := v.Expiration()
	return e != 0 && e <= now
}

// Tags returns the event's packed tags in their order in the event, borrowed.
func (v View) Tags() Tags { return Tags(v[HeaderSize:]) }

// First returns the first tag with the given letter, borrowed, and whether
// there is one.
func (v View) First(letter byte) (Tag, bool) {
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		if t.Letter() == letter {
			return t, true
		}
	}
	return nil, false
}

// Clone returns a copy that outlives the transaction the view came from.
func (v View) Clone() View { return append(View(nil), v...) }
