package store

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/packed"
)

const (
	// applyRows is how many rows go into one transaction.
	applyRows = 10_000
	// applyBytes is how many bytes do.
	applyBytes = 16 << 20
	// maxValue bounds a value of a row, in bytes. The largest event may have 64
	// MiB, and is spelled longer as stored than as it was sent at no point.
	maxValue = 128 << 20
	maxKey   = 511 // LMDB's bound
)

// An applier brings a database from one archive's state to the next one's.
type applier struct {
	ctx      context.Context
	db       *DB
	in       *archiveReader
	m        *Manifest
	progress func(done, total int64)
}

func (a *applier) run() error {
	for _, step := range []func() error{a.removals, a.tables, a.events, a.in.finish} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// removals removes the events whose levIds are not in the set of those there.
func (a *applier) removals() error {
	set := levIDReader{in: bufio.NewReader(a.in.stream(memberPresent))}
	var gone []uint64
	err := a.db.View(a.ctx, func(tx *Txn) error {
		return tx.EachEvent(0, func(levID uint64, _ packed.View) error {
			there, err := set.has(levID)
			if err == nil && !there {
				gone = append(gone, levID)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, set.in); err != nil {
		return err
	}
	for some := range slices.Chunk(gone, applyRows) {
		if a.ctx.Err() != nil {
			return context.Cause(a.ctx)
		}
		err := a.db.update(func(b *Batch) error {
			for _, levID := range some {
				if _, err := b.Delete(levID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tables replaces the rows of the tables that increments hold whole.
func (a *applier) tables() error {
	left := carried()
	for strings.HasPrefix(a.in.name, memberTables) {
		name, _, _ := strings.Cut(strings.TrimPrefix(a.in.name, memberTables), "/")
		at := slices.IndexFunc(left, func(t index.TableID) bool { return index.Tables[t].Name == name })
		if at < 0 {
			return fmt.Errorf("%w: it has a table %q out of turn, or one that this wok does not know", ErrArchive, name)
		}
		if err := a.table(left[at]); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		left = slices.Delete(left, at, at+1)
	}
	for _, t := range left { // tables without rows are left out
		if isState(t) {
			if err := a.db.env.Update(func(lx *lmdbx.Txn) error { return lx.Empty(int(t)) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// A row is one of a table, on its way into it.
type row struct{ key, val []byte }

// table puts the rows of the stream at hand into a table, in place of those that
// are there: but those of Meta about indexes, which are of the file, and
// dictionaries, which events up to now may need.
func (a *applier) table(t index.TableID) error {
	in := bufio.NewReader(a.in.stream(memberTables + index.Tables[t].Name))
	if isState(t) {
		if err := a.db.env.Update(func(lx *lmdbx.Txn) error { return lx.Empty(int(t)) }); err != nil {
			return err
		}
	}
	for {
		rows, err := readRows(in)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		if a.ctx.Err() != nil {
			return context.Cause(a.ctx)
		}
		err = a.db.env.Update(func(lx *lmdbx.Txn) error {
			for _, r := range rows {
				if t == index.TableMeta && isOfFile(r.key) {
					continue
				}
				if err := lx.Put(int(t), r.key, r.val); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// isOfFile reports whether a key of Meta is about how the rows of this data file
// are made, and not about what they hold. Events keep the form that they have,
// whatever the source has compressed since.
func isOfFile(key []byte) bool {
	k := string(key)
	return k == string(metaFormat) || k == string(metaIndexes) || k == string(metaCompressed) ||
		strings.HasPrefix(k, buildPrefix) || strings.HasPrefix(k, retiredPrefix)
}

// readRows reads rows for one transaction, none at the end.
func readRows(in *bufio.Reader) (rows []row, err error) {
	for size := 0; len(rows) < applyRows && size < applyBytes; {
		n, err := readNumber(in, maxKey)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		vals, err := readValues(in, int(n))
		if err != nil {
			return nil, err
		}
		size += len(vals[0]) + len(vals[1])
		rows = append(rows, row{vals[0], vals[1]})
	}
	return rows, nil
}

// readValues reads the length of a second value, then the first, which has n
// bytes, and the second.
func readValues(in *bufio.Reader, n int) (vals [2][]byte, err error) {
	second, err := readNumber(in, maxValue)
	if err != nil {
		return vals, inRecord(err)
	}
	for i, n := range [2]int{n, int(second)} {
		if vals[i], err = readBytes(in, n); err != nil {
			return vals, inRecord(err)
		}
	}
	return vals, nil
}

// readBytes reads n bytes. It takes no more memory than twice what comes, whatever
// a broken length says.
func readBytes(in io.Reader, n int) ([]byte, error) {
	b := make([]byte, 0, min(n, 64<<10))
	for len(b) < n {
		b = slices.Grow(b, min(n-len(b), max(len(b), 1)))
		part := b[len(b):min(n, cap(b))]
		if _, err := io.ReadFull(in, part); err != nil {
			return nil, err
		}
		b = b[:len(b)+len(part)]
	}
	return b, nil
}

// A carriedEvent is an event on its way into the database.
type carriedEvent struct {
	levID   uint64
	packed  packed.View
	payload []byte
}

// events puts the events that came since into the database, but those that are
// there because the archives overlap.
func (a *applier) events() error {
	in := bufio.NewReader(a.in.stream(memberEvents))
	for last := a.m.Since; ; {
		evs, err := readEvents(in, &last)
		if err != nil {
			return err
		}
		if len(evs) == 0 {
			return nil
		}
		if a.ctx.Err() != nil {
			return context.Cause(a.ctx)
		}
		if last > a.m.Last {
			return fmt.Errorf("%w: event %d comes after the last one, %d", ErrArchive, last, a.m.Last)
		}
		err = a.db.update(func(b *Batch) error {
			top, err := b.LastLevID()
			if err != nil {
				return err
			}
			for i := range evs {
				if err := b.place(&evs[i], evs[i].levID > top); err != nil {
					return err
				}
			}
			// Meta, which has come before, names the levId to go on with.
			b.first, b.next = a.m.Last+1, a.m.Last+1
			return nil
		})
		if err != nil {
			return err
		}
		if a.progress != nil {
			a.progress(int64(last-a.m.Since), int64(a.m.Last-a.m.Since))
		}
	}
}

// readEvents reads events for one transaction, none at the end. Their levIds go
// up from last, which it moves.
func readEvents(in *bufio.Reader, last *uint64) (evs []carriedEvent, err error) {
	for size := 0; len(evs) < applyRows && size < applyBytes; {
		levID, err := readNumber(in, index.MaxLevID)
		if err == io.EOF {
			return evs, nil
		}
		if err != nil {
			return nil, err
		}
		if levID <= *last {
			return nil, fmt.Errorf("%w: event %d comes after %d", ErrArchive, levID, *last)
		}
		*last = levID
		n, err := readNumber(in, maxValue)
		if err != nil {
			return nil, inRecord(err)
		}
		vals, err := readValues(in, int(n))
		if err != nil {
			return nil, err
		}
		v, err := packed.Parse(vals[0])
		if err != nil {
			return nil, fmt.Errorf("%w: event %d: %w", ErrArchive, levID, err)
		}
		size += len(vals[0]) + len(vals[1])
		evs = append(evs, carriedEvent{levID, v, vals[1]})
	}
	return evs, nil
}

// place writes an event under the levId that it had, unless it is there. On top
// it is written where it comes after all others.
func (b *Batch) place(ev *carriedEvent, onTop bool) error {
	old, ok, err := b.Packed(ev.levID)
	if err != nil {
		return err
	}
	if ok {
		if !bytes.Equal(old.ID(), ev.packed.ID()) {
			return fmt.Errorf("%w: there is another event %d than the archive has", ErrChain, ev.levID)
		}
		return nil
	}
	if _, dup, err := b.ByID(ev.packed.ID()); err != nil {
		return err
	} else if dup {
		return fmt.Errorf("%w: event %d is there under another levId", ErrChain, ev.levID)
	}
	put := b.lx.Put
	if onTop {
		put = b.lx.Append // fills pages to the end
	}
	key := lmdbx.AppendInt(nil, ev.levID)
	if err := put(int(index.TableEvent), key, ev.packed); err != nil {
		return err
	}
	if err := put(int(index.TableEventPayload), key, ev.payload); err != nil {
		return err
	}
	return b.enter(ev.packed, index.NewPosting(ev.packed, ev.levID))
}
