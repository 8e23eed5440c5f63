package planner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/bits"

	"wok/nostr"
	"wok/packed"
)

// hllRegisters is the number of registers, one byte each (45-R3).
const hllRegisters = 256

// An hll counts distinct authors (NIP-45): each goes into the register that a
// byte of its key names, which keeps the longest run of zero bits behind it.
// Where the byte stands follows from the filter, so that registers of several
// relays for one filter can be put together.
type hll struct {
	offset    int // of the byte in a pubkey
	registers [hllRegisters]byte
}

// newHLL returns the registers for a request that is eligible, else nil: one
// filter with one value of one tag, and no bounds but kinds. With several
// values, or with bounds that are unlike from one asker to the next, there
// would be nothing to put together.
func newHLL(filters []*nostr.Filter) *hll {
	if len(filters) != 1 {
		return nil
	}
	f := filters[0]
	if f.IDs != nil || f.Authors != nil || f.Since != 0 || f.Until != nostr.NoUntil ||
		len(f.Tags) != 1 || len(f.Tags[0].Values) != 1 {
		return nil
	}
	return &hll{offset: hllOffset(&f.Tags[0])}
}

// hllOffset derives the offset from the one value of a tag condition (45-R5):
// its 33rd hex digit and 8, where a value that is neither an id, a pubkey nor an
// address is hashed first.
func hllOffset(c *nostr.TagCondition) int {
	v := c.Values[0]
	text := v.Value()
	if v.Form() == packed.Hash {
		text = []byte(c.Long[0])
	}
	key := text
	if v.Form() != packed.Hex {
		key = addressee(text)
	}
	const digit = 32
	b := key[digit/2]
	return int(b>>4) + 8
}

// addressee returns the 32 bytes that stand for a text: the pubkey of an
// address, or the hash.
func addressee(text []byte) []byte {
	if parts := bytes.SplitN(text, []byte(":"), 3); len(parts) == 3 {
		if key, err := hex.DecodeString(string(parts[1])); err == nil && len(key) == 32 {
			return key
		}
	}
	sum := sha256.Sum256(text)
	return sum[:]
}

// hllBytes is how many bytes behind the register's are looked at. The NIP does
// not say; implementations agree on seven.
const hllBytes = 7

// add counts an author.
func (h *hll) add(pubkey []byte) {
	zeros := 0
	for _, b := range pubkey[h.offset+1 : h.offset+1+hllBytes] {
		zeros += bits.LeadingZeros8(b)
		if b != 0 {
			break
		}
	}
	r := &h.registers[pubkey[h.offset]]
	*r = max(*r, byte(1+zeros))
}
