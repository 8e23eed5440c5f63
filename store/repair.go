package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/nostr"
)

// RepairOptions say how [DB.Repair] goes about it.
type RepairOptions struct {
	// Aside is given the rows that are about to be removed, before they are: what
	// it has returned from must be safe. It may be given the same rows again.
	Aside func([]Aside) error
	// Progress is called now and then with the number of events looked at and
	// of all.
	Progress func(done, total uint64)
	// Verify asks for signatures too: an event whose is wrong is set aside.
	Verify bool
}

// An Aside is a row that cannot stay where it was.
type Aside struct {
	Table    string // empty where only the row itself is known
	Key, Val []byte // valid during the call
	JSON     []byte // of the event, where it can be read
	Why      string
}

// Repaired says what a repair has done.
type Repaired struct {
	Events uint64 // looked at
	Mended uint64 // events whose rows were written anew
	Aside  uint64 // rows removed, each of which was given to Aside
}

// ErrBrokenPages is returned by Repair where pages of the file are broken. LMDB
// must not write to such a file; see [Salvage].
var ErrBrokenPages = errors.New("pages of the file are broken")

const (
	// repairSlice is how many rows are looked at on one snapshot.
	repairSlice = 20_000
	// repairBatch bounds the rows that one transaction mends, some 10 ms of
	// writing, so that those who wait to write do not wait for long.
	repairBatch = 200
)

// Repair makes the database what [DB.Check] calls sound. The JSON of an event
// counts: all other rows of the event are made from it again. An event whose
// JSON is no event, and a row that belongs to none, are removed and set aside;
// so are events that a deletion or a newer version speaks against.
//
// It looks at slices of the database and mends what is wrong in small
// transactions, between which others write. Each leaves a sounder database, so
// one that was cut off is simply run again. A process that reads and writes
// meanwhile does no harm and takes none.
func (db *DB) Repair(ctx context.Context, opts RepairOptions) (Repaired, error) {
	r := repair{db: db, opts: opts}
	for _, step := range []func(context.Context) error{r.structure, r.meta, r.marks, r.events, r.requests, r.rows} {
		if err := step(ctx); err != nil {
			return r.done, err
		}
	}
	return r.done, nil
}

// A repair is one Repair under way.
type repair struct {
	db   *DB
	opts RepairOptions
	done Repaired

	parser nostr.Parser
	other  nostr.Parser // for a second event beside the one in hand
	aside  []Aside      // of the transaction in hand
	mended uint64       // in it
}

// look runs fn on a snapshot.
func (r *repair) look(ctx context.Context, fn func(*checker) error) error {
	return r.db.inspect(ctx, func(file *lmdbx.File) error {
		c := newChecker(ctx, file, CheckOptions{Limit: 1 << 30, Verify: r.opts.Verify})
		return lmdbx.Guard(func() error {
			return errors.Join(c.meta(), fn(c))
		})
	})
}

// update runs fn in a write transaction and sets aside what it removes before
// that is committed. With each one that changes something the database becomes
// another: an increment holds no older event that was put right, so it must not
// go on from a backup that was taken before, or while the repair was at work.
func (r *repair) update(fn func(*Batch) error) error {
	err := r.db.update(func(b *Batch) error {
		r.aside, r.mended = r.aside[:0], 0
		if err := fn(b); err != nil {
			return err
		}
		if len(r.aside) > 0 || r.mended > 0 {
			if err := newIdentity(b.lx); err != nil {
				return err
			}
		}
		if len(r.aside) == 0 || r.opts.Aside == nil {
			return nil
		}
		return r.opts.Aside(r.aside)
	})
	if err == nil {
		r.done.Aside += uint64(len(r.aside))
		r.done.Mended += r.mended
	}
	return err
}

// drop removes a row, or one value of a list, and sets it aside.
func (r *repair) drop(b *Batch, table index.TableID, key, val []byte, why string) error {
	a := Aside{Table: index.Tables[table].Name, Key: bytes.Clone(key), Val: bytes.Clone(val), Why: why}
	if table == index.TableEventPayload {
		if json, err := b.decode(val); err == nil {
			a.JSON = bytes.Clone(json)
		}
	}
	var one []byte // of a list
	if index.Tables[table].DupSort {
		one = a.Val
	}
	gone, err := b.lx.Delete(int(table), a.Key, one)
	if err == nil && gone {
		r.aside = append(r.aside, a)
	}
	return err
}

// structure refuses to repair a file that has broken pages.
func (r *repair) structure(ctx context.Context) error {
	return r.look(ctx, func(c *checker) error {
		if err := c.structure(); err != nil {
			return err
		}
		if bs := c.file.Broken(); len(bs) > 0 {
			return fmt.Errorf("%w: %d of them, such as %s", ErrBrokenPages, len(bs), bs[0])
		}
		return nil
	})
}

// meta puts right what the database says about itself, without which no batch
// begins. Where it cannot tell which levIds were given out it may give some out
// again, to which no increment can go on.
func (r *repair) meta(context.Context) error {
	return r.db.env.Update(func(lx *lmdbx.Txn) error {
		next := uint64(1)
		known, err := getMeta(lx, metaNextLevID)
		if err == nil && known <= index.MaxLevID+1 {
			next = known
		}
		for _, table := range []index.TableID{index.TableEvent, index.TableEventPayload} {
			key, _, ok, err := lx.Last(int(table))
			if err != nil {
				return err
			}
			if levID, fits := levIDOf(key); ok && fits && levID <= index.MaxLevID {
				next = max(next, levID+1)
			}
		}
		if next != known {
			if err := newIdentity(lx); err != nil {
				return err
			}
		}
		return errors.Join(
			nextDictionary(lx),
			putMeta(lx, metaFormat, FormatVersion),
			putMeta(lx, metaNextLevID, next),
			lx.Put(int(index.TableMeta), metaIndexes, allIndexes()))
	})
}

// nextDictionary puts right which dictionary is to come next.
func nextDictionary(lx *lmdbx.Txn) error {
	key, _, ok, err := lx.Last(int(index.TableCompressionDictionary))
	if err != nil || !ok {
		return err
	}
	last, fits := dictionaryID(key)
	if next, err := getMeta(lx, metaNextDictionary); !fits || err == nil && next > uint64(last) {
		return nil
	}
	return putMeta(lx, metaNextDictionary, uint64(last)+1)
}
