//go:build !race

package store_test

import (
	"maps"
	"slices"
	"testing"

	"wok/internal/invariants"
	"wok/internal/testdb"
	"wok/store"
)

// TestJSONAllocs reads compressed events: after the first it needs no memory.
func TestJSONAllocs(t *testing.T) {
	if invariants.Enabled {
		t.Skip("each JSON has memory of its own under the invariants tag")
	}
	db := testdb.Open(t)
	put(t, db, generated(t, 400)...)
	compress(t, db, store.CompressOptions{Form: all(trained(t, db, 8<<10))})
	there := slices.Sorted(maps.Keys(contents(t, db)))
	err := db.View(t.Context(), func(tx *store.Txn) error {
		n := testing.AllocsPerRun(20, func() {
			for _, levID := range there {
				if _, _, err := tx.JSON(levID); err != nil {
					t.Fatal(err)
				}
			}
		})
		if n > 0 {
			t.Errorf("%v allocations for %d events", n, len(there))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
