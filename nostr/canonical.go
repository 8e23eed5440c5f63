package nostr

import (
	"bytes"
	"unicode/utf8"
)

// Canonical text is how wok spells a string in JSON: as NIP-01 spells it for
// the id (01-R2), that is, seven characters escaped and every other one
// verbatim. The other control characters, which JSON does not allow verbatim,
// are lowercase \u00xx.

// A spelling says what a canonical text holds.
type spelling uint8

const (
	escapes  spelling = 1 << iota // a backslash: the text is not what it says
	controls                      // \u00xx: the id may have been made otherwise (01-R3)
)

// canon reads a string and appends its canonical text, quotes included, to
// dst. What is canonical already, escapes included, is copied as one block.
// After an error dst holds no whole string.
func (l *lexer) canon(dst []byte) ([]byte, spelling, error) {
	if err := l.expect('"'); err != nil {
		return dst, 0, err
	}
	var has spelling
	from, high := l.pos-1, false // of the block that is not copied yet
	for {
		n, h := verbatim(l.data[l.pos:])
		l.pos, high = l.pos+n, high || h
		switch l.here() {
		case '"':
			l.pos++
			dst, err := l.block(dst, from, high)
			return dst, has, err
		case '\\':
			if l.pos+1 < len(l.data) && isCanonicalEscape(l.data[l.pos+1]) {
				l.pos += 2
				has |= escapes
				continue
			}
			var err error
			if dst, err = l.block(dst, from, high); err != nil {
				return dst, 0, err
			}
			r, err := l.escape()
			if err != nil {
				return dst, 0, err
			}
			at := len(dst)
			dst = appendCanonicalRune(dst, r)
			has |= spellingOf(dst[at:])
			from, high = l.pos, false
		default:
			return dst, 0, l.unended()
		}
	}
}

// block appends the bytes of a string from there to pos. Where high is false
// all of them are ASCII.
func (l *lexer) block(dst []byte, from int, high bool) ([]byte, error) {
	b := l.data[from:l.pos]
	if high && !utf8.Valid(b) {
		return dst, l.fail("the string is not valid UTF-8")
	}
	return append(dst, b...), nil
}

// isCanonicalEscape reports whether a backslash and c are one of the seven.
func isCanonicalEscape(c byte) bool { return c != '/' && unescaped(c) != 0 }

// spellingOf returns what the canonical text of one character holds.
func spellingOf(text []byte) spelling {
	switch {
	case text[0] != '\\':
		return 0
	case text[1] == 'u':
		return escapes | controls
	}
	return escapes
}

// appendCanonicalRune appends the canonical text of r, a valid character.
func appendCanonicalRune(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r < 0x20 {
		return append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// appendDecoded appends what the canonical text, without its quotes, says.
func appendDecoded(dst, text []byte) []byte { return appendUnescaped(dst, text, false) }

// appendVerbatim appends the canonical text (or JSON made of such) with the
// control characters beyond the seven verbatim: no JSON any more, but what
// NIP-01 asks to be hashed, read to the letter.
func appendVerbatim(dst, text []byte) []byte { return appendUnescaped(dst, text, true) }

// appendUnescaped appends text with its escapes undone, or only those that
// begin with \u. The text is canonical: whatever escape is in it is complete.
func appendUnescaped(dst, text []byte, onlyU bool) []byte {
	for {
		n := bytes.IndexByte(text, '\\')
		if n < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:n]...)
		l := lexer{data: text, pos: n}
		r, err := l.escape()
		if err != nil {
			panic("nostr: canonical text holds a broken escape")
		}
		if onlyU && text[n+1] != 'u' {
			dst = append(dst, text[n:l.pos]...)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
		text = text[l.pos:]
	}
}
