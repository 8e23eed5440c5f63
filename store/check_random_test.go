package store_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/store"
)

// TestCheckAnyBytes changes rows at random: whatever stands in a table, Check
// comes to its end, and what it counts fits what it lists.
func TestCheckAnyBytes(t *testing.T) {
	db, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put(t, db, generated(t, 300)...)
	rng := rand.New(rand.NewPCG(1, 7))
	for range 60 {
		if err := db.UpdateRaw(func(x *lmdbx.Txn) error { return scramble(x, rng) }); err != nil {
			t.Fatal(err)
		}
		report, err := db.Check(t.Context(), store.CheckOptions{Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if report.OK() || report.Total() != uint64(len(report.Problems)) || report.String() == "" {
			t.Fatalf("%d problems, %d listed", report.Total(), len(report.Problems))
		}
	}
	repairs(t, db)
}

// TestRepairOften repairs after a little damage, and again after more.
func TestRepairOften(t *testing.T) {
	db, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put(t, db, generated(t, 300)...)
	rng := rand.New(rand.NewPCG(2, 7))
	for range 10 {
		if err := db.UpdateRaw(func(x *lmdbx.Txn) error { return scramble(x, rng) }); err != nil {
			t.Fatal(err)
		}
		repairs(t, db)
	}
}

// scramble puts changed copies of some rows into each table but Meta.
func scramble(x *lmdbx.Txn, rng *rand.Rand) error {
	for table := range index.Tables {
		if index.TableID(table) == index.TableMeta {
			continue
		}
		var keys, vals [][]byte
		err := x.Each(table, nil, func(key, val []byte) error {
			if rng.IntN(100) == 0 {
				keys, vals = append(keys, bytes.Clone(key)), append(vals, bytes.Clone(val))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i := range keys {
			def := &index.Tables[table]
			key, val := keys[i], vals[i]
			if rng.IntN(2) == 0 {
				key = change(rng, key, !def.IntegerKey)
			}
			if err := x.Put(table, key, change(rng, val, !def.DupFixed)); err != nil {
				return err
			}
		}
	}
	return nil
}

// change flips a bit of b or, where it may, cuts or lengthens it.
func change(rng *rand.Rand, b []byte, cut bool) []byte {
	switch n := rng.IntN(4); {
	case len(b) == 0:
		return []byte{1}
	case cut && n == 0:
		return b[:1+rng.IntN(len(b))]
	case cut && n == 1 && len(b) < 200:
		return append(b, byte(rng.Uint32()))
	}
	b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	return b
}
