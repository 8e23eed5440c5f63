package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"wok/internal/lmdbx"
)

// ErrCorrupt is what reading a row that cannot be right returns, wrapped with
// the row's table and key.
var ErrCorrupt = errors.New("corrupt")

// ErrDamaged is what reading returns, wrapped, from the moment on that a
// transaction has met a page which is none of its table. What lies elsewhere can
// be read in the next transaction.
var ErrDamaged = lmdbx.ErrDamaged

// Payload types: the first byte of a value in EventPayload.
//
//	0  the canonical JSON
//	1  dictionary id, uint32 big endian, 0 for none; one zstd frame of the JSON
const (
	payloadJSON = 0
	payloadZstd = 1

	frameAt = 5 // where the frame begins
)

// maxFrame is the longest JSON, in bytes, that is kept in a frame. A longer
// event stays plain, so a frame that asks for more memory than this is damaged.
const maxFrame = 4 << 20

// A Form is how the JSON of an event is kept: [Plain], or compressed with the
// dictionary of that id, where 0 stands for no dictionary.
type Form int64

// Plain is JSON as it is.
const Plain Form = -1

func (f Form) String() string {
	switch f {
	case Plain:
		return "plain"
	case 0:
		return "no dictionary"
	}
	return fmt.Sprintf("dictionary %d", int64(f))
}

// A payload is a value of EventPayload taken apart, borrowed.
type payload struct {
	form Form
	data []byte // JSON, or a frame
}

func parsePayload(b []byte) (payload, error) {
	switch {
	case len(b) == 0:
		return payload{}, fmt.Errorf("%w: empty payload", ErrCorrupt)
	case b[0] == payloadJSON && len(b) > 1 && b[1] == '{':
		return payload{Plain, b[1:]}, nil
	case b[0] == payloadJSON:
		return payload{}, fmt.Errorf("%w: the payload is no JSON object", ErrCorrupt)
	case b[0] != payloadZstd:
		return payload{}, fmt.Errorf("%w: payload of type %d", ErrCorrupt, b[0])
	case len(b) < frameAt:
		return payload{}, fmt.Errorf("%w: payload cut to %d bytes", ErrCorrupt, len(b))
	}
	return payload{Form(binary.BigEndian.Uint32(b[1:])), b[frameAt:]}, nil
}

// jsonSize returns how long the JSON is, which a frame says at its beginning.
func (p payload) jsonSize() (int, error) {
	if p.form == Plain {
		return len(p.data), nil
	}
	var h zstd.Header
	switch err := h.Decode(p.data); {
	case err != nil:
		return 0, fmt.Errorf("%w: frame: %w", ErrCorrupt, err)
	case h.Skippable, !h.HasFCS:
		return 0, fmt.Errorf("%w: the frame does not say its size", ErrCorrupt)
	case h.FrameContentSize > maxFrame:
		return 0, fmt.Errorf("%w: a frame of %d bytes is not ours", ErrCorrupt, h.FrameContentSize)
	default:
		return int(h.FrameContentSize), nil
	}
}

// plainSize returns the size of a payload that is plain.
func plainSize(json []byte) int { return 1 + len(json) }

// encodePlain writes a plain payload over dst, which has plainSize bytes.
func encodePlain(dst, json []byte) {
	dst[0] = payloadJSON
	copy(dst[1:], json)
}

// appendPlain appends a plain payload.
func appendPlain(dst, json []byte) []byte { return append(append(dst, payloadJSON), json...) }

// decode returns the canonical JSON in a stored payload, borrowed until the next
// decode of the transaction.
func (tx *Txn) decode(b []byte) ([]byte, error) {
	p, err := parsePayload(b)
	if err != nil || p.form == Plain {
		return p.data, err
	}
	return tx.decompress(p)
}
