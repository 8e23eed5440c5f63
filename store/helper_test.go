package store_test

import (
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/store"
)

// generated returns n events as a public relay sees them.
func generated(t testing.TB, n int) []*nostr.Event {
	t.Helper()
	var events []*nostr.Event
	for line := range testdb.Lines(testdb.Options{Seed: 1, Events: n}) {
		events = append(events, parse(t, line))
	}
	return events
}

func parse(t testing.TB, line []byte) *nostr.Event {
	t.Helper()
	ev, err := nostr.ParseEvent(line, nostr.Limits{})
	if err != nil {
		t.Fatalf("parse %s: %v", line, err)
	}
	return ev
}

// put stores events in one batch and returns what became of each.
func put(t testing.TB, db *store.DB, events ...*nostr.Event) []store.Status {
	t.Helper()
	var sts []store.Status
	err := db.Update(func(b *store.Batch) error {
		sts = sts[:0]
		for _, ev := range events {
			st, err := b.Put(ev)
			if err != nil {
				return err
			}
			sts = append(sts, st)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sts
}

// skipShort leaves out, in short mode, what only takes long: damage of all sorts
// to one database after the other, by one goroutine.
func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("short mode: damage is tried out in full mode only")
	}
}
