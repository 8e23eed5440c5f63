package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds nesting, so that no file can exhaust the stack.
const maxDepth = 32

// A Pos is a place in a file, both counted from 1; Col counts bytes.
type Pos struct{ Line, Col int }

func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// A Node is a value and its place. Value is a bool, an int64, a float64, a
// string, a []Node (list) or a Block.
type Node struct {
	Pos
	Value any
}

// A Block is what stands between braces, in order, no name twice.
type Block []Entry

// An Entry is a named value. Pos is the place of the name.
type Entry struct {
	Pos
	Name  string
	Value Node
}

// A SyntaxError says what is wrong with a file and where.
type SyntaxError struct {
	Pos
	Reason string
}

func (e *SyntaxError) Error() string { return e.Pos.String() + ": " + e.Reason }

// Parse reads a file in strfry's syntax:
//
//	file   = { entry }
//	entry  = name ( "=" | ":" ) value | name block
//	name   = letter { letter | digit | "_" | "-" | "+" | "." } | string
//	value  = string | number | "true" | "false" | list | block
//	list   = "[" { value } "]"
//	block  = "{" { entry } "}"
//
// Entries and values are separated by blanks, line ends or a comma. `#` begins
// a comment. Strings have double quotes and the escapes of JSON, and end on
// their line. Every error is a [*SyntaxError].
func Parse(src []byte) (Block, error) {
	p := &parser{src: src, line: 1}
	if !utf8.Valid(src) {
		return nil, &SyntaxError{Pos{1, 1}, "the file is not UTF-8 text"}
	}
	b, err := p.entries(0, 0)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Plain returns the value without places: blocks become map[string]any and
// lists []any.
func (n Node) Plain() any {
	switch v := n.Value.(type) {
	case []Node:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i].Plain()
		}
		return list
	case Block:
		m := make(map[string]any, len(v))
		for _, e := range v {
			m[e.Name] = e.Value.Plain()
		}
		return m
	}
	return n.Value
}

type parser struct {
	src    []byte
	at     int
	line   int
	lineAt int // where the line begins
}

func (p *parser) pos() Pos { return Pos{p.line, p.at - p.lineAt + 1} }

func (p *parser) fail(at Pos, format string, args ...any) error {
	return &SyntaxError{at, fmt.Sprintf(format, args...)}
}

// peek skips blanks and comments and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; c {
		case '\n':
			p.line++
			p.lineAt = p.at + 1
		case ' ', '\t', '\r':
		case '#':
			for p.at+1 < len(p.src) && p.src[p.at+1] != '\n' {
				p.at++
			}
		default:
			return c
		}
		p.at++
	}
	return 0
}

// take skips the byte c if it comes next.
func (p *parser) take(c byte) bool {
	if p.at < len(p.src) && p.peek() == c {
		p.at++
		return true
	}
	return false
}

// entries reads entries up to the byte end, or up to the end of the file
// where end is 0.
func (p *parser) entries(end byte, depth int) (Block, error) {
	b := Block{}
	seen := map[string]Pos{}
	for {
		c := p.peek()
		switch at := p.pos(); {
		case p.at == len(p.src):
			if end != 0 {
				return nil, p.fail(at, "the file ends inside a block, %q is missing", end)
			}
			return b, nil
		case end != 0 && c == end:
			p.at++
			return b, nil
		}
		e, err := p.entry(depth)
		if err != nil {
			return nil, err
		}
		if first, twice := seen[e.Name]; twice {
			return nil, p.fail(e.Pos, "%s is given twice, first on line %d", e.Name, first.Line)
		}
		seen[e.Name] = e.Pos
		b = append(b, e)
		p.take(',')
	}
}

func (p *parser) entry(depth int) (Entry, error) {
	name, at, err := p.name()
	if err != nil {
		return Entry{}, err
	}
	if !p.take('=') && !p.take(':') && p.peek() != '{' {
		return Entry{}, p.fail(p.pos(), "%s needs = and a value, or a block in braces", name)
	}
	v, err := p.value(depth)
	return Entry{at, name, v}, err
}

func (p *parser) name() (string, Pos, error) {
	c, at := p.peek(), p.pos()
	if c == '"' {
		s, err := p.str()
		return s, at, err
	}
	if w := p.word(); w != "" && isLetter(w[0]) {
		return w, at, nil
	}
	return "", at, p.fail(at, "a name is expected here, not %s", p.found(at))
}

func (p *parser) value(depth int) (Node, error) {
	c, at := p.peek(), p.pos()
	if (c == '[' || c == '{') && depth == maxDepth {
		return Node{}, p.fail(at, "nested more than %d deep", maxDepth)
	}
	var v any
	var err error
	switch c {
	case '"':
		v, err = p.str()
	case '[':
		p.at++
		v, err = p.list(depth + 1)
	case '{':
		p.at++
		v, err = p.entries('}', depth+1)
	default:
		v, err = p.scalar(at)
	}
	return Node{at, v}, err
}

func (p *parser) list(depth int) ([]Node, error) {
	list := []Node{}
	for !p.take(']') {
		if p.peek(); p.at == len(p.src) {
			return nil, p.fail(p.pos(), "the file ends inside a list, ']' is missing")
		}
		n, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		p.take(',')
	}
	return list, nil
}

// scalar reads a boolean or a number.
func (p *parser) scalar(at Pos) (any, error) {
	w := p.word()
	switch w {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "":
		return nil, p.fail(at, "a value is expected here, not %s", p.found(at))
	}
	if n, err := strconv.ParseInt(w, 10, 64); err == nil {
		return n, nil
	}
	if f, err := strconv.ParseFloat(w, 64); err == nil && !strings.ContainsAny(w, "xXpPnN_") {
		return f, nil
	}
	return nil, p.fail(at, "%s is neither a number, true nor false; texts stand in double quotes", w)
}

// word reads what names and numbers are made of.
func (p *parser) word() string {
	from := p.at
	for p.at < len(p.src) && isWord(p.src[p.at]) {
		p.at++
	}
	return string(p.src[from:p.at])
}

// found describes what stands at the place of an error.
func (p *parser) found(at Pos) string {
	from := p.lineAt + at.Col - 1
	if from >= len(p.src) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRune(p.src[from:])
	return strconv.QuoteRune(r)
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func isWord(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+'
}
