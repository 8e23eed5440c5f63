package strfry

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"

	"wok/nostr"
	"wok/packed"
)

const (
	// maxTagValue is the longest value of a tag that strfry packs, in bytes.
	maxTagValue = 255
	// ephemeral is the expiration of an event that is not to be kept; a real
	// one is at least minExpiration.
	ephemeral     = 1
	minExpiration = 100
)

// AppendPacked appends the event in strfry's packed form to dst: the header is
// that of package packed, and so is the shape of a tag,
//
//	byte 0     name, any single byte
//	byte 1     n, the length of the value in bytes
//	byte 2..   value: n bytes
//
// but the values of e and p tags are 32 bytes and all others text, of which
// those over 255 bytes are left out; replaceable events begin with an empty d
// and addressable ones end with one.
//
// An e or p that is no id, for which strfry refuses an event that comes as JSON
// alone, is left out too.
func AppendPacked(dst []byte, ev *nostr.Event) []byte {
	at := len(dst)
	v := ev.Packed
	kind := v.Kind()
	dst = append(dst, v[:packed.HeaderSize]...)
	if replaceable(kind) {
		dst = append(dst, 'd', 0)
	}
	expiration := uint64(0)
	for tag := range ev.Tags() {
		if len(tag) == 0 {
			continue
		}
		value := []byte(nil)
		if len(tag) > 1 {
			value = tag[1]
		}
		switch {
		case len(tag[0]) == 1:
			dst = appendTag(dst, tag[0][0], value)
		case string(tag[0]) == "expiration" && expiration == 0:
			expiration = parseExpiration(value)
		}
	}
	switch {
	case addressable(kind):
		dst = append(dst, 'd', 0)
	case kind >= 20000 && kind < 30000:
		expiration = ephemeral
	}
	binary.LittleEndian.PutUint64(dst[at+packed.HeaderSize-8:], expiration)
	return dst
}

func replaceable(kind uint16) bool {
	return kind == 0 || kind == 3 || kind == 41 || kind >= 10000 && kind < 20000
}

func addressable(kind uint16) bool { return kind >= 30000 && kind < 40000 }

// appendTag appends a tag if it can be packed.
func appendTag(dst []byte, name byte, value []byte) []byte {
	if name == 'e' || name == 'p' {
		var id [32]byte
		if len(value) != 2*len(id) {
			return dst
		}
		if _, err := hex.Decode(id[:], value); err != nil {
			return dst
		}
		value = id[:]
	}
	if len(value) > maxTagValue {
		return dst
	}
	dst = append(dst, name, byte(len(value)))
	return append(dst, value...)
}

// parseExpiration returns the time that a tag names, 0 if it names none.
func parseExpiration(text []byte) uint64 {
	n := uint64(0)
	for _, c := range text {
		digit := uint64(c - '0')
		if c < '0' || c > '9' || n > (1<<64-1-digit)/10 {
			return 0
		}
		n = 10*n + digit
	}
	if n < minExpiration {
		return 0
	}
	return n
}

// beforePacked stands between the last field of an event and its packed form in
// hex, behind which stands afterPacked.
const (
	beforePacked = `,"fried":"`
	afterPacked  = `"}`
)

// AppendFried appends the JSON of the event with its packed form as one more
// field, the last one.
func AppendFried(dst []byte, ev *nostr.Event) []byte {
	dst = append(dst, ev.JSON[:len(ev.JSON)-len("}")]...)
	dst = append(dst, beforePacked...)
	dst = hex.AppendEncode(dst, AppendPacked(nil, ev))
	return append(dst, afterPacked...)
}

// What a line with a packed form is refused for.
var (
	errNotFried = nostr.Refuse(nostr.PrefixInvalid, "the packed form is not hex of an event")
	errOther    = nostr.Refuse(nostr.PrefixInvalid, "the packed form is of another event")
)

// CheckFried compares the packed form that stands in raw, the text of ev, with
// ev: whether both are of one id, author, time and kind. A text without one
// passes.
//
// Nothing is ever taken from the packed form, so it can say no more than that
// the line was tampered with. To believe it would save what parsing and hashing
// cost, a tenth of what verifying does.
func CheckFried(raw []byte, ev *nostr.Event) error {
	text, ok := bytes.CutSuffix(raw, []byte(afterPacked))
	at := bytes.LastIndex(text, []byte(beforePacked))
	if !ok || at < 0 {
		return nil
	}
	text = text[at+len(beforePacked):]
	const compared = packed.HeaderSize - 8 // expiration is not always what wok takes it for
	var head [compared]byte
	if len(text) < 2*packed.HeaderSize || len(text)%2 != 0 {
		return errNotFried
	}
	if _, err := hex.Decode(head[:], text[:2*compared]); err != nil {
		return errNotFried
	}
	if !bytes.Equal(head[:], ev.Packed[:compared]) {
		return errOther
	}
	return nil
}
