package packed

import (
	"crypto/sha256"
	"fmt"
)

// A Form says how the value of a tag is spelled in a packed event. The form is
// part of the tag's first byte, so that equal bytes always mean equal tags: a
// text of 32 bytes never equals an id, and neither equals a hash.
type Form byte

// The three forms. Their numbers are the top two bits of a packed tag; 00 is
// never written, so zeroed memory is not a valid tag.
const (
	Text Form = 1 // the value itself, 0 to 255 bytes
	Hash Form = 2 // sha256 of a value longer than 255 bytes
	Hex  Form = 3 // 32 bytes written as 64 lowercase hex digits
)

func (f Form) String() string {
	switch f {
	case Text:
		return "text"
	case Hash:
		return "hash"
	case Hex:
		return "hex"
	}
	return fmt.Sprintf("form %d", byte(f))
}

const (
	// MaxText is the longest tag value, in bytes, that is kept as it is.
	MaxText = 255
	// MaxTag is the longest packed tag, in bytes.
	MaxTag = 2 + MaxText

	letterBits = 0x3f
)

// A Tag is one packed tag, borrowed from the event it stands in:
//
//	byte 0     form in the top two bits, the letter's low six bits below
//	byte 1     n, the length of the value in bytes
//	byte 2..   value: n bytes
//
// Every ASCII letter has bit 6 set and bit 7 clear, which is form [Text]; a
// text tag therefore begins with its letter as it is. The bytes of a Tag are
// also its key in the tag index, and because the length stands in front no key
// is a prefix of another.
type Tag []byte

// Letter returns the tag's name, one of a-z and A-Z.
func (t Tag) Letter() byte { return t[0]&letterBits | 0x40 }

// Form returns how the value is spelled.
func (t Tag) Form() Form { return Form(t[0] >> 6) }

// Value returns the bytes of the value in the tag's form, borrowed.
func (t Tag) Value() []byte { return t[2:] }

// String returns the tag as a person reads it; a hashed value, which cannot be
// told, is shown as sha256:HEX.
func (t Tag) String() string {
	switch t.Form() {
	case Text:
		return fmt.Sprintf("%c %q", t.Letter(), t.Value())
	case Hash:
		return fmt.Sprintf("%c sha256:%x", t.Letter(), t.Value())
	}
	return fmt.Sprintf("%c %x", t.Letter(), t.Value())
}

// IsLetter reports whether c may name a packed tag: a-z or A-Z (NIP-01).
func IsLetter(c byte) bool {
	c |= 0x20
	return c >= 'a' && c <= 'z'
}

// AppendTag appends the tag named letter with the given value to dst in the
// one form that fits the value. The letter must satisfy [IsLetter].
func AppendTag[T string | []byte](dst []byte, letter byte, value T) []byte {
	switch {
	case len(value) > MaxText:
		sum := sha256.Sum256([]byte(value))
		dst = append(dst, tagName(letter, Hash), sha256.Size)
		return append(dst, sum[:]...)
	case len(value) == 64:
		var bin [32]byte
		if DecodeHex(bin[:], []byte(value)) {
			dst = append(dst, tagName(letter, Hex), 32)
			return append(dst, bin[:]...)
		}
	}
	dst = append(dst, tagName(letter, Text), byte(len(value)))
	return append(dst, value...)
}

func tagName(letter byte, f Form) byte { return letter&letterBits | byte(f)<<6 }

// Tags is what is left to read of a packed event's tags. Reading it consumes
// it; assign it to go back.
type Tags []byte

// Next returns the next tag, borrowed, and false at the end. The bytes must be
// those of a valid event, see [Parse]; of others, which only a damaged disk has,
// it is the end where a tag is cut.
func (ts *Tags) Next() (Tag, bool) {
	b := *ts
	if len(b) < 2 {
		return nil, false
	}
	n := 2 + int(b[1])
	if n > len(b) {
		return nil, false
	}
	*ts = b[n:]
	return Tag(b[:n:n]), true
}

// checkTag returns the length of the tag at the start of b, or what is wrong
// with it.
func checkTag(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, fmt.Errorf("%d stray bytes", len(b))
	}
	n := 2 + int(b[1])
	if n > len(b) {
		return 0, fmt.Errorf("value of %d bytes is cut to %d", n-2, len(b)-2)
	}
	t := Tag(b[:n])
	if !IsLetter(t.Letter()) {
		return 0, fmt.Errorf("name byte %#02x is no letter", b[0])
	}
	switch t.Form() {
	case Text:
		var bin [32]byte
		if DecodeHex(bin[:], t.Value()) {
			return 0, fmt.Errorf("tag %s is hex spelled as text", t)
		}
	case Hex, Hash:
		if n != 2+32 {
			return 0, fmt.Errorf("%s value of %d bytes", t.Form(), n-2)
		}
	default:
		return 0, fmt.Errorf("name byte %#02x has no form", b[0])
	}
	return n, nil
}
