package main

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
	"sync"
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

// A delete beside a relay that is published to, both killed: what was answered
// with OK is there, what was not to go is there, and every row is right.
func TestDeleteBesideRelay(t *testing.T) {
	dir, events := closedDB(t, 3000)
	relay, url := startRelay(t, "--db", dir)
	l := newLedger()
	for _, ev := range events {
		if ev.Kind != 6 && ev.Kind != 7 {
			l.keep([]string{ev.ID})
		}
	}
	var publishers sync.WaitGroup
	p := newPublisher(t, url, l, 500, 1)
	publishers.Go(p.write)
	publishers.Go(p.read)
	<-l.after(50)
	del := start(t, "--db", dir, "delete", "--filter", `{"kinds":[6,7]}`)
	<-l.after(100)
	del.kill()
	<-l.after(50) // the relay gets over a lock that the other held
	relay.kill()
	publishers.Wait()
	db, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	testdb.Check(t, db)
	if err := db.View(t.Context(), func(tx *store.Txn) error { return l.compare(t, tx) }); err != nil {
		t.Error(err)
	}
}

// What lies on a damaged page stays, with some of its neighbours that cannot be
// taken out beside it, and is counted; all else goes.
func TestDeleteOfDamagedPage(t *testing.T) {
	dir, events := closedDB(t, 400)
	if spoil(t, dir, eventPage(t, events[200])) == 0 {
		t.Fatal("the event is on no page")
	}
	var out, talk bytes.Buffer
	code := execute(t.Context(), []string{"--db", dir, "delete", "--filter", `{"since":1}`}, stdio{out: &out, err: &talk})
	m := regexp.MustCompile(`(?m)^all +(\d+)$[^^]*^removed (\d+) events`).FindStringSubmatch(out.String())
	stay := regexp.MustCompile(`(\d+) events cannot be read, and stay; see wok check`).FindStringSubmatch(talk.String())
	if code != exitFailed || m == nil || stay == nil {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), talk.String())
	}
	if atoi(t, m[2]) < 300 || atoi(t, m[2])+atoi(t, stay[1]) < atoi(t, m[1]) {
		t.Errorf("%s were there, %s were removed, %s stay", m[1], m[2], stay[1])
	}
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
