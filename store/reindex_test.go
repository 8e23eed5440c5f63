package store_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/store"
)

// A database whose list of indexes lacks one that the build declares gets it
// when it is opened for writing, whatever its table holds.
func TestBuildIndexes(t *testing.T) {
	const half = 400
	without := func(name string) []byte {
		list := strings.Fields(store.AllIndexes())
		var rest []string
		for _, full := range list {
			if !strings.HasPrefix(full, name+"[") {
				rest = append(rest, full)
			}
		}
		return []byte(strings.Join(rest, " "))
	}
	for _, c := range []struct {
		name   string
		damage func(lx *lmdbx.Txn) error
	}{
		{"new index", func(lx *lmdbx.Txn) error { return lx.Empty(int(index.TableByKind)) }},
		{"leftovers of an old one", func(lx *lmdbx.Txn) error {
			return lx.Put(int(index.TableByKind), []byte{9, 9}, index.Posting{Hi: 1, Lo: 2}.Append(nil))
		}},
		{"build that was cut off", func(lx *lmdbx.Txn) error {
			if err := lx.Empty(int(index.TableByKind)); err != nil {
				return err
			}
			err := lx.Each(int(index.TableEvent), nil, func(key, val []byte) error {
				if lmdbx.Int(key) >= half {
					return lmdbx.ErrStop
				}
				p := index.NewPosting(val, lmdbx.Int(key))
				return lx.Put(int(index.TableByKind), binary.BigEndian.AppendUint16(nil, p.Kind()), p.Append(nil))
			})
			if err != nil {
				return err
			}
			return lx.Put(int(index.TableMeta), []byte("building kind"), binary.BigEndian.AppendUint64(nil, half))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			db := testdb.Open(t, func(o *store.Options) { o.Dir = dir })
			putLines(t, db, 2*half)
			err := db.UpdateRaw(func(lx *lmdbx.Txn) error {
				if err := c.damage(lx); err != nil {
					return err
				}
				return lx.Put(int(index.TableMeta), []byte("indexes"), without("kind"))
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Open(store.Options{Dir: dir, ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "no index kind yet") {
				t.Fatalf("opened for reading without an index: %v", err)
			}
			told := 0
			db = testdb.Open(t, func(o *store.Options) {
				o.Dir = dir
				o.Building = func(name string, done, last uint64) {
					if name != "kind" || done > last {
						t.Errorf("building %s, %d of %d", name, done, last)
					}
					told++
				}
			})
			if told != 1 {
				t.Errorf("told %d times", told)
			}
			testdb.Check(t, db)
			ro, err := store.Open(store.Options{Dir: dir, ReadOnly: true})
			if err == nil {
				err = ro.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// putLines stores n generated events.
func putLines(t *testing.T, db *store.DB, n int) {
	t.Helper()
	err := db.Update(func(b *store.Batch) error {
		for line := range testdb.Lines(testdb.Options{Seed: 3, Events: n}) {
			ev, err := nostr.ParseEvent(line, nostr.Limits{})
			if err != nil {
				return err
			}
			if _, err := b.Put(ev); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if last, err := lastLevID(db); err != nil || last < uint64(n)/2 {
		t.Fatalf("%d events stored: %v", last, err)
	}
}

func lastLevID(db *store.DB) (last uint64, err error) {
	err = db.View(context.Background(), func(tx *store.Txn) (err error) {
		last, err = tx.LastLevID()
		return err
	})
	return last, err
}
