package store_test

import (
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/store"
)

// TestClockSetBack: an event that has expired is there again when the clock is
// set back, until it is swept; then it may come again. Order and levIds do not
// follow the clock.
func TestClockSetBack(t *testing.T) {
	now := time.Unix(2_000_000_000, 0)
	db, err := store.Open(store.Options{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ev := parse(t, testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: 1_900_000_000, Content: "for a while",
		Tags: [][]string{{"expiration", "2000000100"}}}))
	hidden := func() (hidden bool) {
		t.Helper()
		err := db.View(t.Context(), func(tx *store.Txn) error {
			p, ok, err := tx.ByID(ev.Packed.ID())
			if err != nil || !ok {
				hidden = true
				return err
			}
			v, err := tx.Must(p)
			if err == nil {
				hidden, err = tx.Hidden(v)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return hidden
	}
	put(t, db, ev)
	for _, step := range []struct {
		second int64
		hidden bool
	}{{0, false}, {100, true}, {50, false}, {-1_000_000_000, false}, {101, true}} {
		now = time.Unix(2_000_000_000+step.second, 0)
		if hidden() != step.hidden {
			t.Errorf("at %d seconds the event is hidden: %v", step.second, !step.hidden)
		}
		testdb.Check(t, db)
	}
	if _, err := db.Sweep(t.Context()); err != nil || !hidden() {
		t.Errorf("sweep: %v", err)
	}
	now = time.Unix(1_950_000_000, 0)
	if got := put(t, db, ev)[0]; got != store.Stored || hidden() {
		t.Errorf("with the clock set back the event is %v", got)
	}
	testdb.Check(t, db)
}
