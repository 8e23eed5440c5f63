package testdb

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// An Event is an event in plain Go, as JSON has it (NIP-01).
type Event struct {
	ID        string     `json:"id"`
	Pubkey    string     `json:"pubkey"`
	CreatedAt int64      `json:"created_at"`
	Kind      int        `json:"kind"`
	Tags      [][]string `json:"tags"`
	Content   string     `json:"content"`
	Sig       string     `json:"sig"`
}

// Sign returns the JSON of e, without a newline, signed by [Key] number key.
// The pubkey, id and sig of e are not read. The same arguments always give the
// same bytes.
//
//	line := testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: 1700000000, Content: "hi"})
func Sign(key int, e Event) []byte {
	k := Key(key)
	seal(&e, k, nil)
	return e.appendJSON(nil)
}

// seal gives e its pubkey, id and signature. A nil nonce is derived from the
// key and the id, which takes longer than the next one of a walk.
func seal(e *Event, k KeyPair, nonce *KeyPair) {
	e.Pubkey = k.Pubkey()
	id := e.hash()
	e.ID = hex.EncodeToString(id[:])
	if nonce == nil {
		secret := k.secret.Bytes()
		n := newWalk(scalarOf(sha256.Sum256(append(secret[:], id[:]...)))).next()
		nonce = &n
	}
	sig := k.sign(*nonce, id)
	e.Sig = hex.EncodeToString(sig[:])
}

// hash returns the sha256 that is the event's id (01-R1).
func (e *Event) hash() [32]byte { return sha256.Sum256(e.hashed()) }

// hashed returns the JSON array that the id is the hash of.
func (e *Event) hashed() []byte {
	b := make([]byte, 0, 512+2*len(e.Content)+96*len(e.Tags))
	b = append(b, `[0,"`...)
	b = append(b, e.Pubkey...)
	b = append(b, `",`...)
	b = strconv.AppendInt(b, e.CreatedAt, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(e.Kind), 10)
	b = append(b, ',')
	b = appendTags(b, e.Tags)
	b = append(b, ',')
	b = appendString(b, e.Content)
	return append(b, ']')
}

// appendJSON appends e in the canonical order of fields, without spaces, with
// the spelling of strings that the id has.
func (e *Event) appendJSON(b []byte) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, e.ID...)
	b = append(b, `","pubkey":"`...)
	b = append(b, e.Pubkey...)
	b = append(b, `","created_at":`...)
	b = strconv.AppendInt(b, e.CreatedAt, 10)
	b = append(b, `,"kind":`...)
	b = strconv.AppendInt(b, int64(e.Kind), 10)
	b = append(b, `,"tags":`...)
	b = appendTags(b, e.Tags)
	b = append(b, `,"content":`...)
	b = appendString(b, e.Content)
	b = append(b, `,"sig":"`...)
	b = append(b, e.Sig...)
	return append(b, `"}`...)
}

func appendTags(b []byte, tags [][]string) []byte {
	b = append(b, '[')
	for i, tag := range tags {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for j, s := range tag {
			if j > 0 {
				b = append(b, ',')
			}
			b = appendString(b, s)
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

// appendString appends s as a JSON string with the escapes of 01-R2; control
// characters beyond those become \u00xx, as JavaScript spells them (01-R3).
func appendString(b []byte, s string) []byte {
	const short = "btn\x00fr" // escapes of 0x08..0x0d; 0x0b has none
	b = append(b, '"')
	begin := 0 // of the run that needs no escape
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[begin:i]...)
		begin = i + 1
		switch {
		case c >= 0x20:
			b = append(b, '\\', c)
		case c >= 0x08 && c <= 0x0d && c != 0x0b:
			b = append(b, '\\', short[c-0x08])
		default:
			b = append(b, '\\', 'u', '0', '0')
			b = hex.AppendEncode(b, []byte{c})
		}
	}
	b = append(b, s[begin:]...)
	return append(b, '"')
}
