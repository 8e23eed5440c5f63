package store_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"sync"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/store"
)

// readable returns the ids of all events whose JSON can be read, wherever it is.
func readable(t *testing.T, db *store.DB) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	err := db.UpdateRaw(func(x *lmdbx.Txn) error {
		return x.Each(int(index.TableEventPayload), nil, func(_, val []byte) error {
			json, err := db.DecodeRaw(x, val)
			if err != nil {
				return nil
			}
			if ev, err := nostr.ParseEvent(bytes.Clone(json), nostr.Limits{}); err == nil {
				ids[hex.EncodeToString(ev.Packed.ID())] = true
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// repairs repairs db, and shows that it is sound then and that nothing that
// could be read is lost: each event is there or was set aside.
func repairs(t *testing.T, db *store.DB) store.Repaired {
	t.Helper()
	before := readable(t, db)
	aside := uint64(0)
	done, err := db.Repair(t.Context(), store.RepairOptions{Aside: func(rows []store.Aside) error {
		for _, row := range rows {
			aside++
			if row.Table == "" || row.Key == nil || row.Why == "" {
				t.Errorf("set aside: %+v", row)
			}
			if ev, err := nostr.ParseEvent(row.JSON, nostr.Limits{}); err == nil {
				delete(before, hex.EncodeToString(ev.Packed.ID()))
			}
		}
		return nil
	}})
	if err != nil || done.Aside != aside {
		t.Fatalf("repaired %+v, %d set aside (%v)", done, aside, err)
	}
	for id := range readable(t, db) {
		delete(before, id)
	}
	if len(before) > 0 {
		t.Errorf("%d events are lost: %v", len(before), before)
	}
	testdb.Check(t, db)
	return done
}

// TestRepairIdle: there is nothing to do in a sound database.
func TestRepairIdle(t *testing.T) {
	db := testdb.Open(t)
	put(t, db, generated(t, 500)...)
	if done := repairs(t, db); done.Mended != 0 || done.Aside != 0 {
		t.Errorf("%+v", done)
	}
}

// TestRepairTables empties each table in turn. What follows from the events is
// made again; without their JSON all of them are set aside.
func TestRepairTables(t *testing.T) {
	skipShort(t)
	for i, def := range index.Tables {
		t.Run(def.Name, func(t *testing.T) {
			db, err := store.Open(store.Options{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			put(t, db, generated(t, 400)...)
			before := readable(t, db)
			if err := db.UpdateRaw(func(x *lmdbx.Txn) error { return x.Empty(i) }); err != nil {
				t.Fatal(err)
			}
			done := repairs(t, db)
			after := readable(t, db)
			if index.TableID(i) == index.TableEventPayload {
				if len(after) != 0 || done.Aside == 0 {
					t.Errorf("%d events without JSON, %+v", len(after), done)
				}
			} else if len(after) != len(before) {
				t.Errorf("%d events of %d, %+v", len(after), len(before), done)
			}
		})
	}
}

// TestRepairDictionary: without their dictionary events cannot be read, and are
// set aside; in a process that still remembers it they are made plain.
func TestRepairDictionary(t *testing.T) {
	for _, remembered := range []bool{true, false} {
		dir := t.TempDir()
		db, err := store.Open(store.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		put(t, db, generated(t, 500)...)
		form := trained(t, db, 4<<10)
		changed := compress(t, db, store.CompressOptions{Form: all(form)}).Changed
		testdb.Check(t, db)
		if done := repairs(t, db); done.Mended != 0 {
			t.Errorf("%+v", done)
		}
		if err := db.UpdateRaw(func(x *lmdbx.Txn) error { return x.Empty(int(index.TableCompressionDictionary)) }); err != nil {
			t.Fatal(err)
		}
		if !remembered {
			if db, err = reopened(db, dir); err != nil {
				t.Fatal(err)
			}
		}
		done := repairs(t, db)
		if remembered && (done.Mended != changed || done.Aside > 0) || !remembered && done.Aside < 2*changed {
			t.Errorf("remembered %v: %d events were compressed, %+v", remembered, changed, done)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func reopened(db *store.DB, dir string) (*store.DB, error) {
	if err := db.Close(); err != nil {
		return nil, err
	}
	return store.Open(store.Options{Dir: dir})
}

// TestRepairEnds: a repair that is cut off has set aside what it removed, and
// the next one goes on.
func TestRepairEnds(t *testing.T) {
	db := testdb.Open(t)
	put(t, db, generated(t, 2000)...)
	if err := db.UpdateRaw(func(x *lmdbx.Txn) error { return x.Empty(int(index.TableEventID)) }); err != nil {
		t.Fatal(err)
	}
	if err := db.UpdateRaw(func(x *lmdbx.Txn) error {
		for i := range uint64(1000) {
			if err := x.Put(int(index.TableDeletion), lmdbx.AppendInt(nil, i), []byte("x")); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	full, rows := errors.New("full"), 0
	done, err := db.Repair(t.Context(), store.RepairOptions{Aside: func(as []store.Aside) error {
		if rows += len(as); rows > 500 {
			return full
		}
		return nil
	}})
	if !errors.Is(err, full) || done.Aside == 0 || done.Aside > 500 {
		t.Errorf("%+v, %v", done, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	_, err = db.Repair(ctx, store.RepairOptions{Progress: func(uint64, uint64) { cancel(stop) }})
	if !errors.Is(err, stop) {
		t.Errorf("with its context ended: %v", err)
	}
	repairs(t, db)
}

// TestRepairBesideWriters: events that come during a repair are neither lost nor
// damaged by it.
func TestRepairBesideWriters(t *testing.T) {
	db := testdb.Open(t)
	events := generated(t, 3000)
	put(t, db, events[:1500]...)
	if err := db.UpdateRaw(func(x *lmdbx.Txn) error { return x.Empty(int(index.TableByTag)) }); err != nil {
		t.Fatal(err)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for _, ev := range events[1500:1800] {
			if err := db.Update(func(b *store.Batch) error {
				_, err := b.Put(ev)
				return err
			}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 3 {
		if _, err := db.Repair(t.Context(), store.RepairOptions{}); err != nil {
			t.Error(err)
		}
	}
	writer.Wait()
	repairs(t, db)
}

// TestRepairIdentity: increments hold no older event that a repair has put right,
// so the first backup after one is a full one. A repair that changes nothing
// leaves the chain as it is.
func TestRepairIdentity(t *testing.T) {
	damage := map[string]func(*lmdbx.Txn) error{
		"nothing":   nil,
		"index":     func(x *lmdbx.Txn) error { return x.Empty(int(index.TableByKind)) },
		"payloads":  func(x *lmdbx.Txn) error { return x.Empty(int(index.TableEventPayload)) },
		"stray row": func(x *lmdbx.Txn) error { return x.Put(int(index.TableDeletion), []byte("x"), []byte("x")) },
		"next levId": func(x *lmdbx.Txn) error {
			_, err := x.Delete(int(index.TableMeta), []byte("nextLevId"), nil)
			return err
		},
		"low levId":   func(x *lmdbx.Txn) error { return x.Put(int(index.TableMeta), []byte("nextLevId"), make([]byte, 8)) },
		"whole Meta":  func(x *lmdbx.Txn) error { return x.Empty(int(index.TableMeta)) },
		"list of ids": func(x *lmdbx.Txn) error { return x.Empty(int(index.TableEventID)) },
	}
	for name, damage := range damage {
		t.Run(name, func(t *testing.T) {
			db := testdb.Open(t)
			put(t, db, generated(t, 50)...)
			_, base := archive(t, db, store.BackupOptions{})
			if damage != nil {
				if err := db.UpdateRaw(damage); err != nil {
					t.Fatal(err)
				}
			}
			repairs(t, db)
			_, err := db.Backup(t.Context(), io.Discard, store.BackupOptions{Incremental: true, Since: base.Last, Base: &base})
			if refused := errors.Is(err, store.ErrBase); refused != (damage != nil) || !refused && err != nil {
				t.Errorf("an increment across the repair: %v", err)
			}
		})
	}
}

// TestCheckSample: a sample of a sound database is sound, and one of a damaged
// one shows the damage where there is much of it.
func TestCheckSample(t *testing.T) {
	db := testdb.Open(t)
	put(t, db, generated(t, 500)...)
	for _, opts := range []store.CheckOptions{{Sample: 50}, {Sample: 5000}, {Share: 0.1}} {
		report, err := db.Check(t.Context(), opts)
		if err != nil || !report.OK() || report.Events == 0 || report.Rows == 0 {
			t.Errorf("%+v: %v, %s", opts, err, &report)
		}
	}
	if err := db.UpdateRaw(func(x *lmdbx.Txn) error { return x.Empty(int(index.TableEventID)) }); err != nil {
		t.Fatal(err)
	}
	report, err := db.Check(t.Context(), store.CheckOptions{Sample: 20})
	if err != nil || report.Counts[store.Missing] < 10 {
		t.Errorf("%v, %s", err, &report)
	}
	repairs(t, db)
}
