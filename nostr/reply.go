package nostr

import (
	"encoding/hex"
	"strconv"
	"unicode/utf8"
)

// The writers below append one message of a relay to a client, whole and
// valid JSON whatever the strings hold, and allocate only where dst must grow.

// AppendEvent appends an EVENT: the event's JSON as it is.
func AppendEvent(dst []byte, subID string, event []byte) []byte {
	dst = appendSub(dst, `["EVENT",`, subID)
	dst = append(dst, ',')
	dst = append(dst, event...)
	return append(dst, ']')
}

// AppendOK appends an OK for the event with the given id, which is text: the
// id of a broken event is sent back as its author wrote it, see [FindID]. A
// reason begins with a [Prefix]; it may be empty only where ok is true.
func AppendOK(dst []byte, id string, ok bool, reason string) []byte {
	dst = appendSub(dst, `["OK",`, id)
	dst = append(dst, ',')
	dst = strconv.AppendBool(dst, ok)
	return appendLast(dst, reason)
}

// A Hint says behind EOSE whether there are more stored matches (NIP-67).
type Hint string

// The hints. Without one the client knows nothing.
const (
	HintNone   Hint = ""
	HintFinish Hint = "finish" // all stored matches have been sent
	HintMore   Hint = "more"   // there are more than have been sent
)

// AppendEOSE appends an EOSE.
func AppendEOSE(dst []byte, subID string, hint Hint) []byte {
	dst = appendSub(dst, `["EOSE",`, subID)
	if hint != HintNone {
		dst = append(dst, ',', '[')
		dst = appendString(dst, string(hint))
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// AppendClosed appends a CLOSED. The reason begins with a [Prefix].
func AppendClosed(dst []byte, subID, reason string) []byte {
	return appendLast(appendSub(dst, `["CLOSED",`, subID), reason)
}

// AppendNotice appends a NOTICE, for what cannot be answered otherwise.
func AppendNotice(dst []byte, text string) []byte {
	dst = appendSub(dst, `["NOTICE",`, text)
	return append(dst, ']')
}

// A Count is the answer to a COUNT (NIP-45).
type Count struct {
	N           uint64
	Approximate bool
	HLL         []byte // 256 registers, or nil
}

// AppendCount appends a COUNT.
func AppendCount(dst []byte, subID string, c Count) []byte {
	dst = appendSub(dst, `["COUNT",`, subID)
	dst = append(dst, `,{"count":`...)
	dst = strconv.AppendUint(dst, c.N, 10)
	if c.Approximate {
		dst = append(dst, `,"approximate":true`...)
	}
	if c.HLL != nil {
		dst = append(dst, `,"hll":`...)
		dst = appendHexString(dst, c.HLL)
	}
	return append(dst, '}', ']')
}

// AppendAuth appends an AUTH with the challenge of this connection (NIP-42).
func AppendAuth(dst []byte, challenge string) []byte {
	dst = appendSub(dst, `["AUTH",`, challenge)
	return append(dst, ']')
}

// AppendNegMsg appends a NEG-MSG (NIP-77). The payload is binary.
func AppendNegMsg(dst []byte, subID string, payload []byte) []byte {
	dst = appendSub(dst, `["NEG-MSG",`, subID)
	dst = append(dst, ',')
	dst = appendHexString(dst, payload)
	return append(dst, ']')
}

// AppendNegErr appends a NEG-ERR. The reason begins with a [Prefix]; most, if
// it is over 0, is how many events may be reconciled at once.
func AppendNegErr(dst []byte, subID, reason string, most uint64) []byte {
	dst = appendSub(dst, `["NEG-ERR",`, subID)
	dst = append(dst, ',')
	dst = appendString(dst, reason)
	if most > 0 {
		dst = append(dst, ',')
		dst = strconv.AppendUint(dst, most, 10)
	}
	return append(dst, ']')
}

// appendSub appends the opening of a message and its first string.
func appendSub(dst []byte, opening, s string) []byte {
	dst = append(dst, opening...)
	return appendString(dst, s)
}

// appendLast appends the last string of a message.
func appendLast(dst []byte, s string) []byte {
	dst = append(dst, ',')
	dst = appendString(dst, s)
	return append(dst, ']')
}

// appendString appends s as a JSON string. What is no UTF-8 becomes U+FFFD,
// byte by byte: a client that drops the connection over one bad text from a
// plugin is worse off than one that shows it mended.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c < 0x20 || c == '"' || c == '\\' {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			start = i + 1
		}
		i++
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendEscape appends the escape of a byte that may not stand in a string.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return hex.AppendEncode(append(dst, `\u00`...), []byte{c})
}
