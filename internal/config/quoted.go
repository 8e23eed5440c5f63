package config

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string in double quotes.
func (p *parser) str() (string, error) {
	open := p.pos()
	p.at++
	var out []byte
	for p.at < len(p.src) {
		at := p.pos()
		c := p.src[p.at]
		p.at++
		switch {
		case c == '"':
			return string(out), nil
		case c == '\\':
			r, ok := p.escape()
			if !ok {
				return "", p.fail(at, `unknown escape; known are \" \\ \/ \b \f \n \r \t and \u with four hex digits`)
			}
			out = utf8.AppendRune(out, r)
		case c < ' ' && c != '\t':
			return "", p.fail(open, "the text has no closing quote on its line")
		default:
			out = append(out, c)
		}
	}
	return "", p.fail(open, "the text has no closing quote")
}

// escape reads what follows a backslash.
func (p *parser) escape() (rune, bool) {
	if p.at == len(p.src) {
		return 0, false
	}
	c := p.src[p.at]
	p.at++
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return p.unicode()
	}
	return 0, false
}

// unicode reads the digits of a \u escape, two of them where they are a
// surrogate pair. Half a pair is no character.
func (p *parser) unicode() (rune, bool) {
	r, ok := p.hex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if p.at+2 > len(p.src) || string(p.src[p.at:p.at+2]) != `\u` {
		return 0, false
	}
	p.at += 2
	low, ok := p.hex4()
	r = utf16.DecodeRune(r, low)
	return r, ok && r != utf8.RuneError
}

func (p *parser) hex4() (rune, bool) {
	if p.at+4 > len(p.src) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.src[p.at:p.at+4]), 16, 16)
	p.at += 4
	return rune(n), err == nil
}
