package nostr

import (
	"math"
	"slices"

	"wok/packed"
)

// FilterLimits bounds what a filter may cost before it is looked at. A zero
// limit is no limit.
type FilterLimits struct {
	MaxBytes  int // of its JSON
	MaxValues int // over all its lists together
	MaxTags   int // tag letters
	// MaxLimit is what a larger limit becomes: asking for more than a relay
	// gives is no error (01-R30).
	MaxLimit int
	// IgnoreUnknown passes over keys that are words unknown to us instead of
	// refusing the filter. Tag conditions that cannot be met, and search, are
	// refused all the same: without them the answer would be another one.
	IgnoreUnknown bool
	// Each lets filters ask for events that have each of several tags: "&t"
	// (NIP-91, a draft).
	Each bool
}

// ParseFilter reads a filter, which must be all of raw. The error is a
// [Refusal]: invalid where the filter is malformed, unsupported where it asks
// for what is not offered, blocked where it exceeds lim. The filter shares
// nothing with raw.
func ParseFilter(raw []byte, lim FilterLimits) (*Filter, error) {
	if lim.MaxBytes > 0 && len(raw) > lim.MaxBytes {
		return nil, lim.tooLong()
	}
	l := lexer{data: raw}
	f, err := l.filter(lim)
	if err == nil {
		err = l.end()
	}
	if err != nil {
		return nil, RefusalOf(err)
	}
	return f, nil
}

func (lim *FilterLimits) tooLong() error {
	return Refuse(PrefixBlocked, "a filter may have %d bytes", lim.MaxBytes)
}

// filter reads a filter.
func (l *lexer) filter(lim FilterLimits) (*Filter, error) {
	if c := l.peek(); c != '{' && c != 0 {
		return nil, Refuse(PrefixInvalid, "a filter must be an object")
	}
	p := filterParser{lexer: *l, lim: lim, f: NewFilter(), start: l.pos}
	if err := p.object(); err != nil {
		return nil, err
	}
	l.pos = p.pos
	p.f.compile()
	return p.f, nil
}

// A filterParser reads one filter.
type filterParser struct {
	lexer
	lim    FilterLimits
	f      *Filter
	start  int    // where the filter begins
	values int    // read so far in all lists
	seen   uint8  // the bits of filterWords that have been keys
	buf    []byte // the string read last
	tags   []byte // the packed tags of the list being read
}

// filterWords are the keys that are no tags. An event has no more, so a filter
// cannot ask for more (search is refused by name).
var filterWords = [...]string{"ids", "authors", "kinds", "since", "until", "limit"}

func (p *filterParser) object() error {
	if err := p.expect('{'); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if p.lim.MaxBytes > 0 && p.pos-p.start > p.lim.MaxBytes {
			return p.lim.tooLong()
		}
		if more, err := p.more(i, '}'); !more {
			return err
		}
		if err := p.member(); err != nil {
			return err
		}
	}
}

// member reads a key and its condition.
func (p *filterParser) member() (err error) {
	if p.buf, err = p.str(p.buf[:0]); err != nil {
		return err
	}
	key := p.buf
	if err := p.expect(':'); err != nil {
		return err
	}
	if len(key) == 2 && packed.IsLetter(key[1]) {
		switch {
		case key[0] == '#':
			return p.tag(key[1])
		case key[0] == '&' && p.lim.Each:
			return p.each(key[1])
		}
	}
	word := slices.Index(filterWords[:], string(key))
	if word < 0 {
		return p.unknown(key)
	}
	if p.seen>>word&1 == 1 {
		return Refuse(PrefixInvalid, "%s stands twice in the filter", filterWords[word])
	}
	p.seen |= 1 << word
	return p.word(filterWords[word])
}

// word reads the condition of one of filterWords.
func (p *filterParser) word(key string) (err error) {
	switch key {
	case "ids":
		p.f.IDs, err = p.keys(key)
	case "authors":
		p.f.Authors, err = p.keys(key)
	case "kinds":
		p.f.Kinds, err = p.kinds(key)
	case "since":
		p.f.Since, err = p.integer(key)
	case "until":
		p.f.Until, err = p.integer(key)
	case "limit":
		p.f.Limit, err = p.limit(key)
	}
	return err
}

// unknown deals with a key that is no condition of ours: tag names longer than
// a letter, which no index holds; "&t" (NIP-91) where it is not offered; search (NIP-50); and anything else.
func (p *filterParser) unknown(key []byte) error {
	word := len(key) > 0 && packed.IsLetter(key[0]) && string(key) != "search"
	if word && p.lim.IgnoreUnknown {
		return p.skip(maxUnknownDepth)
	}
	return Refuse(PrefixUnsupported, "filter key %s", Excerpt(key))
}

// list reads the array behind key, calling value at each of its values.
func (p *filterParser) list(key string, value func() error) error {
	if c := p.peek(); c != '[' && c != 0 {
		return Refuse(PrefixInvalid, "%s must be an array", key)
	}
	if err := p.expect('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if more, err := p.more(i, ']'); !more {
			return err
		}
		p.values++
		if p.lim.MaxValues > 0 && p.values > p.lim.MaxValues {
			return Refuse(PrefixBlocked, "a filter may have %d values", p.lim.MaxValues)
		}
		if err := value(); err != nil {
			return err
		}
	}
}

