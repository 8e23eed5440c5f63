package ingest

import (
	"bytes"
	"slices"

	"wok/nostr"
)

// What submitters of protected events are told (NIP-70).
var (
	errProtected = nostr.Refuse(nostr.PrefixAuthRequired, "a protected event is taken from its author, who has to authenticate")
	errNotAuthor = nostr.Refuse(nostr.PrefixRestricted, "a protected event is taken from its author only")
	errRepost    = nostr.Refuse(nostr.PrefixRestricted, "reposts of protected events are not accepted")
)

// checkProtected returns why ev must not come from src, nil if it may: a
// protected event is for its author to publish (70-R1, 70-R2), no other relay
// speaks for that author (70-R4), and nobody is to pass one on inside a repost
// (70-R3).
func checkProtected(ev *nostr.Event, src *Source) error {
	switch {
	case isProtected(ev):
		return src.mayPublish(ev)
	case isRepost(ev) && embedsProtected(ev.Content(nil)):
		return errRepost
	}
	return nil
}

// mayPublish returns why src is not known to be the author of ev, nil if it is.
func (s *Source) mayPublish(ev *nostr.Event) error {
	switch {
	case s.Kind.client() && slices.Contains(s.Authed, [32]byte(ev.Packed.Pubkey())):
		return nil
	case s.Kind.client() && len(s.Authed) == 0:
		return errProtected
	}
	return errNotAuthor
}

// isProtected reports whether only its author may publish ev: it has the tag
// ["-"], of that one element.
func isProtected(ev *nostr.Event) bool {
	if !bytes.Contains(ev.JSON, []byte(`["-"]`)) { // nearly all
		return false
	}
	for tag := range ev.Tags() {
		if len(tag) == 1 && string(tag[0]) == "-" {
			return true
		}
	}
	return false
}

// isRepost reports whether the content of ev is another event (NIP-18).
func isRepost(ev *nostr.Event) bool {
	kind := ev.Packed.Kind()
	return kind == kindRepost || kind == kindGenericRepost
}

// tagDepth is how deep in the JSON of an event the elements of a tag stand: in
// the event, in its tags, in the tag.
const tagDepth = 3

// embedsProtected reports whether text is, in the eyes of any reader of JSON, an
// event with the tag ["-"], however spelled. It does not ask for a valid event:
// then a key that stands twice, or half a surrogate pair in a key of no meaning,
// would carry a protected event past us to readers that are less strict. So it
// looks for the tag alone, as brackets and strings show it.
func embedsProtected(text []byte) bool {
	const dash = 1 // stands for a string that is "-"
	depth := 0
	var last, before byte // what stood before, but for white space
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		case '"':
			n := stringEnd(text[i+1:])
			if isDash(text[i+1 : i+1+n]) {
				c = dash
			}
			i += n + 1
		case '[', '{':
			depth++
		case ']', '}':
			if before == '[' && last == dash && c == ']' && depth >= tagDepth {
				return true
			}
			depth--
		}
		before, last = last, c
	}
	return false
}

// stringEnd returns where in text, which follows a quote, the string ends.
func stringEnd(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// isDash reports whether the inside of a JSON string spells "-".
func isDash(s []byte) bool { return string(s) == "-" || bytes.EqualFold(s, []byte(`\u002d`)) }
