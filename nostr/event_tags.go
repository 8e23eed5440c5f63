package nostr

import (
	"slices"

	"wok/packed"
)

// A tagBuilder makes the canonical JSON and the packed form of an event's tags
// in one go.
type tagBuilder struct {
	json       []byte // canonical, brackets included
	packed     []byte // packed tags, without what settleD adds
	text       []byte // a value with its escapes undone
	expiration uint64 // unix seconds, 0 is never
	firstD     dTag
	firstAt    int  // where the first d stands, or would if bare, in packed
	otherDs    bool // packed has d tags behind the first
}

// A dTag says how the first d tag of an event is written.
type dTag uint8

const (
	absentD dTag = iota
	bareD        // ["d"]
	valuedD      // ["d","value",...]
)

func (b *tagBuilder) reset() {
	*b = tagBuilder{json: kept(b.json), packed: kept(b.packed), text: kept(b.text)}
}

// read reads an array of arrays of strings (01-R8). Any of them may be empty.
func (b *tagBuilder) read(l *lexer, lim *Limits) (spelling, error) {
	if err := l.opens('[', BadTags); err != nil {
		return 0, err
	}
	l.pos++
	var holds spelling
	b.json = append(b.json, '[')
	for i := 0; ; i++ {
		more, err := l.more(i, ']')
		if err != nil {
			return 0, err
		}
		if !more {
			b.json = append(b.json, ']')
			return holds, nil
		}
		if over(i+1, lim.MaxTags) {
			return 0, TooManyTags
		}
		if i > 0 {
			b.json = append(b.json, ',')
		}
		has, err := b.readTag(l, lim)
		if err != nil {
			return 0, err
		}
		holds |= has
	}
}

// A span is where an element's canonical text stands in tagBuilder.json,
// without its quotes.
type span struct {
	from, to int
	has      spelling
}

func (b *tagBuilder) readTag(l *lexer, lim *Limits) (spelling, error) {
	if err := l.opens('[', BadTags); err != nil {
		return 0, err
	}
	l.pos++
	var first [2]span
	var holds spelling
	b.json = append(b.json, '[')
	n := 0
	for ; ; n++ {
		more, err := l.more(n, ']')
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
		if n > 0 {
			b.json = append(b.json, ',')
		}
		s, err := b.readElement(l)
		if err != nil {
			return 0, err
		}
		if n < len(first) {
			first[n] = s
		}
		holds |= s.has
	}
	b.json = append(b.json, ']')
	return holds, b.pack(first, n, lim)
}

// readElement reads one string of a tag.
func (b *tagBuilder) readElement(l *lexer) (span, error) {
	if err := l.opens('"', BadTags); err != nil {
		return span{}, err
	}
	from := len(b.json) + 1
	var has spelling
	var err error
	if b.json, has, err = l.canon(b.json); err != nil {
		return span{}, err
	}
	return span{from, len(b.json) - 1, has}, nil
}

// value returns what the text at s says, valid until the next call.
func (b *tagBuilder) value(s span) []byte {
	text := b.json[s.from:s.to]
	if s.has&escapes == 0 {
		return text
	}
	b.text = appendDecoded(b.text[:0], text)
	return b.text
}

// pack adds the packed form of a tag of n elements, of which the first two are
// given. Only the first value of a tag with a one-letter name is indexed
// (01-R19), in whatever form it is (01-R20).
func (b *tagBuilder) pack(first [2]span, n int, lim *Limits) error {
	if n == 0 {
		return nil
	}
	name := b.json[first[0].from:first[0].to]
	switch {
	case len(name) == 1 && packed.IsLetter(name[0]):
		if name[0] == 'd' {
			b.noteD(n > 1)
		}
		if n == 1 {
			break
		}
		value := b.value(first[1])
		if over(len(value), lim.MaxTagValue) {
			return TagTooLong
		}
		b.packed = packed.AppendTag(b.packed, name[0], value)
	case n > 1 && string(name) == "expiration":
		b.expire(b.value(first[1]))
	}
	return nil
}

func (b *tagBuilder) noteD(valued bool) {
	switch {
	case b.firstD != absentD:
		b.otherDs = b.otherDs || valued
		return
	case valued:
		b.firstD = valuedD
	default:
		b.firstD = bareD
	}
	b.firstAt = len(b.packed)
}

// settleD gives an addressable event one packed d tag, the one that makes its
// address (01-R14). No d, ["d"] and ["d",""] are the same to filters as they are
// to addresses, and further d tags say nothing: so #d finds exactly the address.
// Other kinds have the tags they show.
func (b *tagBuilder) settleD(addressable bool) {
	if !addressable {
		return
	}
	switch b.firstD {
	case absentD:
		b.packed = packed.AppendTag(b.packed, 'd', "")
	case bareD:
		b.packed = slices.Insert(b.packed, b.firstAt, packed.AppendTag(nil, 'd', "")...)
	}
	if b.otherDs {
		b.dropOtherDs()
	}
}

// dropOtherDs takes all d tags but the first out of packed.
func (b *tagBuilder) dropOtherDs() {
	rest := packed.Tags(b.packed[b.firstAt:])
	kept := b.packed[:b.firstAt]
	for first := true; ; {
		t, ok := rest.Next()
		if !ok {
			break
		}
		isD := t.Letter() == 'd'
		if !isD || first {
			kept = append(kept, t...)
		}
		first = first && !isD
	}
	b.packed = kept
}

// expire notes the value of an expiration tag (NIP-40). What is not a number
// of seconds says nothing; of several the earliest counts. Second 0, which is
// past like second 1, is kept as 1, as 0 stands for never.
func (b *tagBuilder) expire(value []byte) {
	sec, ok := parseSeconds(value)
	if !ok {
		return
	}
	sec = max(sec, 1)
	if b.expiration == 0 || sec < b.expiration {
		b.expiration = sec
	}
}

// parseSeconds reads decimal digits and nothing else, up to 2^64-1.
func parseSeconds(text []byte) (uint64, bool) {
	var n number
	l := lexer{data: text}
	if l.digits(&n) != nil || l.pos != len(text) {
		return 0, false
	}
	sec, err := n.uint()
	return sec, err == nil
}
