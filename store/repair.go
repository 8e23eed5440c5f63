package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/nostr"
	"wok/packed"
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
// that is committed.
func (r *repair) update(fn func(*Batch) error) error {
	err := r.db.update(func(b *Batch) error {
		r.aside, r.mended = r.aside[:0], 0
		if err := fn(b); err != nil {
			return err
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
// begins.
func (r *repair) meta(context.Context) error {
	return r.db.env.Update(func(lx *lmdbx.Txn) error {
		next := uint64(1)
		if n, err := getMeta(lx, metaNextLevID); err == nil && n <= index.MaxLevID+1 {
			next = n
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

// events mends each event that has a problem.
func (r *repair) events(ctx context.Context) error {
	for from, more := uint64(0), true; more; {
		var suspects []uint64
		err := r.look(ctx, func(c *checker) (err error) {
			suspects, from, more, err = c.suspects(from)
			return err
		})
		if err != nil {
			return err
		}
		for part := range slices.Chunk(suspects, repairBatch) {
			err := r.update(func(b *Batch) error {
				for _, levID := range part {
					if err := r.mend(b, levID); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if err := r.progress(ctx, from, more); err != nil {
			return err
		}
	}
	return nil
}

func (r *repair) progress(ctx context.Context, next uint64, more bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.opts.Progress == nil {
		return nil
	}
	return r.db.View(ctx, func(tx *Txn) error {
		last, err := tx.LastLevID()
		if !more {
			next = last
		}
		r.opts.Progress(min(next, last), last)
		return err
	})
}

// suspects returns the events from a levId on that have a problem, up to some
// number of events, and where to go on.
func (c *checker) suspects(from uint64) (found []uint64, next uint64, more bool, err error) {
	n, last := 0, ^uint64(0)
	note := func(levID uint64) { found = append(found, levID) }
	begin := lmdbx.AppendInt(nil, from)
	err = c.file.Each(int(index.TableEvent), begin, nil, func(key, val []byte) error {
		if n == repairSlice {
			more = true
			return ErrStop
		}
		n++
		last = lmdbx.Int(key)
		before := c.report.Total() + c.unread
		c.event(key, val)
		if c.report.Total()+c.unread > before {
			note(last)
		}
		return nil
	})
	if !more {
		last = ^uint64(0)
	}
	if err != nil {
		return nil, 0, false, err
	}
	err = c.file.Each(int(index.TableEventPayload), begin, nil, func(key, val []byte) error {
		levID := lmdbx.Int(key)
		switch {
		case levID > last:
			return ErrStop
		case c.stray(index.TableEventPayload, key, val) != "":
			note(levID)
		}
		return nil
	})
	slices.Sort(found)
	return slices.Compact(found), last + 1, more, err
}

// mend makes the rows of one event from its JSON, or removes it.
func (r *repair) mend(b *Batch, levID uint64) error {
	val, ok, err := b.lx.Get(int(index.TableEventPayload), b.intKey(levID))
	if err != nil {
		return err
	}
	if !ok {
		return r.dropEvent(b, levID, "its JSON is missing")
	}
	ev, why := r.read(b, val)
	switch {
	case ev == nil:
		return r.dropEvent(b, levID, why)
	case levID == 0 || levID > index.MaxLevID:
		return r.moveEvent(b, levID, ev)
	}
	why, err = r.against(b, levID, ev.Packed)
	if err != nil {
		return err
	}
	if why != "" {
		return r.dropEvent(b, levID, why)
	}
	r.mended++
	return b.restore(levID, ev)
}

// read returns the event in a payload, or why there is none.
func (r *repair) read(b *Batch, val []byte) (*nostr.Event, string) {
	json, err := b.decode(val)
	if err != nil {
		return nil, err.Error()
	}
	ev, err := r.parser.Parse(bytes.Clone(json)) // the next write moves it
	if err != nil {
		return nil, "the JSON is no event: " + err.Error()
	}
	if r.opts.Verify && !signed(ev) {
		return nil, "its signature is wrong"
	}
	return ev, ""
}

// moveEvent stores an event anew whose levId no event can have.
func (r *repair) moveEvent(b *Batch, levID uint64, ev *nostr.Event) error {
	if err := r.dropEvent(b, levID, "no event can have this levId"); err != nil {
		return err
	}
	p, ok, err := b.ByID(ev.Packed.ID())
	if ignoreCorrupt(err) != nil {
		return err
	}
	if ok && !r.holds(b, p.LevID(), ev.Packed.ID()) {
		if _, err := b.lx.Delete(int(index.TableEventID), ev.Packed.ID(), nil); err != nil {
			return err
		}
	}
	_, err = b.Put(ev)
	return err
}

// dropEvent removes the two rows of an event that hold it, and sets them aside.
// Its other rows follow in rows, as those of no event.
func (r *repair) dropEvent(b *Batch, levID uint64, why string) error {
	for _, table := range []index.TableID{index.TableEventPayload, index.TableEvent} {
		key := lmdbx.AppendInt(nil, levID)
		val, ok, err := b.lx.Get(int(table), key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := r.drop(b, table, key, val, why); err != nil {
			return err
		}
	}
	return nil
}

// against returns what speaks against an event that is there: that it is there
// twice, is deleted, has vanished or is superseded. An older version than it is
// removed.
func (r *repair) against(b *Batch, levID uint64, v packed.View) (string, error) {
	if p, ok, err := b.ByID(v.ID()); err == nil && ok && p.LevID() != levID && r.holds(b, p.LevID(), v.ID()) {
		return fmt.Sprintf("it is event %d as well", p.LevID()), nil
	}
	if dead, err := b.hasTombstone(v); err != nil || dead {
		return "its author has deleted it", err
	}
	if gone, err := b.Vanished(v); err != nil || gone {
		return "its author has asked to vanish", err
	}
	addr, ok := index.AddressOf(nil, v)
	if !ok {
		return "", nil
	}
	if m, ok, err := b.mark(addr); err == nil && ok && m.covers(v) {
		return "its author has deleted its address", nil
	}
	return r.againstVersion(b, levID, addr, v)
}

// holds reports whether an event with that id can be read under a levId.
func (r *repair) holds(b *Batch, levID uint64, id []byte) bool {
	val, ok, err := b.lx.Get(int(index.TableEventPayload), lmdbx.AppendInt(nil, levID))
	if err != nil || !ok {
		return false
	}
	json, err := b.decode(val)
	if err != nil {
		return false
	}
	ev, err := r.other.Parse(json)
	return err == nil && bytes.Equal(ev.Packed.ID(), id)
}

func (r *repair) againstVersion(b *Batch, levID uint64, addr []byte, v packed.View) (string, error) {
	p, ok, err := b.ByAddress(addr)
	if err != nil || !ok || p.LevID() == levID {
		return "", ignoreCorrupt(err)
	}
	other, ok, err := b.sound(p.LevID())
	if err != nil || !ok || !r.holds(b, p.LevID(), other.ID()) {
		return "", err
	}
	if own, is := index.AddressOf(nil, other); !is || !bytes.Equal(own, addr) || bytes.Equal(other.ID(), v.ID()) {
		return "", nil
	}
	if supersedes(v, other) {
		return "", r.dropEvent(b, p.LevID(), fmt.Sprintf("event %d is a newer version", levID))
	}
	return fmt.Sprintf("event %d is a newer version", p.LevID()), nil
}

// ignoreCorrupt passes over a row that will be removed, or written over.
func ignoreCorrupt(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return nil
	}
	return err
}

// restore writes all rows of ev under its levId, whether they are there or not.
func (b *Batch) restore(levID uint64, ev *nostr.Event) error {
	v := ev.Packed
	p := index.NewPosting(v, levID)
	if err := b.restorePair(levID, ev); err != nil {
		return err
	}
	posting := p.Append(nil)
	if err := b.lx.Put(int(index.TableEventID), v.ID(), posting); err != nil {
		return err
	}
	if addr, ok := index.AddressOf(nil, v); ok {
		if err := b.lx.Put(int(index.TableReplace), addr, posting); err != nil {
			return err
		}
	}
	if e := v.Expiration(); e != 0 {
		if err := b.lx.Put(int(index.TableExpiration), b.intKey(e), lmdbx.AppendInt(nil, levID)); err != nil {
			return err
		}
	}
	b.next = max(b.next, levID+1)
	b.note(v, p, false)
	if v.Kind() == kindVanish {
		return b.applyVanish(v)
	}
	return nil
}

// restorePair writes the two rows that hold an event, where they differ.
func (b *Batch) restorePair(levID uint64, ev *nostr.Event) error {
	old, ok, err := b.lx.Get(int(index.TableEvent), b.intKey(levID))
	if err == nil && (!ok || !bytes.Equal(old, ev.Packed)) {
		err = b.lx.Put(int(index.TableEvent), b.intKey(levID), ev.Packed)
	}
	if err != nil {
		return err
	}
	old, ok, err = b.lx.Get(int(index.TableEventPayload), b.intKey(levID))
	if err != nil {
		return err
	}
	if json, err := b.decode(old); ok && err == nil && bytes.Equal(json, ev.JSON) && b.dictionaryOf(old) {
		return nil
	}
	dst, err := b.lx.PutReserve(int(index.TableEventPayload), b.intKey(levID), plainSize(ev.JSON))
	if err == nil {
		encodePlain(dst, ev.JSON)
	}
	return err
}

// dictionaryOf reports whether the database has the dictionary of a payload. One
// that is gone may still be in memory, so that decode does without.
func (b *Batch) dictionaryOf(val []byte) bool {
	p, err := parsePayload(val)
	if err != nil || p.form <= 0 {
		return err == nil
	}
	_, ok, err := b.lx.Get(int(index.TableCompressionDictionary), lmdbx.AppendInt(nil, uint64(p.form)))
	return ok && err == nil
}
