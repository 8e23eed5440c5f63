package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

// An event is a signed event. Its parts are JSON values, not what an event may
// have, since relays must be shown events that are wrong.
type event struct {
	id, pubkey, sig string
	createdAt, kind any
	tags, content   any
	json            string // the whole, in the order of the fields of NIP-01
}

// A draft is what a script says of an event.
type draft struct {
	by     *btcec.PrivateKey
	pubkey string // where it is not that of by
	event
	how  spelling
	bits int // leading zero bits that the id must have exactly; -1 for any
}

// try is the word in a draft that is replaced by one number after another
// until the id has the bits.
const try = "TRY"

// maxTries is enough for any number of bits that a script should ask for.
const maxTries = 1 << 20

// sign finishes the event.
func (d *draft) sign() (event, error) {
	e := d.event
	e.pubkey = d.pubkey
	if e.pubkey == "" {
		e.pubkey = pubkeyOf(d.by)
	}
	hash, err := d.mine(&e)
	if err != nil {
		return e, err
	}
	sig, err := schnorr.Sign(d.by, hash[:])
	if err != nil {
		return e, fmt.Errorf("sign: %w", err)
	}
	e.id, e.sig = hex.EncodeToString(hash[:]), hex.EncodeToString(sig.Serialize())
	e.json = e.text()
	return e, nil
}

// mine puts numbers in place of try until the id of e is as the draft wants it,
// and returns the id.
func (d *draft) mine(e *event) (hash [32]byte, err error) {
	if d.bits < 0 {
		return e.hash(d.how), nil
	}
	if !strings.Contains(e.text(), try) {
		return hash, fmt.Errorf("bits without a %s", try)
	}
	for n := range maxTries {
		e.tags, e.content = replaceTry(d.tags, n), replaceTry(d.content, n)
		if hash = e.hash(d.how); zeroBits(hash) == d.bits {
			return hash, nil
		}
	}
	return hash, fmt.Errorf("no id of %d bits found", d.bits)
}

// hash returns the id: the sha256 of the six parts as NIP-01 spells them.
func (e *event) hash(how spelling) [32]byte {
	parts := []any{json.Number("0"), e.pubkey, e.createdAt, e.kind, e.tags, e.content}
	return sha256.Sum256(appendValue(nil, parts, how))
}

func (e *event) text() string {
	b := []byte(`{"id":"` + e.id + `","pubkey":"` + e.pubkey + `","created_at":`)
	b = appendValue(b, e.createdAt, escaped)
	b = append(b, `,"kind":`...)
	b = appendValue(b, e.kind, escaped)
	b = append(b, `,"tags":`...)
	b = appendValue(b, e.tags, escaped)
	b = append(b, `,"content":`...)
	b = appendValue(b, e.content, escaped)
	return string(b) + `,"sig":"` + e.sig + `"}`
}

func replaceTry(v any, n int) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, try, strconv.Itoa(n))
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = replaceTry(e, n)
		}
		return out
	}
	return v
}

func zeroBits(hash [32]byte) (n int) {
	for _, b := range hash {
		n += bits.LeadingZeros8(b)
		if b != 0 {
			break
		}
	}
	return n
}

// keyFor returns a key that depends on the seed and the words only.
func keyFor(words ...string) *btcec.PrivateKey {
	secret := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	key, _ := btcec.PrivKeyFromBytes(secret[:])
	return key
}

func pubkeyOf(key *btcec.PrivateKey) string {
	return hex.EncodeToString(schnorr.SerializePubKey(key.PubKey()))
}
