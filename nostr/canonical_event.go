package nostr

import (
	"bytes"
	"strconv"

	"wok/packed"
)

// The canonical JSON of an event has one order of keys, no white space and
// canonical texts:
//
//	{"id":"","pubkey":"","created_at":0,"kind":0,"tags":[],"content":"","sig":""}
//
// with 64, 64 and 128 hex digits, so that the keys and the signature stand at
// fixed distances from its ends.
const (
	beforeID        = `{"id":"`
	beforePubkey    = `","pubkey":"`
	beforeCreatedAt = `","created_at":`
	beforeKind      = `,"kind":`
	beforeTags      = `,"tags":`
	beforeContent   = `,"content":`
	beforeSig       = `,"sig":"`
	afterSig        = `"}`

	hexKey = 64  // an id or a public key in hex
	hexSig = 128 // a signature in hex

	atID        = len(beforeID)
	atPubkey    = atID + hexKey + len(beforePubkey)
	atCreatedAt = atPubkey + hexKey + len(beforeCreatedAt)
	tailSize    = len(beforeSig) + hexSig + len(afterSig)
)

// fields are an event's fixed fields: as they are packed and, where that is
// text, as it is read.
type fields struct {
	header     packed.Header
	id, pubkey [hexKey]byte
	sig        [hexSig]byte
}

// appendHead appends the canonical JSON up to the tags.
func (f *fields) appendHead(dst []byte) []byte {
	dst = append(dst, beforeID...)
	dst = append(dst, f.id[:]...)
	dst = append(dst, beforePubkey...)
	dst = append(dst, f.pubkey[:]...)
	dst = append(dst, beforeCreatedAt...)
	dst = strconv.AppendUint(dst, f.header.CreatedAt, 10)
	dst = append(dst, beforeKind...)
	dst = strconv.AppendUint(dst, uint64(f.header.Kind), 10)
	return append(dst, beforeTags...)
}

// appendTail appends the canonical JSON behind the content.
func (f *fields) appendTail(dst []byte) []byte {
	dst = append(dst, beforeSig...)
	dst = append(dst, f.sig[:]...)
	return append(dst, afterSig...)
}

// appendHashed appends the array whose sha256 is the id (01-R1), made of the
// pieces of the canonical JSON: its head, its tags and its content.
func appendHashed(dst, head, tags, content []byte) []byte {
	pubkey := head[atPubkey-1 : atPubkey+hexKey+1] // with its quotes
	numbers := head[atCreatedAt : len(head)-len(beforeTags)]
	createdAt, kind, _ := bytes.Cut(numbers, []byte(beforeKind))

	dst = append(dst, "[0,"...)
	dst = append(dst, pubkey...)
	dst = append(dst, ',')
	dst = append(dst, createdAt...)
	dst = append(dst, ',')
	dst = append(dst, kind...)
	dst = append(dst, ',')
	dst = append(dst, tags...)
	dst = append(dst, ',')
	dst = append(dst, content...)
	return append(dst, ']')
}
