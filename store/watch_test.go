package store_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// writerVar makes this test binary a process that writes to the database in
// that directory.
const writerVar = "STORE_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVar); dir != "" {
		if err := writer(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writer stores an event for every number it is told, with that as its time. If
// the number stands behind "sweep" it sweeps at that time.
func writer(dir string) error {
	now := time.Now()
	db, err := store.Open(store.Options{Dir: dir, Now: func() time.Time { return now }})
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "sweep "); ok {
			at, err := strconv.ParseInt(text, 10, 64)
			if now = time.Unix(at, 0); err == nil {
				_, err = db.Sweep(context.Background())
			}
			if err != nil {
				return err
			}
			continue
		}
		at, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			return err
		}
		ev, err := nostr.ParseEvent(testdb.Sign(9, testdb.Event{Kind: 1, CreatedAt: at}), nostr.Limits{})
		if err != nil {
			return err
		}
		if err := db.Update(func(b *store.Batch) error { _, err := b.Put(ev); return err }); err != nil {
			return err
		}
	}
	return db.Close()
}

// startWriter starts a writer and returns where it is told what to write, and
// what waits for its end.
func startWriter(t *testing.T, dir string) (io.WriteCloser, func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), writerVar+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return in, func() {
		t.Helper()
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// newest returns the time of the newest event stored.
func newest(t *testing.T, db *store.DB) (at uint64) {
	t.Helper()
	view(t, db, func(tx *store.Txn) error {
		last, err := tx.LastLevID()
		if err != nil {
			return err
		}
		return tx.EachEvent(last, func(_ uint64, v packed.View) error { at = v.CreatedAt(); return nil })
	})
	return at
}

// waitFor reads from a watch until the newest event has that time.
func waitFor(t *testing.T, db *store.DB, watch <-chan struct{}, at uint64) {
	t.Helper()
	for newest(t, db) != at {
		if _, ok := <-watch; !ok {
			t.Fatal("the watch has ended")
		}
	}
}

// TestWatch: two processes write in turn, and a watch of each commit of either
// wakes up, whether or not the system tells of writes.
func TestWatch(t *testing.T) {
	t.Run("told", func(t *testing.T) { testWatch(t, (*store.DB).Watch) })
	t.Run("untold", func(t *testing.T) { testWatch(t, (*store.DB).WatchUntold) })
}

func testWatch(t *testing.T, begin func(*store.DB, context.Context) (<-chan struct{}, error)) {
	dir := t.TempDir()
	db := reopen(t, nil, dir)
	watch, err := begin(db, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other, wait := startWriter(t, dir)
	const turns = 10
	for i := range uint64(turns) {
		put(t, db, author{t, 1}.event(1, int64(2*i+1)))
		if _, ok := <-watch; !ok || newest(t, db) != 2*i+1 {
			t.Fatalf("woken by an own commit, and the newest is %d", newest(t, db))
		}
		fmt.Fprintln(other, 2*i+2)
		waitFor(t, db, watch, 2*i+2)
	}
	wait()
	if n := len(levIDs(t, db)); n != 2*turns {
		t.Errorf("%d events", n)
	}
}

// TestWritesAreTold: the system tells of what another process writes, and of no
// reading.
func TestWritesAreTold(t *testing.T) {
	dir := t.TempDir()
	db := reopen(t, nil, dir)
	ctx, cancel := context.WithCancel(t.Context())
	written, err := store.Writes(ctx, dir)
	if err != nil {
		t.Skip(err)
	}
	other, wait := startWriter(t, dir)
	for at := range uint64(5) {
		fmt.Fprintln(other, at+1)
		for newest(t, db) != at+1 {
			<-written
		}
	}
	wait()
	cancel()
	for range written { // what is left, and the end
	}
	// The writer has opened and closed the database: what it wrote by that is
	// over. From here on there is only reading.
	again, err := store.Writes(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		newest(t, db)
	}
	select {
	case <-again:
		t.Error("reading counts as writing")
	default:
	}
}

// TestWatchEnds: a watch ends with its context, and closes its channel.
func TestWatchEnds(t *testing.T) {
	db := testdb.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	var watches []<-chan struct{}
	for range 5 {
		w, err := db.Watch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, w)
	}
	put(t, db, author{t, 1}.event(1, 1))
	for _, w := range watches {
		if _, ok := <-w; !ok {
			t.Error("closed before its time")
		}
	}
	cancel()
	for _, w := range watches {
		for range w { // what was on its way
		}
	}
	put(t, db, author{t, 1}.event(1, 2)) // nobody is left to wake
	db.Close()
	if _, err := db.Watch(t.Context()); err == nil {
		t.Error("a closed database is watched")
	}
}
