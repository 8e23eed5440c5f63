package store

import (
	"fmt"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/packed"
)

// A List walks one posting list downwards, see [Txn.List].
type List = lmdbx.List

// Work counts what a transaction has asked of the database.
type Work = lmdbx.Work

// A Txn is a snapshot. Bytes it returns are borrowed until it ends, those of
// [Txn.JSON] until its next call.
type Txn struct {
	db  *DB
	lx  *lmdbx.Txn
	now uint64
	key [8]byte // scratch for integer keys

	pending answer  // see removing
	frame   *[]byte // memory for decompressed JSON, nil before the first
}

// Now returns the time of the transaction in unix seconds.
func (tx *Txn) Now() uint64 { return tx.now }

// Work returns the counters of work done so far in this transaction.
func (tx *Txn) Work() *Work { return &tx.lx.Work }

// LastLevID returns the levId of the newest event ever stored, 0 for none. All
// events of the snapshot have a levId of at most that, and all later ones a
// larger one.
func (tx *Txn) LastLevID() (uint64, error) {
	next, err := getMeta(tx.lx, metaNextLevID)
	return next - 1, err
}

func (tx *Txn) intKey(n uint64) []byte { return lmdbx.AppendInt(tx.key[:0], n) }

// Packed returns the packed event with that levId, borrowed, and whether there
// is one.
func (tx *Txn) Packed(levID uint64) (packed.View, bool, error) {
	b, ok, err := tx.lx.Get(int(index.TableEvent), tx.intKey(levID))
	if err == nil && ok && len(b) < packed.HeaderSize {
		err = fmt.Errorf("%w: event %d is cut to %d bytes", ErrCorrupt, levID, len(b))
	}
	return packed.View(b), ok && err == nil, err
}

// JSON returns the canonical JSON of the event with that levId, and whether there
// is one. It is borrowed until the next call of JSON: compressed events are all
// decompressed into the same memory.
func (tx *Txn) JSON(levID uint64) ([]byte, bool, error) {
	b, ok, err := tx.lx.Get(int(index.TableEventPayload), tx.intKey(levID))
	if err != nil || !ok {
		return nil, false, err
	}
	b, err = tx.decode(b)
	if err != nil {
		err = fmt.Errorf("event %d: %w", levID, err)
	}
	return b, err == nil, err
}

// ByID returns the posting of the event with that id of 32 bytes, and whether
// it is stored.
func (tx *Txn) ByID(id []byte) (index.Posting, bool, error) {
	return tx.posting(index.TableEventID, id)
}

// Has reports whether the event with that id is stored and has not vanished, so
// that who submits it again is to be told that it is there. Whether it has
// expired is for the submitter to ask.
func (tx *Txn) Has(id []byte) (bool, error) {
	p, ok, err := tx.ByID(id)
	if err != nil || !ok {
		return false, err
	}
	if pending, err := tx.removing(); err != nil || !pending {
		return err == nil, err
	}
	v, err := tx.Must(p)
	if err != nil {
		return false, err
	}
	gone, err := tx.Vanished(v)
	return err == nil && !gone, err
}

// ByAddress returns the posting of the current version of an address made by
// [index.AppendAddress], and whether there is one.
func (tx *Txn) ByAddress(address []byte) (index.Posting, bool, error) {
	return tx.posting(index.TableReplace, address)
}

func (tx *Txn) posting(table index.TableID, key []byte) (index.Posting, bool, error) {
	b, ok, err := tx.lx.Get(int(table), key)
	if err != nil || !ok {
		return index.Posting{}, false, err
	}
	if len(b) != index.PostingSize {
		return index.Posting{}, false, fmt.Errorf("%w: table %s, key %x: posting of %d bytes",
			ErrCorrupt, index.Tables[table].Name, key, len(b))
	}
	return index.ReadPosting(b), true, nil
}

// List returns the posting list of a key in an index, before its first posting.
// The key must not change while the list is used.
func (tx *Txn) List(id index.ID, key []byte) List {
	return tx.lx.List(int(index.All[id].Table), key)
}

// Length returns the number of postings in the list of a key, in O(1).
func (tx *Txn) Length(id index.ID, key []byte) (uint64, error) {
	return tx.lx.Length(int(index.All[id].Table), key)
}

// Events returns the number of events stored.
func (tx *Txn) Events() (uint64, error) { return tx.lx.Entries(int(index.TableEvent)) }

// EachEvent calls fn with every stored event whose levId is at least from, in
// the order they were stored, until fn fails; [ErrStop] ends it early.
func (tx *Txn) EachEvent(from uint64, fn func(levID uint64, v packed.View) error) error {
	return tx.lx.Each(int(index.TableEvent), lmdbx.AppendInt(nil, from), func(key, val []byte) error {
		levID := lmdbx.Int(key)
		if len(val) < packed.HeaderSize {
			return fmt.Errorf("%w: event %d is cut to %d bytes", ErrCorrupt, levID, len(val))
		}
		return fn(levID, packed.View(val))
	})
}

// EachKey calls fn with every key of an index, in order, and the length of its
// list, until fn fails; [ErrStop] ends it early.
func (tx *Txn) EachKey(id index.ID, fn func(key []byte, n uint64) error) error {
	return tx.lx.EachKey(int(index.All[id].Table), fn)
}

// ErrStop, returned by the callback of an Each method, ends it without error.
var ErrStop = lmdbx.ErrStop

// hasExpired reports whether an event that has expired is still stored.
func (tx *Txn) hasExpired() (bool, error) {
	found := false
	err := tx.lx.Each(int(index.TableExpiration), nil, func(key, _ []byte) error {
		found = lmdbx.Int(key) <= tx.now
		return ErrStop
	})
	return found, err
}
