package strfry

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// The first byte of a payload says what follows: 0 the event's JSON; 1 the
// number of a dictionary, uint32, and a zstd frame of the JSON.
const (
	payloadJSON = 0
	payloadZstd = 1
)

// dictionaries are those used so far.
type dictionaries map[uint32]dictionary

// A dictionary is a decoder, or why there is none.
type dictionary struct {
	decoder *zstd.Decoder
	err     error
}

// decode returns the JSON in a payload, which it may share.
func (db *DB) decode(b []byte) ([]byte, error) {
	switch {
	case len(b) == 0:
		return nil, fmt.Errorf("%w: no payload", ErrDamaged)
	case b[0] == payloadJSON:
		return b[1:], nil
	case b[0] != payloadZstd || len(b) < 5:
		return nil, fmt.Errorf("%w: a payload of type %d and %d bytes", ErrDamaged, b[0], len(b))
	}
	number := le.Uint32(b[1:])
	d, err := db.dictionary(number)
	if err != nil {
		return nil, err
	}
	json, err := d.DecodeAll(b[5:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: a frame of dictionary %d: %w", ErrDamaged, number, err)
	}
	return json, nil
}

// dictionary returns the decoder of a dictionary.
func (db *DB) dictionary(number uint32) (*zstd.Decoder, error) {
	d, ok := db.dicts[number]
	if !ok {
		d.decoder, d.err = db.load(number)
		db.dicts[number] = d
	}
	return d.decoder, d.err
}

// load reads a dictionary.
func (db *DB) load(number uint32) (*zstd.Decoder, error) {
	var text []byte
	err := db.file.read(func(s *snapshot, _ int) (err error) {
		if text, err = s.dictionary(number); err != nil && s.findDictionary(number, &text) {
			err = nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dictionary %d: %w", number, err)
	}
	d, err := newDecoder(text)
	if err != nil {
		return nil, fmt.Errorf("dictionary %d: %w: %w", number, ErrDamaged, err)
	}
	return d, nil
}

// trained is how a dictionary begins that was trained; another one is only text
// that frames refer to.
const trained = 0xec30a437

func newDecoder(dict []byte) (*zstd.Decoder, error) {
	option := zstd.WithDecoderDictRaw(0, dict)
	if len(dict) >= 8 && le.Uint32(dict) == trained {
		option = zstd.WithDecoderDicts(dict)
	}
	return zstd.NewReader(nil, option, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxValue))
}

// dictionary reads the bytes of a dictionary.
func (s *snapshot) dictionary(number uint32) (dict []byte, err error) {
	t, err := s.table(tableDict)
	if err != nil {
		return nil, err
	}
	err = s.each(t, true, func(n *node) error {
		if key, err := n.integer(); err != nil || key != uint64(number) {
			return err
		}
		val, err := s.value(n)
		if err == nil {
			dict, err = flatBytes(val, 0)
		}
		return err
	})
	if err == nil && dict == nil {
		err = fmt.Errorf("%w: it is missing", ErrDamaged)
	}
	return dict, err
}

// findDictionary looks for a trained dictionary on all pages. They never change,
// so one of the past is as good.
func (s *snapshot) findDictionary(number uint32, dict *[]byte) (found bool) {
	for at := uint64(0); at <= s.last && !found; at += salvagePages {
		done, err := s.leaves(at, func(p page) {
			for i := range p.nodes() {
				key, val, err := s.row(p, i)
				if err != nil || key != uint64(number) {
					continue
				}
				if b, err := flatBytes(val, 0); err == nil && len(b) >= 8 && le.Uint32(b) == trained {
					*dict, found = b, true
				}
			}
		})
		if done || err != nil {
			break
		}
	}
	return found
}

func (ds dictionaries) close() {
	for _, d := range ds {
		if d.decoder != nil {
			d.decoder.Close()
		}
	}
}
