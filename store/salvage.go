package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"wok/index"
	"wok/internal/lmdbx"
)

// Salvaged says what came of [Salvage].
type Salvaged struct {
	Events   uint64 // in the new database
	Broken   uint64 // pages of the old file that are broken
	Missing  uint64 // pages that it ends too early; nobody knows what stood there
	Repaired        // what was set aside, and what the repair at the end did
}

// metaSalvage is the key of how far a salvage has come in the new database, as
// long as it is not whole: the levId of the next event, uint64, big endian.
var metaSalvage = []byte("salvage")

// Salvage makes a new database, in into.Dir, of what can be read in the file of
// the one in dir, whatever has become of it. Events keep their levIds. What
// cannot be an event or a mark of deletion is set aside, and so are events on
// pages that may be free ones, since they may have been removed.
//
// Nobody may have the old database open, and nobody can meanwhile; it is not
// changed. A salvage that was cut off goes on where it stopped.
func Salvage(ctx context.Context, dir string, into Options, opts RepairOptions) (Salvaged, error) {
	if sameFile(dir, into.Dir) {
		return Salvaged{}, fmt.Errorf("salvage %s: what can be read of it must go into another directory", dir)
	}
	lock, err := lmdbx.LockAlone(dir)
	if err != nil && !errors.Is(err, syscall.EROFS) { // there nobody writes
		return Salvaged{}, err
	}
	if lock != nil {
		defer lock.Close()
	}
	file, wrong, err := lmdbx.OpenFile(dir, tables(), true)
	if err != nil {
		return Salvaged{}, err
	}
	defer file.Close() // it was only read
	s := salvage{file: file, opts: opts, levIDs: map[uint64]bool{}}
	if wrong != nil {
		s.done.Broken++
	}
	err = lmdbx.Guard(func() error {
		_, err := file.Verify(func(uint64, uint64) error { return context.Cause(ctx) })
		return err
	})
	s.done.Broken += uint64(len(file.Broken()))
	if s.done.Broken > 0 {
		s.done.Missing = file.Missing()
	}
	if err == nil && wrong == nil {
		err = acceptFile(file)
	}
	if err != nil {
		return s.done, fmt.Errorf("salvage %s: %w", dir, err)
	}
	err = s.into(ctx, into)
	return s.done, err
}

// sameFile reports whether two paths lead to one file. A process is not kept out
// by its own lock, so it must not come to the old database by another name.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// A salvage is one Salvage under way.
type salvage struct {
	file   *lmdbx.File
	opts   RepairOptions
	done   Salvaged
	repair repair
	batch  []entry         // payloads to be copied next
	levIDs map[uint64]bool // of those in batch that were found on pages of no table
	begun  uint64          // where the run before has stopped
}

