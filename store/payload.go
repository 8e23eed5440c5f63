package store

import (
	"errors"
	"fmt"

	"wok/internal/lmdbx"
)

// ErrCorrupt is what reading a row that cannot be right returns, wrapped with
// the row's table and key.
var ErrCorrupt = errors.New("corrupt")

// ErrDamaged is what reading returns, wrapped, from the moment on that a
// transaction has met a page which is none of its table. What lies elsewhere can
// be read in the next transaction.
var ErrDamaged = lmdbx.ErrDamaged

// Payload types: the first byte of a value in EventPayload. Type 1, a
// dictionary id and a zstd frame, is kept for compression.
const payloadJSON = 0

// payloadSize returns the stored size of a payload.
func payloadSize(json []byte) int { return 1 + len(json) }

// encodePayload writes the payload of an event over dst, which has payloadSize
// bytes.
func encodePayload(dst, json []byte) {
	dst[0] = payloadJSON
	copy(dst[1:], json)
}

// decodePayload returns the canonical JSON in a stored payload, borrowed.
func decodePayload(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty payload", ErrCorrupt)
	}
	if b[0] != payloadJSON {
		return nil, fmt.Errorf("%w: payload of type %d", ErrCorrupt, b[0])
	}
	return b[1:], nil
}
