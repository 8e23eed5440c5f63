package store_test

import (
	"errors"
	"testing"

	"wok/packed"
	"wok/store"
)

// TestEachEventDamaged zeroes each leaf of the packed events in turn, at which a
// step of LMDB from the page before would end the process. All events but those
// on the page are read, by going on behind it in new transactions.
func TestEachEventDamaged(t *testing.T) {
	p := newPatient(t, 300)
	tables, _ := p.pagesOf(t)
	leaves := 0
	for _, no := range tables["Event"] {
		dir := p.damaged(t, func(b []byte) []byte {
			clear(b[no*4096:][:4096])
			return b
		})
		db, err := store.Open(store.Options{Dir: dir, ReadOnly: true})
		if err != nil {
			continue // the root of the table, or the last leaf, which opening needs
		}
		seen, lost := eachAround(t, db)
		if seen > 0 {
			leaves++
		}
		if seen+lost < len(p.ids) || lost == 0 || seen > 0 && lost > 60 {
			t.Errorf("page %d: %d of %d events, %d look-ups failed", no, seen, len(p.ids), lost)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if leaves < 5 {
		t.Errorf("of %d pages %d cost some of the events", len(tables["Event"]), leaves)
	}
}

// eachAround counts the events that EachEvent yields, and the levIds at which it
// met a damaged page; of a table without a root that is each.
func eachAround(t *testing.T, db *store.DB) (seen, lost int) {
	for next := uint64(0); next < 1000; {
		err := db.View(t.Context(), func(tx *store.Txn) error {
			return tx.EachEvent(next, func(levID uint64, _ packed.View) error {
				seen++
				next = levID + 1
				return nil
			})
		})
		if err == nil {
			return seen, lost
		}
		if !errors.Is(err, store.ErrDamaged) {
			t.Fatal(err)
		}
		lost++
		next++
	}
	return seen, lost
}
