package store

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/zstd"

	"wok/index"
	"wok/internal/lmdbx"
)

// dictionaries checks the dictionaries.
func (c *checker) dictionaries() error {
	const table = index.TableCompressionDictionary
	next := uint64(0)
	if b, ok, _ := c.get(index.TableMeta, metaNextDictionary); ok && len(b) == 8 {
		next = binary.BigEndian.Uint64(b)
	} else if ok {
		c.problem(BadValue, index.TableMeta, metaNextDictionary, "has %d bytes and not 8", len(b))
	}
	return c.each(table, func(key, val []byte) error {
		if id, ok := dictionaryID(key); ok && uint64(id) >= next {
			c.problem(BadKey, table, key, "the id is to be given out next: nextDictionary is %d", next)
		}
		return c.dictionaryRow(key, val)
	})
}

// dictionaryRow checks the form of a dictionary.
func (c *checker) dictionaryRow(key, val []byte) error {
	const table = index.TableCompressionDictionary
	if _, ok := dictionaryID(key); !ok {
		c.problem(BadKey, table, key, "no dictionary can have this id")
	} else if _, err := zstd.InspectDictionary(val); err != nil {
		c.problem(BadValue, table, key, "not a zstd dictionary: %v", err)
	}
	return nil
}

// json returns the JSON in the payload of an event, valid until the next call,
// and reports why there is none.
func (c *checker) json(key, val []byte) ([]byte, bool) {
	p, err := parsePayload(val)
	if err == nil && p.form != Plain {
		var codec *codec
		if codec, err = c.codec(p.form); codec == nil && err == nil {
			c.unread++
			return nil, false // reported with the dictionary
		}
		if err == nil {
			c.frame, err = codec.appendJSON(c.frame[:0], p)
			p.data = c.frame
		}
	}
	if err != nil {
		c.problem(BadValue, index.TableEventPayload, key, "%v", err)
		return nil, false
	}
	return p.data, true
}

// codec returns the codec of a dictionary: none where a broken page hides it, or
// it is missing, which is reported once.
func (c *checker) codec(f Form) (*codec, error) {
	if codec, known := c.codecs[f]; known {
		return codec, nil
	}
	key := lmdbx.AppendInt(nil, uint64(f))
	var dict []byte
	if f != 0 {
		val, ok, hidden := c.get(index.TableCompressionDictionary, key)
		if !ok {
			if !hidden {
				c.problem(Missing, index.TableCompressionDictionary, key, "is missing, and events need it")
			}
			c.codecs[f] = nil
			return nil, nil
		}
		dict = bytes.Clone(val)
	}
	codec, err := newCodec(uint32(f), dict)
	if err == nil {
		c.codecs[f] = codec
	}
	return codec, err
}
