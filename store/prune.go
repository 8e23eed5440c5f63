package store

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"wok/index"
)

const (
	// pruneEvents bounds the events that one transaction removes, some 10 ms of
	// writing, so that those who wait to write do not wait for long.
	pruneEvents = sweepEvents
	// maxRest bounds the pause after a transaction.
	maxRest = time.Second
)

// A Pick finds events that are to be removed: in each call some of them, at most
// n, in the snapshot of tx. It reports whether there may be more. It must get on
// by itself: what it has named may still be there when it is asked again. A pick
// that names none only pauses.
type Pick func(tx *Txn, n int) (levIDs []uint64, more bool, err error)

// PruneOptions say how events are removed.
type PruneOptions struct {
	// Tombstones keep the events from coming back, as if their authors had
	// deleted them now; see [Batch.Bury].
	Tombstones bool
	// Progress is told after each transaction what all of them have come to.
	Progress func(Pruned)
}

// Pruned says what pruning has come to.
type Pruned struct {
	Events     uint64 // that were removed
	Unreadable uint64 // that were not, since they cannot be read; see Check
}

// Prune removes the events that pick names, until it names no more, ctx ends or
// writing fails. It goes in small transactions, each of which leaves a sound
// database, and rests after each for as long as that took: whoever else wants to
// write has at least half of the time. A full disk is no obstacle, as to remove
// is what makes room.
func (db *DB) Prune(ctx context.Context, pick Pick, opts PruneOptions) (Pruned, error) {
	var sum Pruned
	for more := true; more; {
		began := time.Now()
		var levIDs []uint64
		err := db.View(ctx, func(tx *Txn) (err error) {
			levIDs, more, err = pick(tx, pruneEvents)
			return err
		})
		if err != nil {
			return sum, err
		}
		n, err := db.remove(levIDs, opts.Tombstones)
		sum.Events += n.Events
		sum.Unreadable += n.Unreadable
		if err != nil {
			return sum, err
		}
		if opts.Progress != nil {
			opts.Progress(sum)
		}
		pause(ctx, min(time.Since(began), maxRest))
		if more && ctx.Err() != nil {
			return sum, context.Cause(ctx)
		}
	}
	return sum, nil
}

// remove removes events in one transaction, or in several: where there is one
// among them on a damaged page, which spoils a transaction, and on a full disk,
// where the free pages of the file may be enough for a few events only, which
// leave more of them.
func (db *DB) remove(levIDs []uint64, tombstones bool) (sum Pruned, err error) {
	if len(levIDs) == 0 {
		return sum, nil
	}
	err = db.update(func(b *Batch) (err error) {
		sum, err = b.removeAll(levIDs, tombstones)
		return err
	})
	switch {
	case err == nil:
		return sum, nil
	case !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNoSpace):
		return Pruned{}, err
	case len(levIDs) > 1:
	case errors.Is(err, ErrDamaged):
		return Pruned{Unreadable: 1}, nil
	default:
		return Pruned{}, err
	}
	half := len(levIDs) / 2
	a, err := db.remove(levIDs[:half], tombstones)
	if err != nil {
		return a, err
	}
	b, err := db.remove(levIDs[half:], tombstones)
	return Pruned{a.Events + b.Events, a.Unreadable + b.Unreadable}, err
}

func (b *Batch) removeAll(levIDs []uint64, tombstones bool) (sum Pruned, err error) {
	remove := b.Delete
	if tombstones {
		remove = b.Bury
	}
	for _, levID := range levIDs {
		ok, err := remove(levID)
		switch {
		case errors.Is(err, ErrCorrupt):
			sum.Unreadable++
		case err != nil:
			return sum, err
		case ok:
			sum.Events++
		}
	}
	return sum, nil
}

// Bury removes an event as [Batch.Delete] does, and keeps it from coming again
// as a deletion by its author would; of an address, older versions too. Nobody
// can do so with deletions (kind 5) and requests to vanish (kind 62): they are
// only removed.
func (b *Batch) Bury(levID uint64) (bool, error) {
	v, ok, err := b.readable(levID)
	if err != nil || !ok {
		return false, err
	}
	switch addr, ok := index.AddressOf(b.addr[:0], v); {
	case ok:
		b.addr = addr
		err = b.raise(addr, markOf(v))
	case !lasts(v.Kind()):
		key := append(append(make([]byte, 0, 64), v.ID()...), v.Pubkey()...)
		err = b.lx.Put(int(index.TableDeletion), key, binary.BigEndian.AppendUint64(nil, b.now))
	}
	if err != nil {
		return false, err
	}
	return b.Delete(levID)
}
