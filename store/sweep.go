package store

import (
	"bytes"
	"context"
	"time"

	"wok/index"
	"wok/internal/lmdbx"
)

const (
	// sweepEvents bounds the events that one transaction of a sweep removes, some
	// 10 ms of writing, so that those who wait to write do not wait for long.
	sweepEvents = 500
	// sweepPostings bounds the postings looked at to find them, under a
	// millisecond of a snapshot.
	sweepPostings = 50_000
)

// Swept says what a sweep has removed.
type Swept struct {
	Expired  uint64 // events whose expiration has passed (NIP-40)
	Vanished uint64 // events that a request to vanish covers (NIP-62)
}

// Sweep removes from disk the events that are hidden for good, see
// [Txn.Hidden]: until none is left, ctx ends or writing fails. It goes in small
// transactions between which others write, each of which leaves a sound
// database, and the next sweep goes on where this one ended. Processes may sweep
// one database at the same time. A full disk is no obstacle, as to remove is
// what makes room.
func (db *DB) Sweep(ctx context.Context) (Swept, error) {
	s := sweep{db: db, stuck: map[uint64]bool{}}
	for _, step := range []func(context.Context) (bool, error){s.expired, s.vanished} {
		for more := true; more; {
			if ctx.Err() != nil {
				return s.swept, context.Cause(ctx)
			}
			var err error
			if more, err = step(ctx); err != nil {
				return s.swept, err
			}
		}
	}
	return s.swept, nil
}

// KeepSwept sweeps at once and then at every interval, until ctx ends. It hands
// report, unless nil, what each sweep came to that removed something or failed;
// after a failure the next one tries again.
func (db *DB) KeepSwept(ctx context.Context, interval time.Duration, report func(Swept, error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		swept, err := db.Sweep(ctx)
		if ctx.Err() != nil {
			err = nil
		}
		if report != nil && (swept != Swept{} || err != nil) {
			report(swept, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// A sweep is one Sweep under way.
type sweep struct {
	db    *DB
	swept Swept
	stuck map[uint64]bool // events that cannot be read, so not removed; see Check
}

// expired removes some expired events and reports whether there may be more.
func (s *sweep) expired(ctx context.Context) (bool, error) {
	var due []uint64
	err := s.db.View(ctx, func(tx *Txn) (err error) {
		due, err = tx.due(sweepEvents, s.stuck)
		return err
	})
	if err != nil || len(due) == 0 {
		return false, err
	}
	removed := uint64(0)
	err = s.db.update(func(b *Batch) error {
		removed = 0
		for _, levID := range due {
			ok, err := b.removeExpired(levID)
			if err != nil {
				return err
			}
			if ok {
				removed++
			} else {
				s.stuck[levID] = true
			}
		}
		return nil
	})
	if err == nil {
		s.swept.Expired += removed
	}
	return true, err
}

// due returns up to n expired events, without those to be left out.
func (tx *Txn) due(n int, without map[uint64]bool) (levIDs []uint64, err error) {
	err = tx.lx.Each(int(index.TableExpiration), nil, func(key, val []byte) error {
		if lmdbx.Int(key) > tx.now || len(levIDs) == n {
			return ErrStop
		}
		if levID := lmdbx.Int(val); !without[levID] {
			levIDs = append(levIDs, levID)
		}
		return nil
	})
	return levIDs, err
}

// removeExpired removes an event that has expired, and reports whether it was
// there. Of an address it was the latest version, and stays that: older ones do
// not come back (40-R4).
func (b *Batch) removeExpired(levID uint64) (bool, error) {
	v, ok, err := b.sound(levID)
	if err != nil || !ok || !v.Expired(b.now) {
		return false, err
	}
	if addr, ok := index.AddressOf(b.addr[:0], v); ok {
		b.addr = addr
		if err := b.raise(addr, markOf(v)); err != nil {
			return false, err
		}
	}
	return b.Delete(levID)
}

// A removal is how far the removal of one part of what has vanished has come.
type removal struct {
	key        []byte // of the row in vanishing
	from, next []byte // its value before and after this step; nil when all is done
	levIDs     []uint64
}

// vanished removes some of what has vanished and reports whether there may be
// more.
func (s *sweep) vanished(ctx context.Context) (bool, error) {
	var removals []removal
	err := s.db.View(ctx, func(tx *Txn) (err error) {
		removals, err = tx.removals()
		return err
	})
	if err != nil || len(removals) == 0 {
		return false, err
	}
	removed := uint64(0)
	err = s.db.update(func(b *Batch) error {
		removed = 0
		for i := range removals {
			n, err := b.remove(&removals[i])
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	if err == nil {
		s.swept.Vanished += removed
	}
	return true, err
}

// removals returns what is to be removed next. Many small ones, as of many keys
// without events, are taken together. Rows that cannot be right are passed over.
func (tx *Txn) removals() (rs []removal, err error) {
	events, postings := sweepEvents, sweepPostings
	err = tx.lx.Each(int(index.TableVanishing), nil, func(key, val []byte) error {
		if events <= 0 || postings <= 0 || len(rs) == sweepEvents {
			return ErrStop
		}
		if !isVanishing(key, val) {
			return nil
		}
		r := removal{key: bytes.Clone(key), from: bytes.Clone(val)}
		walked, err := tx.find(&r, events, postings)
		events -= len(r.levIDs)
		postings -= walked
		rs = append(rs, r)
		return err
	})
	return rs, err
}

// isVanishing reports whether a row of vanishing has the form of one.
func isVanishing(key, val []byte) bool {
	return len(key) == vanishingSize && part(key[vanishingSize-1]) < parts && len(val) == index.PostingSize
}

// find fills r with up to that many events of the next postings, and returns
// how many postings it has passed.
func (tx *Txn) find(r *removal, events, postings int) (walked int, err error) {
	p := part(r.key[vanishingSize-1])
	list := tx.listOf(r.key[:vanishingSize-1], p)
	ok, err := list.Seek(index.ReadPosting(r.from))
	for ; err == nil && ok; ok, err = list.Next() {
		q := list.Posting()
		if len(r.levIDs) == events || walked == postings {
			r.next = q.Append(nil)
			return walked, nil
		}
		walked++
		if p.covers(q) {
			r.levIDs = append(r.levIDs, q.LevID())
		}
	}
	return walked, err
}

// remove removes the events of r and notes how far that is. Where another
// request, or another process, has moved the row since, that stands.
func (b *Batch) remove(r *removal) (removed uint64, err error) {
	for _, levID := range r.levIDs {
		v, ok, err := b.sound(levID)
		if err != nil {
			return removed, err
		}
		if ok {
			ok, err = b.Vanished(v)
		}
		if err == nil && ok {
			ok, err = b.Delete(levID)
		}
		if err != nil {
			return removed, err
		}
		if ok {
			removed++
		}
	}
	return removed, b.moveOn(r)
}

func (b *Batch) moveOn(r *removal) error {
	now, ok, err := b.lx.Get(int(index.TableVanishing), r.key)
	if err != nil || !ok || !bytes.Equal(now, r.from) {
		return err
	}
	if r.next != nil {
		return b.lx.Put(int(index.TableVanishing), r.key, r.next)
	}
	_, err = b.lx.Delete(int(index.TableVanishing), r.key, nil)
	return err
}
