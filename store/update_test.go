package store_test

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// levIDs returns the levIds of all events.
func levIDs(t *testing.T, db *store.DB) (levIDs []uint64) {
	t.Helper()
	view(t, db, func(tx *store.Txn) error {
		return tx.EachEvent(0, func(levID uint64, _ packed.View) error {
			levIDs = append(levIDs, levID)
			return nil
		})
	})
	return levIDs
}

func remove(t *testing.T, db *store.DB, levIDs ...uint64) {
	t.Helper()
	err := db.Update(func(b *store.Batch) error {
		for _, id := range levIDs {
			if ok, err := b.Delete(id); err != nil || !ok {
				return errors.Join(err, errors.New("it was not there"))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLevIDs: a levId is never used again: not after deletion, not after the
// database was closed, not after a batch that failed or stored nothing.
func TestLevIDs(t *testing.T) {
	dir := t.TempDir()
	db := reopen(t, nil, dir)
	events := generated(t, 10)
	for i := range events {
		events[i] = author{t, 1}.event(1, int64(i))
	}
	put(t, db, events[:3]...)
	remove(t, db, 3, 2)
	db = reopen(t, db, dir)
	put(t, db, events[1:3]...)
	if got := levIDs(t, db); !slices.Equal(got, []uint64{1, 4, 5}) {
		t.Fatalf("levIds %d", got)
	}
	remove(t, db, 1, 4, 5)
	db = reopen(t, db, dir)
	no := errors.New("no")
	err := db.Update(func(b *store.Batch) error {
		for _, ev := range events {
			if _, err := b.Put(ev); err != nil {
				return err
			}
		}
		return no
	})
	if !errors.Is(err, no) {
		t.Fatal(err)
	}
	put(t, db, events[0])
	put(t, db, events[0])
	put(t, db, events[1])
	if got := levIDs(t, db); !slices.Equal(got, []uint64{6, 7}) {
		t.Errorf("levIds %d", got)
	}
	view(t, db, func(tx *store.Txn) error {
		if last, err := tx.LastLevID(); last != 7 || err != nil {
			t.Errorf("last levId %d (%v)", last, err)
		}
		return nil
	})
}

// TestDeleteAgain: an event that was removed without a tombstone may come
// again, in the same batch too, and one that is not there is told.
func TestDeleteAgain(t *testing.T) {
	db := testdb.Open(t)
	ev := author{t, 1}.event(30000, 1, []string{"d", "x"}, []string{"t", "a"}, []string{"expiration", "99999999999"})
	err := db.Update(func(b *store.Batch) error {
		for levID := range uint64(4) {
			if ok, err := b.Delete(levID); ok != (levID > 0) || err != nil {
				t.Errorf("delete %d: %v (%v)", levID, ok, err)
			}
			if st, err := b.Put(ev); st != store.Stored || err != nil {
				t.Errorf("put after %d: %v (%v)", levID, st, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := levIDs(t, db); !slices.Equal(got, []uint64{4}) {
		t.Errorf("levIds %d", got)
	}
}

// TestRead reads an event in every way there is.
func TestRead(t *testing.T) {
	db := testdb.Open(t)
	events := generated(t, 200)
	put(t, db, events...)
	view(t, db, func(tx *store.Txn) error {
		n, err := tx.Events()
		if err != nil || n == 0 {
			t.Errorf("%d events (%v)", n, err)
		}
		found := uint64(0)
		for _, ev := range events {
			p, ok, err := tx.ByID(ev.Packed.ID())
			if err != nil {
				return err
			}
			if !ok {
				continue // replaced or deleted
			}
			found++
			v, ok, err := tx.Packed(p.LevID())
			if err != nil || !ok || string(v) != string(ev.Packed) || p != index.NewPosting(v, p.LevID()) {
				t.Errorf("event %d: packed %x (%v)", p.LevID(), v, err)
			}
			json, ok, err := tx.JSON(p.LevID())
			if err != nil || !ok || string(json) != string(ev.JSON) {
				t.Errorf("event %d: JSON %s (%v)", p.LevID(), json, err)
			}
			if addr, ok := index.AddressOf(nil, v); ok {
				if q, ok, err := tx.ByAddress(addr); q != p || !ok || err != nil {
					t.Errorf("event %d: by address %v (%v)", p.LevID(), q, err)
				}
			}
			l := tx.List(index.ByKind, index.All[index.ByKind].AppendKey(nil, nil, v.Kind(), nil))
			if ok, err := l.Seek(p); !ok || err != nil || l.Posting() != p {
				t.Errorf("event %d: not in the list of its kind (%v)", p.LevID(), err)
			}
		}
		if found != n {
			t.Errorf("found %d of %d", found, n)
		}
		for _, levID := range []uint64{0, 100_000, 1 << 50} {
			if _, ok, err := tx.Packed(levID); ok || err != nil {
				t.Errorf("event %d: %v (%v)", levID, ok, err)
			}
			if _, ok, err := tx.JSON(levID); ok || err != nil {
				t.Errorf("JSON %d: %v (%v)", levID, ok, err)
			}
		}
		return nil
	})
}

// TestNoSpace: where too little space is left nothing is written.
func TestNoSpace(t *testing.T) {
	dir := t.TempDir()
	reopen(t, nil, dir).Close()
	db := testdb.Open(t, func(o *store.Options) { o.Dir, o.MinFreeBytes = dir, 1<<60 })
	err := db.Update(func(*store.Batch) error { t.Error("a batch was begun"); return nil })
	if !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("got %v", err)
	}
}

// TestFullDisk: what LMDB says of a full disk, or of a quota, is ErrNoSpace, and
// the cause is kept.
func TestFullDisk(t *testing.T) {
	db := testdb.Open(t)
	for _, test := range []struct {
		errno error
		full  bool
	}{
		{syscall.ENOSPC, true},
		{syscall.EDQUOT, true},
		{syscall.EIO, false}, // the disk has room: it is the disk that fails
		{syscall.EINVAL, false},
	} {
		err := db.Update(func(*store.Batch) error { return fmt.Errorf("put: %w", test.errno) })
		if errors.Is(err, store.ErrNoSpace) != test.full || !errors.Is(err, test.errno) {
			t.Errorf("%v is %v", test.errno, err)
		}
	}
}

// TestGoesOnPastDamage: rows that cannot be right do not keep later events of
// their address, or deletions, from being stored.
func TestGoesOnPastDamage(t *testing.T) {
	const event, tags = int(index.TableEvent), int(index.TableByTag)
	a := author{t, 1}
	old := a.event(0, 100, []string{"t", "x"})
	posting := index.NewPosting(old.Packed, 1).Append(nil)
	for name, damage := range map[string]func(x *lmdbx.Txn) error{
		"event gone":   func(x *lmdbx.Txn) error { _, err := x.Delete(event, lmdbx.AppendInt(nil, 1), nil); return err },
		"event cut":    func(x *lmdbx.Txn) error { return x.Put(event, lmdbx.AppendInt(nil, 1), old.Packed[:50]) },
		"tag cut":      func(x *lmdbx.Txn) error { return x.Put(event, lmdbx.AppendInt(nil, 1), old.Packed[:90]) },
		"posting gone": func(x *lmdbx.Txn) error { _, err := x.Delete(tags, []byte("t\x01x"), posting); return err },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := store.Open(store.Options{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			put(t, db, old)
			if err := db.UpdateRaw(damage); err != nil {
				t.Fatal(err)
			}
			events := []*nostr.Event{
				a.event(5, 300, []string{"e", old.ID()}, []string{"a", a.address(0, "")}),
				a.event(0, 301), a.event(0, 302),
			}
			if got := put(t, db, events...); !slices.Equal(got, make([]store.Status, 3)) {
				t.Errorf("got %v", got)
			}
			view(t, db, func(tx *store.Txn) error {
				for i, want := range []bool{true, false, true} {
					if _, ok, err := tx.ByID(events[i].Packed.ID()); ok != want || err != nil {
						t.Errorf("event of kind %d: left %v (%v)", events[i].Packed.Kind(), ok, err)
					}
				}
				return nil
			})
		})
	}
}
