package nostr

import (
	"bytes"
	"encoding/hex"
	"iter"

	"wok/packed"
)

// An Event is a valid event but for its signature, which Verify checks. It is
// not to be changed, and may be read by many at once.
type Event struct {
	// Packed is what can be asked about the event.
	Packed packed.View
	// JSON is the whole event in its canonical form, without a newline:
	//
	//	{"id":"","pubkey":"","created_at":0,"kind":0,"tags":[],"content":"","sig":""}
	JSON []byte
}

// ID returns the event's id as 64 hex digits.
func (e *Event) ID() string { return hex.EncodeToString(e.Packed.ID()) }

// Sig returns the signature.
func (e *Event) Sig() (sig [64]byte) {
	at := len(e.JSON) - len(afterSig) - hexSig
	packed.DecodeHex(sig[:], e.JSON[at:at+hexSig])
	return sig
}

// Verify checks the signature over the id (BIP-340, 01-R4). The error is
// [BadSignature] or nil.
func (e *Event) Verify() error {
	sig := e.Sig()
	if !verify((*[32]byte)(e.Packed.Pubkey()), (*[32]byte)(e.Packed.ID()), &sig) {
		return BadSignature
	}
	return nil
}

// Tags yields every tag with all its elements, as they read in the event: also
// those that have no packed form, or one that cannot be told, as a hash. A tag
// may have no elements. What is yielded is valid until the next one.
func (e *Event) Tags() iter.Seq[[][]byte] {
	return func(yield func([][]byte) bool) {
		l := e.tags()
		if l.expect('[') != nil {
			return // canonical JSON has no faults
		}
		var r tagReader
		for i := 0; ; i++ {
			more, err := l.more(i, ']')
			if !more || err != nil || r.read(&l) != nil || !yield(r.tag) {
				return
			}
		}
	}
}

// Content appends the event's content, as it reads, to dst.
func (e *Event) Content(dst []byte) []byte {
	l := e.tags()
	if l.skip(2) != nil || l.expect(',') != nil || l.key() != nil {
		return dst
	}
	dst, _ = l.str(dst) // canonical JSON has no faults
	return dst
}

// tags returns a lexer that stands before the tags.
func (e *Event) tags() lexer {
	at := bytes.Index(e.JSON[atCreatedAt:], []byte(beforeTags))
	return lexer{data: e.JSON, pos: atCreatedAt + at + len(beforeTags)}
}

// A tagReader reads tags, one in the place of the other.
type tagReader struct {
	tag  [][]byte
	text []byte // decoded elements that differ from their JSON
}

// read reads one tag of canonical JSON. Elements without escapes are slices of
// that JSON.
func (r *tagReader) read(l *lexer) error {
	r.tag, r.text = r.tag[:0], r.text[:0]
	if err := l.expect('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := l.more(i, ']')
		if !more || err != nil {
			return err
		}
		element, err := r.element(l)
		if err != nil {
			return err
		}
		r.tag = append(r.tag, element)
	}
}

func (r *tagReader) element(l *lexer) ([]byte, error) {
	n := 0
	if l.peek() == '"' {
		n, _ = verbatim(l.data[l.pos+1:])
	}
	from := l.pos + 1
	if end := from + n; end < len(l.data) && l.data[end] == '"' {
		l.pos = end + 1
		return l.data[from:end:end], nil
	}
	at := len(r.text)
	var err error
	r.text, err = l.str(r.text) // where this grows, earlier elements keep the old bytes
	return r.text[at:len(r.text):len(r.text)], err
}
