package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"wok/index"
	"wok/internal/lmdbx"
)

// Dictionaries have ids from 1. Like levIds they are never given out twice, also
// not after a removal, so that an id in a configuration, or in another process,
// never comes to mean another dictionary.

// metaNextDictionary is the key of the next dictionary's id; missing before the
// first.
var metaNextDictionary = []byte("nextDictionary")

// retiredPrefix begins the key in Meta of a dictionary that no event may begin to
// use any more, since it is about to be removed. The value is empty.
const retiredPrefix = "retired dictionary "

func retiredKey(id uint32) []byte { return fmt.Appendf(nil, "%s%d", retiredPrefix, id) }

// ErrInUse is returned for a dictionary that cannot be removed.
var ErrInUse = errors.New("dictionary in use")

// ErrNoDictionary is returned for a dictionary that does not exist.
var ErrNoDictionary = errors.New("no such dictionary")

// A Dictionary is one that events may be compressed with.
type Dictionary struct {
	ID    uint32
	Bytes int
	// Retired says that its removal has begun, and been cut off. No event
	// begins to use it; RemoveDictionary decides.
	Retired bool
}

// Dictionaries returns all dictionaries, by id.
func (tx *Txn) Dictionaries() (ds []Dictionary, err error) {
	err = tx.lx.Each(int(index.TableCompressionDictionary), nil, func(key, val []byte) error {
		id, ok := dictionaryID(key)
		if !ok {
			return nil // for Check to report
		}
		_, retired, err := tx.lx.Get(int(index.TableMeta), retiredKey(id))
		ds = append(ds, Dictionary{id, len(val), retired})
		return err
	})
	return ds, err
}

// dictionaryID reads the key of a dictionary.
func dictionaryID(key []byte) (uint32, bool) {
	if len(key) != 8 {
		return 0, false
	}
	n := lmdbx.Int(key)
	return uint32(n), n > 0 && n <= math.MaxUint32
}

// Dictionary returns the bytes of a dictionary, borrowed, in the format of zstd,
// and whether there is one.
func (tx *Txn) Dictionary(id uint32) ([]byte, bool, error) {
	return tx.lx.Get(int(index.TableCompressionDictionary), lmdbx.AppendInt(nil, uint64(id)))
}

// The places in a zstd dictionary: a magic number, and its id in little endian.
const (
	dictionaryMagic = "\x37\xa4\x30\xec"
	dictionaryIDAt  = 4
	dictionaryHead  = 8
)

// AddDictionary keeps a dictionary in the format of zstd, and returns the id it
// is given, which is also written into it.
func (db *DB) AddDictionary(dict []byte) (id uint32, err error) {
	if len(dict) < dictionaryHead || string(dict[:dictionaryIDAt]) != dictionaryMagic {
		return 0, errors.New("not a zstd dictionary")
	}
	dict = bytes.Clone(dict)
	err = db.Update(func(b *Batch) error {
		next := uint64(1)
		if _, ok, err := b.lx.Get(int(index.TableMeta), metaNextDictionary); err != nil {
			return err
		} else if ok {
			if next, err = getMeta(b.lx, metaNextDictionary); err != nil {
				return err
			}
		}
		if next > math.MaxUint32 {
			return errors.New("no id is left for a dictionary")
		}
		id = uint32(next)
		binary.LittleEndian.PutUint32(dict[dictionaryIDAt:], id)
		if _, err := zstd.InspectDictionary(dict); err != nil {
			return fmt.Errorf("not a zstd dictionary: %w", err)
		}
		if err := putMeta(b.lx, metaNextDictionary, next+1); err != nil {
			return err
		}
		return b.lx.Put(int(index.TableCompressionDictionary), lmdbx.AppendInt(nil, next), dict)
	})
	return id, err
}

// usable reports whether events may begin to use a form: writers ask it inside
// of their transaction, so that none is kept with a dictionary that has gone.
func (b *Batch) usable(f Form) (bool, error) {
	if f <= 0 {
		return true, nil
	}
	if i := slices.Index(b.forms, f); i >= 0 {
		return true, nil
	}
	id := uint32(f)
	_, ok, err := b.Dictionary(id)
	if err != nil || !ok {
		return false, err
	}
	_, retired, err := b.lx.Get(int(index.TableMeta), retiredKey(id))
	if err == nil && !retired {
		b.forms = append(b.forms, f)
	}
	return !retired, err
}

// RemoveDictionary removes a dictionary that no event is compressed with; else it
// returns ErrInUse, with an event that is. All payloads are looked at for that,
// while others write: first the dictionary is retired, then no event can begin
// to use it. Where ctx ends in between it stays retired.
func (db *DB) RemoveDictionary(ctx context.Context, id uint32) error {
	if err := db.retire(id, true); err != nil {
		return err
	}
	user, used, err := db.userOf(ctx, id)
	if err != nil {
		return err
	}
	if used {
		err := fmt.Errorf("%w: %d, by event %d", ErrInUse, id, user)
		return errors.Join(err, db.retire(id, false))
	}
	return db.update(func(b *Batch) error {
		if _, err := b.lx.Delete(int(index.TableMeta), retiredKey(id), nil); err != nil {
			return err
		}
		_, err := b.lx.Delete(int(index.TableCompressionDictionary), lmdbx.AppendInt(nil, uint64(id)), nil)
		return err
	})
}

// retire sets whether a dictionary is retired.
func (db *DB) retire(id uint32, on bool) error {
	return db.update(func(b *Batch) error {
		_, ok, err := b.Dictionary(id)
		switch {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("%w: %d", ErrNoDictionary, id)
		case on:
			return b.lx.Put(int(index.TableMeta), retiredKey(id), nil)
		}
		_, err = b.lx.Delete(int(index.TableMeta), retiredKey(id), nil)
		return err
	})
}

// payloadsAtOnce is how many payloads are looked at on one snapshot, some 20 ms.
const payloadsAtOnce = 50_000

// userOf returns an event that is compressed with a dictionary, and whether there
// is one.
func (db *DB) userOf(ctx context.Context, id uint32) (levID uint64, used bool, err error) {
	for next, more := uint64(0), true; more && err == nil && !used; {
		more = false
		n := 0
		err = db.View(ctx, func(tx *Txn) error {
			return tx.lx.Each(int(index.TableEventPayload), lmdbx.AppendInt(nil, next), func(key, val []byte) error {
				if len(key) != 8 {
					return nil
				}
				next = lmdbx.Int(key)
				if more = n == payloadsAtOnce; more {
					return ErrStop
				}
				n++
				if p, err := parsePayload(val); err == nil && p.form == Form(id) {
					levID, used = next, true
					return ErrStop
				}
				return nil
			})
		})
	}
	return levID, used, err
}
