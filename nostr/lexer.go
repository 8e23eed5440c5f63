package nostr

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// A SyntaxError says that bytes from outside are not the JSON they should be.
// What is one of a fixed set of short texts and holds none of the input.
type SyntaxError struct {
	What   string
	Offset int // of the byte that could not be
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not valid JSON at byte %d: %s", e.Offset, e.What)
}

// A lexer reads one JSON text (RFC 8259) front to back. It is as strict as the
// RFC and stricter about text: only well-formed UTF-8, and no escape may leave
// half a surrogate pair. It never looks past data, and allocates only for the
// errors it returns and where dst of str must grow.
type lexer struct {
	data []byte
	pos  int
}

// fail returns the error for the byte at pos.
func (l *lexer) fail(what string) error { return &SyntaxError{What: what, Offset: l.pos} }

// space skips white space.
func (l *lexer) space() {
	for l.pos < len(l.data) {
		switch l.data[l.pos] {
		case ' ', '\n', '\t', '\r':
			l.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the byte behind it, 0 at the end.
func (l *lexer) peek() byte {
	if l.pos < len(l.data) && l.data[l.pos] > ' ' {
		return l.data[l.pos]
	}
	l.space()
	return l.here()
}

// here returns the byte at pos, 0 at the end.
func (l *lexer) here() byte {
	if l.pos == len(l.data) {
		return 0
	}
	return l.data[l.pos]
}

// accept consumes c if it is the next byte behind white space.
func (l *lexer) accept(c byte) bool {
	if l.peek() != c {
		return false
	}
	l.pos++
	return true
}

// expect consumes c, or says that it is not there.
func (l *lexer) expect(c byte) error {
	if l.accept(c) {
		return nil
	}
	return l.fail(wanted(c))
}

func wanted(c byte) string {
	switch c {
	case '"':
		return "a string must stand here"
	case ':':
		return "':' must stand here"
	case ',':
		return "',' must stand here"
	case '[':
		return "an array must stand here"
	case '{':
		return "an object must stand here"
	case ']':
		return "',' or ']' must stand here"
	case '}':
		return "',' or '}' must stand here"
	}
	return "another byte must stand here"
}

// end checks that only white space is left.
func (l *lexer) end() error {
	l.space()
	if l.pos < len(l.data) {
		return l.fail("the text must end here")
	}
	return nil
}

// str reads a string and appends what it says, all escapes undone, to dst.
// After an error dst holds what was read so far.
func (l *lexer) str(dst []byte) ([]byte, error) {
	if err := l.expect('"'); err != nil {
		return dst, err
	}
	for {
		run, err := l.run()
		if err != nil {
			return dst, err
		}
		dst = append(dst, run...)
		if l.data[l.pos] == '"' {
			l.pos++
			return dst, nil
		}
		r, err := l.escape()
		if err != nil {
			return dst, err
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// skipStr reads a string and forgets it.
func (l *lexer) skipStr() error {
	if err := l.expect('"'); err != nil {
		return err
	}
	for {
		if _, err := l.run(); err != nil {
			return err
		}
		if l.data[l.pos] == '"' {
			l.pos++
			return nil
		}
		if _, err := l.escape(); err != nil {
			return err
		}
	}
}

// run consumes the part of a string up to the next quote or backslash, where
// pos stays, and returns it, borrowed from data.
func (l *lexer) run() ([]byte, error) {
	n, high := verbatim(l.data[l.pos:])
	run := l.data[l.pos : l.pos+n]
	// No byte of a multi-byte character is below 0x80, so a run is well formed
	// by itself or not at all.
	if high && !utf8.Valid(run) {
		return nil, l.fail("the string is not valid UTF-8")
	}
	l.pos += n
	if l.pos == len(l.data) {
		return nil, l.fail("the string does not end")
	}
	if l.data[l.pos] < 0x20 {
		return nil, l.fail("a control character stands in a string")
	}
	return run, nil
}

// verbatim returns how many bytes of b stand before the first quote, backslash
// or control character, and whether any of them may be 0x80 or more. Eight
// bytes at a time: six times the speed of a byte loop on plain content.
func verbatim(b []byte) (n int, high bool) {
	const (
		ones = 0x0101010101010101
		tops = 0x8080808080808080
	)
	seen := uint64(0)
	for n+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[n:])
		seen |= x
		quote, slash := x^'"'*ones, x^'\\'*ones
		// A top bit is set for each byte that is below 0x20, or zero after the
		// xor. A borrow may set wrong ones too, but only above a right one.
		stop := ((x-0x20*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if stop != 0 {
			return n + bits.TrailingZeros64(stop)/8, seen&tops != 0
		}
		n += 8
	}
	for ; n < len(b); n++ {
		c := b[n]
		if c == '"' || c == '\\' || c < 0x20 {
			break
		}
		seen |= uint64(c)
	}
	return n, seen&tops != 0
}

// escape consumes one escape, whose backslash is at pos, and returns the
// character it stands for. Two \u escapes that make a surrogate pair are one.
func (l *lexer) escape() (rune, error) {
	start := l.pos
	l.pos++
	c := l.here()
	if c == 'u' {
		l.pos++
		return l.unicodeEscape(start)
	}
	r := unescaped(c)
	if r == 0 {
		return 0, l.fail("there is no such escape")
	}
	l.pos++
	return r, nil
}

// unescaped returns the character that a backslash and c stand for, 0 for none.
func unescaped(c byte) rune {
	switch c {
	case '"', '\\', '/':
		return rune(c)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// unicodeEscape consumes the four digits of a \u escape that began at start,
// and its second half where it is the first half of a surrogate pair.
func (l *lexer) unicodeEscape(start int) (rune, error) {
	r, err := l.hex4()
	if err != nil || r < 0xd800 || r > 0xdfff {
		return r, err
	}
	if r < 0xdc00 && l.pos+1 < len(l.data) && l.data[l.pos] == '\\' && l.data[l.pos+1] == 'u' {
		l.pos += 2
		low, err := l.hex4()
		if err != nil {
			return 0, err
		}
		if low >= 0xdc00 && low <= 0xdfff {
			return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), nil
		}
	}
	l.pos = start
	return 0, l.fail("half a surrogate pair is escaped")
}

// hex4 consumes four hex digits of either case.
func (l *lexer) hex4() (rune, error) {
	r := rune(0)
	for range 4 {
		switch c := l.here(); {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, l.fail("a \\u escape has four hex digits")
		}
		l.pos++
	}
	return r, nil
}

// skip reads one value of any type and forgets it, however it is nested up to
// maxDepth arrays and objects (at most maxNesting).
func (l *lexer) skip(maxDepth int) error {
	var in nesting
	for {
		opened, err := l.open(&in, maxDepth)
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		// A value has ended; so may have what it stands in.
		for in.depth > 0 && !l.accept(',') {
			if err := l.expect(in.closer()); err != nil {
				return err
			}
			in.depth--
		}
		if in.depth == 0 {
			return nil
		}
		if in.object() {
			if err := l.key(); err != nil {
				return err
			}
		}
	}
}

// open reads the start of a value. It reports true after the opening of an
// array or object that is not empty, with in one deeper and the next value
// due, and false where the value is already read to its end.
func (l *lexer) open(in *nesting, maxDepth int) (bool, error) {
	c := l.peek()
	if c != '[' && c != '{' {
		return false, l.scalar(c)
	}
	if in.depth >= min(maxDepth, maxNesting) {
		return false, l.fail("values are nested too deeply")
	}
	l.pos++
	if l.accept(c + 2) { // ] is [ + 2 and } is { + 2
		return false, nil
	}
	in.push(c == '{')
	if c == '{' {
		return true, l.key()
	}
	return true, nil
}

// key reads the key of a member and the colon behind it.
func (l *lexer) key() error {
	if err := l.skipStr(); err != nil {
		return err
	}
	return l.expect(':')
}

// scalar reads a value that begins with c and is neither array nor object.
func (l *lexer) scalar(c byte) error {
	switch c {
	case '"':
		return l.skipStr()
	case 't':
		return l.literal("true")
	case 'f':
		return l.literal("false")
	case 'n':
		return l.literal("null")
	}
	_, err := l.number()
	return err
}

func (l *lexer) literal(want string) error {
	if len(l.data)-l.pos < len(want) || string(l.data[l.pos:l.pos+len(want)]) != want {
		return l.fail("a value must stand here")
	}
	l.pos += len(want)
	return nil
}

// maxNesting is the deepest nesting that any text may have, in bits of
// nesting.objects.
const maxNesting = 1024

// nesting remembers which of the open values are objects, one bit each: room
// for hostile depth without recursion or allocation.
type nesting struct {
	objects [maxNesting / 64]uint64
	depth   int
}

func (n *nesting) push(object bool) {
	word, bit := &n.objects[n.depth/64], uint64(1)<<(n.depth%64)
	*word &^= bit
	if object {
		*word |= bit
	}
	n.depth++
}

// object reports whether the innermost open value, which must exist, is an
// object.
func (n *nesting) object() bool {
	d := n.depth - 1
	return n.objects[d/64]>>(d%64)&1 == 1
}

// closer returns the byte that ends the innermost open value.
func (n *nesting) closer() byte {
	if n.object() {
		return '}'
	}
	return ']'
}
