package conformance

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// anything in a pattern stands for any value, and at the end of an array for
// any number of them. Within a string it stands for any characters.
const anything = "…"

// A pattern is a JSON value that another one is held against.
type pattern struct {
	text  string // as it is shown
	value any
	exact bool // objects have no fields beyond those named
}

// newPattern reads a pattern, in which anything may stand without quotes.
func newPattern(text string, exact bool) (pattern, error) {
	var b strings.Builder
	inString, isEscaped := false, false
	for _, r := range text {
		if string(r) == anything && !inString {
			b.WriteString(`"` + anything + `"`)
			continue
		}
		b.WriteRune(r)
		switch {
		case isEscaped:
			isEscaped = false
		case r == '\\':
			isEscaped = inString
		case r == '"':
			inString = !inString
		}
	}
	v, err := decode(b.String())
	return pattern{text, v, exact}, err
}

// matches reports whether a message of a relay is as the pattern wants it. An
// EOSE may have more elements than are named, since NIP-67 adds one, but not
// where the pattern is exact.
func (p *pattern) matches(got any) bool {
	want, ok := p.value.([]any)
	if ok && !p.exact && len(want) > 0 && want[0] == "EOSE" {
		return p.match(append(slices.Clone(want), anything), got)
	}
	return p.match(p.value, got)
}

func (p *pattern) match(want, got any) bool {
	switch want := want.(type) {
	case string:
		return matchString(want, got)
	case []any:
		list, ok := got.([]any)
		return ok && p.matchList(want, list)
	case map[string]any:
		object, ok := got.(map[string]any)
		return ok && p.matchObject(want, object)
	}
	return want == got // numbers as they are written, booleans, null
}

func (p *pattern) matchList(want, got []any) bool {
	if n := len(want) - 1; n >= 0 && want[n] == anything {
		want = want[:n]
		got = got[:min(n, len(got))]
	}
	return slices.EqualFunc(want, got, p.match)
}

// matchObject wants the fields of want in got; those whose name ends in a
// question mark may be missing.
func (p *pattern) matchObject(want, got map[string]any) bool {
	found := 0
	for name, value := range want {
		name, optional := strings.CutSuffix(name, "?")
		has, ok := got[name]
		if ok && !p.match(value, has) || !ok && !optional {
			return false
		}
		if ok {
			found++
		}
	}
	return !p.exact || found == len(got)
}

// matchString holds a value against a string of the pattern: a text with gaps,
// or the name of a type.
func matchString(want string, got any) bool {
	if want == anything {
		return true
	}
	if name, ok := strings.CutPrefix(want, anything); ok && types[name] != nil {
		return types[name](got)
	}
	text, ok := got.(string)
	return ok && matchText(want, text)
}

// matchText reports whether text is want, in which … stands for any characters.
func matchText(want, text string) bool {
	first, rest, more := strings.Cut(want, anything)
	if !more {
		return want == text
	}
	text, ok := strings.CutPrefix(text, first)
	for i := 0; ok && i <= len(text); i++ {
		if matchText(rest, text[i:]) {
			return true
		}
	}
	return false
}

// types are what a string such as "…int" stands for.
var types = map[string]func(any) bool{
	"bool": func(v any) bool { _, ok := v.(bool); return ok },
	"int":  isInt,
	"text": func(v any) bool { _, ok := v.(string); return ok },
	"hex":  func(v any) bool { s, ok := v.(string); return ok && isHex(s, 64) },
	"hll":  func(v any) bool { s, ok := v.(string); return ok && isHex(s, 512) },
	"url":  isURL,
	"ints": func(v any) bool {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(e any) bool { return !isInt(e) })
	},
	"list": func(v any) bool { _, ok := v.([]any); return ok },
}

func isInt(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	_, err := n.Int64()
	return err == nil
}

func isURL(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && (u.Host != "" || u.Opaque != "")
}