func (s *salvage) into(ctx context.Context, opts Options) (err error) {
	opts.salvaging = true
	db, err := Open(opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s.repair = repair{db: db, opts: s.opts}
	if err := s.begin(ctx, db); err != nil {
		return err
	}
	err = s.fill(ctx, db)
	s.done.Mended += s.repair.done.Mended
	s.done.Aside += s.repair.done.Aside
	// Also where ctx has ended: what was copied until then stays.
	return errors.Join(err, db.View(context.WithoutCancel(ctx), func(tx *Txn) (err error) {
		s.done.Events, err = tx.Events()
		return err
	}))
}

// fill makes the new database, step by step, and repairs what has come of it.
func (s *salvage) fill(ctx context.Context, db *DB) error {
	for _, step := range []func(context.Context) error{s.marks, s.lostMarks, s.events, s.lostEvents, s.orphans} {
		if err := lmdbx.Guard(func() error { return step(ctx) }); err != nil {
			return err
		}
	}
	last, err := db.Repair(ctx, RepairOptions{Aside: s.opts.Aside, Verify: s.opts.Verify})
	s.done.Mended, s.done.Aside = last.Mended, last.Aside
	if err != nil {
		return err
	}
	return s.finish()
}

// begin refuses a database that has other events, and finds where an earlier run
// has stopped.
func (s *salvage) begin(ctx context.Context, db *DB) error {
	return db.View(ctx, func(tx *Txn) error {
		next, err := getMeta(tx.lx, metaSalvage)
		if err == nil {
			s.begun = next
			return nil
		}
		n, err := tx.Events()
		if err == nil && n > 0 {
			err = fmt.Errorf("%s is not empty: what is salvaged must go into a new database", db.Dir())
		}
		return err
	})
}

// underived are the tables that do not follow from events, and are copied.
var underived = [...]index.TableID{
	index.TableCompressionDictionary, index.TableNegentropyFilter, index.TableDeletion,
	index.TableReplaceDeletion, index.TableVanish, index.TableVanishing,
}

// marks copies the tables that do not follow from events. The repair at the end
// sets aside what has no form.
func (s *salvage) marks(ctx context.Context) error {
	err := s.repair.update(func(b *Batch) error {
		next := max(1, s.begun)
		if n, err := s.fromMeta(metaNextLevID); err == nil && n <= index.MaxLevID {
			next = max(next, n)
		}
		b.next = max(b.next, next)
		if n, err := s.fromMeta(metaNextDictionary); err == nil {
			if err := putMeta(b.lx, metaNextDictionary, n); err != nil {
				return err
			}
		}
		return putMeta(b.lx, metaSalvage, s.begun)
	})
	for _, table := range underived {
		if err == nil {
			err = s.copyTable(ctx, table)
		}
	}
	return err
}

// fromMeta reads a number that the old database says of itself.
func (s *salvage) fromMeta(key []byte) (uint64, error) {
	val, ok, err := s.file.Get(int(index.TableMeta), key)
	if err == nil && (!ok || len(val) != 8) {
		err = ErrCorrupt
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(val), nil
}

func (s *salvage) copyTable(ctx context.Context, table index.TableID) error {
	var rows []entry
	flush := func() error {
		err := s.repair.update(func(b *Batch) error {
			for _, r := range rows {
				if err := b.lx.Put(int(table), r.key, r.val); err != nil {
					return err
				}
			}
			return nil
		})
		rows = rows[:0]
		return err
	}
	err := s.file.Each(int(table), nil, nil, func(key, val []byte) error {
		rows = append(rows, entry{key: key, val: val})
		if len(rows) < salvageBatch {
			return nil
		}
		return errors.Join(flush(), context.Cause(ctx))
	})
	return errors.Join(err, flush())
}

// salvageBatch is how many rows go into one transaction. Nobody else writes.
const salvageBatch = 2000

// events copies the events that stand in their table.
func (s *salvage) events(ctx context.Context) error {
	n := uint64(0)
	err := s.file.Each(int(index.TableEventPayload), lmdbx.AppendInt(nil, s.begun), nil, func(key, val []byte) error {
		s.batch = append(s.batch, entry{key: key, val: val})
		if len(s.batch) < salvageBatch {
			return nil
		}
		if n += salvageBatch; s.opts.Progress != nil {
			s.opts.Progress(n, max(n, s.file.Entries(int(index.TableEventPayload))))
		}
		return errors.Join(s.flush(true), context.Cause(ctx))
	})
	return errors.Join(err, s.flush(true))
}

// flush copies the payloads in the batch, and makes all other rows of them. Those
// of their table come in order, so that a later run may go on behind them.
func (s *salvage) flush(inOrder bool) error {
	if len(s.batch) == 0 {
		return nil
	}
	err := s.repair.update(func(b *Batch) error {
		for _, r := range s.batch {
			levID := lmdbx.Int(r.key)
			if err := b.lx.Put(int(index.TableEventPayload), r.key, r.val); err != nil {
				return err
			}
			if err := s.repair.mend(b, levID); err != nil {
				return err
			}
			if inOrder {
				if err := putMeta(b.lx, metaSalvage, levID+1); err != nil {
					return err
				}
			}
		}
		return nil
	})
	s.batch = s.batch[:0]
	clear(s.levIDs)
	return err
}

// orphans sets aside packed events whose JSON was not found.
func (s *salvage) orphans(ctx context.Context) error {
	return s.file.Each(int(index.TableEvent), nil, nil, func(key, val []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		found := false
		err := s.repair.db.View(ctx, func(tx *Txn) error {
			p, ok, err := tx.posting(index.TableEventID, val[:min(len(val), 32)])
			found = ok && p.LevID() == lmdbx.Int(key)
			if errors.Is(err, ErrCorrupt) {
				err = nil
			}
			return err
		})
		if err != nil || found {
			return err
		}
		return s.setAside(index.Tables[index.TableEvent].Name, key, val, "its JSON cannot be read, or speaks of another event")
	})
}

// setAside sets aside a row of the old database.
func (s *salvage) setAside(table string, key, val []byte, why string) error {
	a := Aside{Table: table, Key: key, Val: val, Why: why}
	err := s.repair.db.View(context.Background(), func(tx *Txn) error {
		if json, err := tx.decode(val); err == nil {
			a.JSON = bytes.Clone(json)
		}
		return nil
	})
	s.repair.done.Aside++
	if s.opts.Aside == nil {
		return err
	}
	return errors.Join(err, s.opts.Aside([]Aside{a}))
}

// finish makes the new database one like any other, which Open takes.
func (s *salvage) finish() error {
	return s.repair.update(func(b *Batch) error {
		_, err := b.lx.Delete(int(index.TableMeta), metaSalvage, nil)
		return err
	})
}
