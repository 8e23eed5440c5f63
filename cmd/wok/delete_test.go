package main

import (
	"bytes"
	"context"
	"testing"

	"wok/internal/testdb"
	"wok/store"
)

// A delete that is killed has removed whole events, none that it was not to, and
// goes on when it is run again.
func TestDeleteKilled(t *testing.T) {
	dir, events := closedDB(t, 5000)
	left := len(events)
	for range 4 {
		left = deleteKilled(t, dir, events, left)
	}
	var out, talk bytes.Buffer
	if code := execute(t.Context(), []string{"--db", dir, "delete", "--filter", `{"kinds":[1,7]}`}, stdio{out: &out, err: &talk}); code != exitOK {
		t.Fatalf("exit code %d: %s", code, talk.String())
	}
	out.Reset()
	execute(t.Context(), []string{"--db", dir, "scan", "--count", `{"kinds":[1,7]}`}, stdio{out: &out, err: &talk})
	if out.String() != "0\n" {
		t.Errorf("%s events are left", out.String())
	}
}

// deleteKilled kills a delete after its first transactions, and returns how many
// events it has left of some more.
func deleteKilled(t *testing.T, dir string, all []testdb.Event, before int) int {
	t.Helper()
	db, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	commits, err := db.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "--db", dir, "delete", "--filter", `{"kinds":[1,7]}`, "--tombstones")
	<-commits
	p.kill()
	testdb.Check(t, db)
	left := 0
	err = db.View(ctx, func(tx *store.Txn) error {
		for _, ev := range all {
			ok, err := has(tx, ev.ID)
			if err != nil {
				return err
			}
			if ok {
				left++
			} else if ev.Kind != 1 && ev.Kind != 7 {
				t.Errorf("event %s of kind %d has gone", ev.ID, ev.Kind)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.cmd.ProcessState.Success() || left >= before {
		t.Errorf("of %d events %d are left; %s", before, left, p.cmd.ProcessState)
	}
	return left
}
