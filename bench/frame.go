package main

import "encoding/binary"

// Opcodes and bits of a frame's header (RFC 6455).
const (
	opText  = 1
	opClose = 8
	opPing  = 9
	opPong  = 10

	finBit  = 0x80
	rsv1Bit = 0x40 // compressed
	maskBit = 0x80
)

// appendFrame appends a frame as a client sends it: first is its first byte. The
// mask is zero, so the payload stands in it as it is.
func appendFrame(dst []byte, first byte, payload []byte) []byte {
	dst = append(dst, first)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, maskBit|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, maskBit|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, maskBit|127), uint64(n))
	}
	return append(append(dst, 0, 0, 0, 0), payload...)
}

// text returns the frame of a message.
func text(payload string) []byte { return appendFrame(nil, finBit|opText, []byte(payload)) }

// A verb is what a relay's message begins with.
type verb byte

const (
	other verb = iota
	event
	eose
	okay
	closed
	notice
)

// verbOf looks at the first bytes of a message. A relay that puts space into its
// messages is not understood.
func verbOf(m []byte) verb {
	if len(m) < 4 || m[0] != '[' || m[1] != '"' {
		return other
	}
	switch [2]byte{m[2], m[3]} {
	case [2]byte{'E', 'V'}:
		return event
	case [2]byte{'E', 'O'}:
		return eose
	case [2]byte{'O', 'K'}:
		return okay
	case [2]byte{'C', 'L'}:
		return closed
	case [2]byte{'N', 'O'}:
		return notice
	}
	return other
}

// okOf reads `["OK","<id>",true,"..."]`. What follows the id is the verdict.
func okOf(m []byte) (id uint64, accepted bool, verdict []byte) {
	const idAt = len(`["OK","`)
	const verdictAt = idAt + 64 + len(`",`)
	if len(m) <= verdictAt {
		return 0, false, nil
	}
	verdict = m[verdictAt:]
	return idOf(m[idAt:]), verdict[0] == 't', verdict
}

// idOf returns the first 64 bits of an id in hex, which are enough to tell the
// events of a run apart. What is no hex gives another number.
func idOf(hex []byte) (id uint64) {
	for _, c := range hex[:16] {
		digit := c - '0'
		if c >= 'a' {
			digit = c - 'a' + 10
		}
		id = id<<4 | uint64(digit&15)
	}
	return id
}
