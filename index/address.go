package index

import (
	"encoding/binary"

	"wok/packed"
)

// A Class says what a relay keeps of a kind (NIP-01).
type Class uint8

// The four classes. Kinds that NIP-01 leaves without one are regular.
const (
	Regular     Class = iota // every event is kept
	Replaceable              // the latest of (pubkey, kind)
	Ephemeral                // sent on, never stored
	Addressable              // the latest of (pubkey, kind, d)
)

// ClassOf returns the class of a kind.
func ClassOf(kind uint16) Class {
	switch {
	case kind == 0 || kind == 3 || kind >= 10000 && kind < 20000:
		return Replaceable
	case kind >= 20000 && kind < 30000:
		return Ephemeral
	case kind >= 30000 && kind < 40000:
		return Addressable
	}
	return Regular
}

// noD is the d tag of an address that has none: an empty value.
var noD = packed.AppendTag(nil, 'd', "")

// AppendAddress appends to dst the key under which all versions of a
// replaceable or addressable event meet: pubkey, kind (big endian) and the d
// tag as packed. A nil d is the empty one, which is what plain replaceable
// kinds always have.
func AppendAddress(dst []byte, pubkey []byte, kind uint16, d packed.Tag) []byte {
	if d == nil || ClassOf(kind) != Addressable {
		d = noD
	}
	dst = append(dst, pubkey...)
	dst = binary.BigEndian.AppendUint16(dst, kind)
	return append(dst, d...)
}

// AddressOf appends the address of event v to dst and reports whether it has
// one, that is, whether its kind is replaceable or addressable. The first d
// tag counts (01-R14).
func AddressOf(dst []byte, v packed.View) ([]byte, bool) {
	switch ClassOf(v.Kind()) {
	case Replaceable:
		return AppendAddress(dst, v.Pubkey(), v.Kind(), nil), true
	case Addressable:
		d, _ := v.First('d')
		return AppendAddress(dst, v.Pubkey(), v.Kind(), d), true
	}
	return dst, false
}
