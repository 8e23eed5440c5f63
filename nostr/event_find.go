package nostr

import (
	"bytes"

	"wok/packed"
)

// FindID looks in the JSON of an event that was refused for the id it claims:
// 64 hex digits of either case, so that the refusal can name the event (01-R44).
// It takes the first "id" of the object; where the JSON is broken before that,
// the first that reads like one.
func FindID(raw []byte) (string, bool) {
	l := lexer{data: raw}
	if !l.accept('{') {
		return "", false
	}
	var key []byte
	for i := 0; ; i++ {
		more, err := l.more(i, '}')
		if err == nil && !more {
			return "", false
		}
		if err == nil {
			key, err = l.str(key[:0])
		}
		if err == nil {
			err = l.expect(':')
		}
		if err == nil && string(key) == "id" {
			return hexID(&l)
		}
		if err == nil {
			err = l.skip(maxUnknownDepth)
		}
		if err != nil {
			return searchID(raw[l.pos:])
		}
	}
}

// hexID returns the string at l if it is 64 hex digits.
func hexID(l *lexer) (string, bool) {
	id, err := l.str(nil)
	if err != nil {
		return "", false
	}
	var bin [32]byte
	return string(id), packed.DecodeHex(bin[:], bytes.ToLower(id))
}

// searchID looks for an id in what is left of JSON that cannot be read.
func searchID(rest []byte) (string, bool) {
	key := []byte(`"id"`)
	for {
		at := bytes.Index(rest, key)
		if at < 0 {
			return "", false
		}
		rest = rest[at+len(key):]
		l := lexer{data: rest}
		if l.accept(':') && l.peek() == '"' {
			if id, ok := hexID(&l); ok {
				return id, true
			}
		}
	}
}
