package nostr

import (
	"crypto/sha256"
	"math/bits"

	"wok/index"
	"wok/packed"
)

// Limits bound an event. Zero is no limit.
type Limits struct {
	// MaxBytes is the largest canonical JSON, in bytes. It is about the event
	// and not about one spelling of it, so that every relay with the same
	// limit keeps the same events; the text that is read must be bounded
	// before, as it is read in any case.
	MaxBytes int
	// MaxTags is the largest number of tags.
	MaxTags int
	// MaxTagValue is the longest value of a single-letter tag, in bytes of
	// UTF-8. Other tags, and what stands behind the value, are not indexed: a
	// zap receipt carries a whole event there.
	MaxTagValue int
}

// maxUnknownDepth bounds the nesting of values under keys that events do not
// have. Nothing known nests deeper than tags do.
const maxUnknownDepth = 64

// A Parser parses events one after another, reusing its working memory: two
// allocations an event. The zero Parser has no limits. It is for one goroutine
// at a time.
type Parser struct {
	Limits Limits

	fields  fields
	seen    field
	content []byte // canonical text
	tags    tagBuilder
	text    []byte // a key or hex text
	head    []byte // canonical JSON up to the tags
	hashed  []byte // what the id is the hash of
	holds   spelling
}

// ParseEvent parses one event as [Parser.Parse] does.
func ParseEvent(raw []byte, lim Limits) (*Event, error) {
	p := Parser{Limits: lim}
	return p.Parse(raw)
}

// Parse returns the event that raw is the JSON of, however it is spelled, with
// nothing but white space around it. The id is computed and compared; the
// signature is not checked, see [Event.Verify]. Keys that NIP-01 does not know
// are dropped. The event does not share memory with raw.
//
// The error is a [Fault] or a [SyntaxError].
func (p *Parser) Parse(raw []byte) (*Event, error) {
	l := lexer{data: raw}
	if err := p.read(&l); err != nil {
		return nil, err
	}
	if err := l.end(); err != nil {
		return nil, err
	}
	return p.finish()
}

// read reads the object at l into p.
func (p *Parser) read(l *lexer) error {
	p.reset()
	if c := l.peek(); c != '{' && c != 0 {
		return NotObject
	}
	if err := l.expect('{'); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := l.more(i, '}')
		if err != nil {
			return err
		}
		if !more {
			return p.seen.missing()
		}
		if err := p.member(l); err != nil {
			return err
		}
	}
}

// maxKept is how much working memory, in bytes, a Parser keeps of each kind. A
// rare huge event must not hold its size for as long as the parser lives.
const maxKept = 128 << 10

func (p *Parser) reset() {
	p.fields = fields{}
	p.seen, p.holds = 0, 0
	p.tags.reset()
	for _, b := range []*[]byte{&p.content, &p.text, &p.head, &p.hashed} {
		*b = kept(*b)
	}
}

func kept(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}

// A field is one key of an event, or a set of them.
type field uint8

const (
	fieldID field = 1 << iota
	fieldPubkey
	fieldCreatedAt
	fieldKind
	fieldTags
	fieldContent
	fieldSig

	fieldsAll = 1<<iota - 1
)

// fieldOf returns the field with the given key, 0 for an unknown one.
func fieldOf(key []byte) field {
	switch string(key) {
	case "id":
		return fieldID
	case "pubkey":
		return fieldPubkey
	case "created_at":
		return fieldCreatedAt
	case "kind":
		return fieldKind
	case "tags":
		return fieldTags
	case "content":
		return fieldContent
	case "sig":
		return fieldSig
	}
	return 0
}

// missing returns the fault of a set that is not whole, nil for a whole one.
func (f field) missing() error {
	faults := [...]Fault{NoID, NoPubkey, NoCreatedAt, NoKind, NoTags, NoContent, NoSig}
	absent := ^f & fieldsAll
	if absent == 0 {
		return nil
	}
	return faults[bits.TrailingZeros8(uint8(absent))]
}

// member reads one key and its value. A key may be spelled with escapes
// (01-R10): it is what it says that may not stand twice.
func (p *Parser) member(l *lexer) error {
	var err error
	if p.text, err = l.str(p.text[:0]); err != nil {
		return err
	}
	if err := l.expect(':'); err != nil {
		return err
	}
	f := fieldOf(p.text)
	if p.seen&f != 0 {
		return DuplicateKey
	}
	p.seen |= f
	if f == 0 {
		return l.skip(maxUnknownDepth)
	}
	return p.value(l, f)
}

