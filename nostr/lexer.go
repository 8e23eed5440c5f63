package nostr

import "fmt"

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

// opens checks that a value begins with c, which stays, and returns wrong if it
// is one of another type.
func (l *lexer) opens(c byte, wrong error) error {
	if l.peek() == c {
		return nil
	}
	return l.mistyped(wrong)
}

// mistyped returns wrong if any value begins here, and else says that one must.
func (l *lexer) mistyped(wrong error) error {
	switch l.peek() {
	case '"', '[', '{', 't', 'f', 'n', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return wrong
	}
	return l.fail("a value must stand here")
}

// more reports whether an array or object that ends with closer has one more
// element, of which i are read, and moves to it or past the end.
func (l *lexer) more(i int, closer byte) (bool, error) {
	if l.accept(closer) {
		return false, nil
	}
	if i > 0 && !l.accept(',') {
		return false, l.fail(wanted(closer))
	}
	return true, nil
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