// text reads a string of the list behind key into buf.
func (p *filterParser) text(key string) (err error) {
	if c := p.peek(); c != '"' && c != 0 {
		return Refuse(PrefixInvalid, "%s must hold strings", key)
	}
	p.buf, err = p.str(p.buf[:0])
	return err
}

// keys reads a list of ids or pubkeys (01-R26).
func (p *filterParser) keys(key string) ([][32]byte, error) {
	keys := [][32]byte{}
	err := p.list(key, func() error {
		if err := p.text(key); err != nil {
			return err
		}
		var k [32]byte
		if !packed.DecodeHex(k[:], p.buf) {
			return p.notHex(key)
		}
		keys = append(keys, k)
		return nil
	})
	return keys, err
}

func (p *filterParser) notHex(key string) error {
	return Refuse(PrefixInvalid, "%s must be 64 lowercase hex digits, not %s", key, Excerpt(p.buf))
}

func (p *filterParser) kinds(key string) ([]uint16, error) {
	kinds := []uint16{}
	err := p.list(key, func() error {
		k, err := p.saturated()
		if err == errNotUint || err == nil && k > packed.MaxKind {
			return Refuse(PrefixInvalid, "kinds must be integers of 0 to %d", packed.MaxKind)
		}
		kinds = append(kinds, uint16(k))
		return err
	})
	return kinds, err
}

// tag reads the condition on the tags of one letter.
func (p *filterParser) tag(letter byte) error {
	key := "#" + string(letter)
	if p.f.Tag(letter) != nil {
		return Refuse(PrefixInvalid, "%s stands twice in the filter", key)
	}
	if p.lim.MaxTags > 0 && len(p.f.Tags) == p.lim.MaxTags {
		return Refuse(PrefixBlocked, "a filter may have %d tag letters", p.lim.MaxTags)
	}
	if len(p.f.Tags) == maxTagConditions {
		return Refuse(PrefixBlocked, "a filter may have %d conditions on tags", maxTagConditions)
	}
	c := TagCondition{Letter: letter}
	before := p.values
	p.tags = p.tags[:0]
	if err := p.list(key, func() error { return p.tagValue(key, &c) }); err != nil {
		return err
	}
	c.Values = splitTags(p.tags, p.values-before)
	p.f.Tags = append(p.f.Tags, c)
	return nil
}

// each reads the tags of one letter of which an event must have all: a condition
// for each of them. An empty list is met by nothing, as any is.
func (p *filterParser) each(letter byte) error {
	key := "&" + string(letter)
	if slices.ContainsFunc(p.f.Tags, func(c TagCondition) bool { return c.Each && c.Letter == letter }) {
		return Refuse(PrefixInvalid, "%s stands twice in the filter", key)
	}
	n := 0
	err := p.list(key, func() error {
		if len(p.f.Tags) == maxTagConditions {
			return Refuse(PrefixBlocked, "a filter may have %d conditions on tags", maxTagConditions)
		}
		c := TagCondition{Letter: letter, Each: true}
		p.tags = p.tags[:0]
		if err := p.tagValue(key, &c); err != nil {
			return err
		}
		c.Values = splitTags(p.tags, 1)
		p.f.Tags = append(p.f.Tags, c)
		n++
		return nil
	})
	if err == nil && n == 0 {
		p.f.Tags = append(p.f.Tags, TagCondition{Letter: letter, Each: true})
	}
	return err
}

// tagValue reads one value of a tag condition to the end of p.tags.
func (p *filterParser) tagValue(key string, c *TagCondition) error {
	if err := p.text(key); err != nil {
		return err
	}
	at := len(p.tags)
	p.tags = packed.AppendTag(p.tags, c.Letter, p.buf)
	form := packed.Tag(p.tags[at:]).Form()
	if (c.Letter == 'e' || c.Letter == 'p') && form != packed.Hex {
		return p.notHex(key)
	}
	if form == packed.Hash {
		c.Long = append(c.Long, string(p.buf))
	}
	return nil
}

// splitTags returns the n packed tags that b consists of, in memory of their
// own that is no larger than they are: filters live long.
func splitTags(b []byte, n int) []packed.Tag {
	values := make([]packed.Tag, 0, n)
	rest := packed.Tags(slices.Clone(b))
	for t, ok := rest.Next(); ok; t, ok = rest.Next() {
		values = append(values, t)
	}
	return values
}

// integer reads any integer from 0, one beyond uint64 as the largest.
func (p *filterParser) integer(key string) (uint64, error) {
	n, err := p.saturated()
	if err == errNotUint {
		err = Refuse(PrefixInvalid, "%s must be an integer from 0", key)
	}
	return n, err
}

func (p *filterParser) limit(key string) (int, error) {
	n, err := p.integer(key)
	most := uint64(math.MaxInt)
	if p.lim.MaxLimit > 0 {
		most = uint64(p.lim.MaxLimit)
	}
	return int(min(n, most)), err
}

// saturated reads an integer like uint, and the largest uint64 where that is
// too small for it. Nobody means 2^64 seconds exactly.
func (l *lexer) saturated() (uint64, error) {
	l.space()
	start := l.pos
	n, err := l.uint()
	if err != errNotUint || l.pos == start {
		return n, err
	}
	l.pos = start
	if big, err := l.number(); err != nil || big.negative || big.exp < 0 {
		return 0, errNotUint
	}
	return math.MaxUint64, nil
}