// value reads the value of field f.
func (p *Parser) value(l *lexer, f field) error {
	switch v := &p.fields; f {
	case fieldID:
		return p.hex(l, v.header.ID[:], v.id[:], BadID)
	case fieldPubkey:
		return p.hex(l, v.header.Pubkey[:], v.pubkey[:], BadPubkey)
	case fieldSig:
		var sig [64]byte
		return p.hex(l, sig[:], v.sig[:], BadSig)
	case fieldCreatedAt:
		return p.createdAt(l)
	case fieldKind:
		return p.kind(l)
	case fieldTags:
		return p.readTags(l)
	}
	return p.readContent(l)
}

// hex reads a string of exactly as many lowercase hex digits as fill bin
// (01-R5) and keeps them in text too.
func (p *Parser) hex(l *lexer, bin, text []byte, bad error) error {
	if err := l.opens('"', bad); err != nil {
		return err
	}
	from := l.pos + 1
	end := from + len(text)
	if end < len(l.data) && l.data[end] == '"' && packed.DecodeHex(bin, l.data[from:end]) {
		copy(text, l.data[from:end])
		l.pos = end + 1
		return nil
	}
	// It is wrong, or spelled with escapes.
	var err error
	if p.text, err = l.str(p.text[:0]); err != nil {
		return err
	}
	if !packed.DecodeHex(bin, p.text) {
		return bad
	}
	copy(text, p.text)
	return nil
}

// createdAt reads a time (01-R7): postings have 40 bits for it.
func (p *Parser) createdAt(l *lexer) error {
	t, err := l.uint()
	switch {
	case err == errNotUint:
		return BadCreatedAt
	case err != nil:
		return err
	case t > packed.MaxCreatedAt:
		return LateCreatedAt
	}
	p.fields.header.CreatedAt = t
	return nil
}

// kind reads a kind (01-R6).
func (p *Parser) kind(l *lexer) error {
	k, err := l.uint()
	switch {
	case err == errNotUint || err == nil && k > packed.MaxKind:
		return BadKind
	case err != nil:
		return err
	}
	p.fields.header.Kind = uint16(k)
	return nil
}

func (p *Parser) readContent(l *lexer) error {
	if err := l.opens('"', BadContent); err != nil {
		return err
	}
	var err error
	var has spelling
	p.content, has, err = l.canon(p.content)
	p.holds |= has
	return err
}

func (p *Parser) readTags(l *lexer) error {
	has, err := p.tags.read(l, &p.Limits)
	p.holds |= has
	return err
}

// finish checks the id of what was read and builds the event.
func (p *Parser) finish() (*Event, error) {
	p.head = p.fields.appendHead(p.head)
	size := len(p.head) + len(p.tags.json) + len(beforeContent) + len(p.content) + tailSize
	if over(size, p.Limits.MaxBytes) {
		return nil, TooLarge
	}
	if !p.idFits() {
		return nil, WrongID
	}
	h := &p.fields.header
	h.Expiration = p.tags.expiration
	p.tags.settleD(index.ClassOf(h.Kind) == index.Addressable)

	split := packed.HeaderSize + len(p.tags.packed)
	b := make([]byte, 0, split+size)
	b = packed.AppendHeader(b, h)
	b = append(b, p.tags.packed...)
	b = append(b, p.head...)
	b = append(b, p.tags.json...)
	b = append(b, beforeContent...)
	b = append(b, p.content...)
	b = p.fields.appendTail(b)
	return &Event{Packed: packed.View(b[:split:split]), JSON: b[split:]}, nil
}

// idFits reports whether the id is the hash of the event (01-R1). Where the
// event holds control characters that NIP-01 wants verbatim, some libraries
// hash them as \u00xx, and either is right (01-R3).
func (p *Parser) idFits() bool {
	p.hashed = appendHashed(p.hashed[:0], p.head, p.tags.json, p.content)
	if sha256.Sum256(p.hashed) == p.fields.header.ID {
		return true
	}
	if p.holds&controls == 0 {
		return false
	}
	at := len(p.hashed)
	p.hashed = appendVerbatim(p.hashed, p.hashed)
	return sha256.Sum256(p.hashed[at:]) == p.fields.header.ID
}

// over reports whether n is over a limit that may be zero, that is, none.
func over(n, limit int) bool { return limit > 0 && n > limit }
