package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// A spelling is how characters are written for which there are two ways.
type spelling int

const (
	// escaped writes control characters for which NIP-01 has no escape as
	// \u0001. That is how they are sent, and what libraries in wide use hash.
	escaped spelling = iota
	// verbatim leaves them as they are, which is what NIP-01 hashes (01-R3).
	verbatim
	// html writes <, > and & as \u003c as well, as Go's encoding/json does
	// unless told otherwise. Nobody else does: no id is made so.
	html
)

// appendValue appends any JSON value as NIP-01 spells it for the id: without
// spaces, and strings with its seven escapes. Values of kinds that an event may
// not have are spelled too, so that there can be events that are wrong in
// nothing but that. Numbers stay as they are written.
func appendValue(b []byte, v any, how spelling) []byte {
	switch v := v.(type) {
	case string:
		return appendString(b, v, how)
	case json.Number:
		return append(b, v...)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	case nil:
		return append(b, "null"...)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e, how)
		}
		return append(b, ']')
	}
	panic(fmt.Sprintf("conformance: a %T in an event", v))
}

func appendString(b []byte, s string, how spelling) []byte {
	escapes := map[byte]byte{'\n': 'n', '"': '"', '\\': '\\', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f'}
	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		switch short, ok := escapes[c]; {
		case ok:
			b = append(b, '\\', short)
		case c < 0x20 && how != verbatim, how == html && (c == '<' || c == '>' || c == '&'):
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// decode reads one JSON value, with numbers as they are written.
func decode(text string) (any, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return v, nil
}
