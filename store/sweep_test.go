package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// swept sweeps db and returns the ids of all that is on disk then, sorted.
func swept(t *testing.T, db *store.DB) (ids []string) {
	t.Helper()
	if _, err := db.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	view(t, db, func(tx *store.Txn) error {
		if hidden, err := tx.HasHidden(); hidden || err != nil {
			t.Errorf("after a sweep something is hidden: %v, %v", hidden, err)
		}
		return tx.EachEvent(0, func(_ uint64, v packed.View) error {
			ids = append(ids, fmt.Sprintf("%x", v.ID()))
			return nil
		})
	})
	slices.Sort(ids)
	return ids
}

// A watch is a clock that is set.
type watch struct{ unix atomic.Int64 }

func (w *watch) now() time.Time { return time.Unix(w.unix.Load(), 0) }

// open is reopen with the clock.
func (w *watch) open(t *testing.T, db *store.DB, dir string) *store.DB {
	t.Helper()
	if db != nil {
		testdb.Check(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return testdb.Open(t, func(o *store.Options) { o.Dir, o.Now = dir, w.now })
}

// Times of the worlds that end.
const (
	before, deadline, after = 5000, 6000, 7000
)

// unexpired takes from ids those of lines that expire.
func unexpired(lines [][]byte, ids []string) []string {
	expires := map[string]bool{}
	for _, line := range lines {
		e := testdb.Decode(line)
		last := len(e.Tags) - 1
		expires[e.ID] = last >= 0 && e.Tags[last][0] == "expiration"
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return expires[id] })
}

// TestOrderOfEndings puts hundreds of worlds in many orders, with sweeps and
// restarts in between. Then time passes, events expire, and all of them come
// once more, the expired ones too: what is left is always the same. An event
// that comes for the first time when it has expired is the one case in which
// order matters, and is not among these.
func TestOrderOfEndings(t *testing.T) {
	worlds, rounds := 300, 12
	if testing.Short() {
		rounds = 3
	}
	var lines [][]byte
	var want []string
	for w := range worlds {
		world := testdb.EndingWorld(rand.New(rand.NewPCG(uint64(w), 9)), 10*w, deadline)
		lines = append(lines, world...)
		want = append(want, visible(world)...)
	}
	slices.Sort(want)
	wantAfter := unexpired(lines, want)
	var events []*nostr.Event
	for _, line := range lines {
		events = append(events, parse(t, line))
	}
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(round), 10))
			var clock watch
			clock.unix.Store(before)
			dir := t.TempDir()
			db := clock.open(t, nil, dir)
			db = clock.put(t, db, dir, rng, events)
			same(t, lines, "before", left(t, db), want)
			clock.unix.Store(after)
			same(t, lines, "after", left(t, db), wantAfter)
			if round%2 == 0 {
				same(t, lines, "after a sweep", swept(t, db), wantAfter)
			}
			db = clock.put(t, db, dir, rng, events)
			same(t, lines, "once more", left(t, db), wantAfter)
			same(t, lines, "in the end", swept(t, db), wantAfter)
		})
	}
}

// put puts events in random order and batches, with restarts and sweeps.
func (w *watch) put(t *testing.T, db *store.DB, dir string, rng *rand.Rand, events []*nostr.Event) *store.DB {
	t.Helper()
	events = slices.Clone(events)
	rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	for len(events) > 0 {
		n := 1 + rng.IntN(len(events))
		put(t, db, events[:n]...)
		events = events[n:]
		switch rng.IntN(3) {
		case 0:
			db = w.open(t, db, dir)
		case 1:
			swept(t, db)
		}
	}
	return db
}

func same(t *testing.T, lines [][]byte, when string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s left are\n%s\nand should be\n%s", when, describe(lines, got, want), describe(lines, want, got))
	}
}

// 40-R3, 40-R4: hidden in its second, gone with a sweep, and nothing older comes
// in its place.
func TestExpiry(t *testing.T) {
	var clock watch
	clock.unix.Store(deadline - 1)
	db := clock.open(t, nil, t.TempDir())
	alice := author{t, 1}
	expires := []string{"expiration", fmt.Sprint(deadline)}
	old, latest, note := alice.event(0, 100), alice.event(0, 200, expires), alice.event(1, 100, expires)
	put(t, db, old, latest, note)
	check := func(hidden bool, want ...*nostr.Event) {
		t.Helper()
		view(t, db, func(tx *store.Txn) error {
			if has, err := tx.HasHidden(); has != hidden || err != nil {
				t.Errorf("HasHidden %v, %v", has, err)
			}
			return nil
		})
		if got, want := left(t, db), ids(want, numbers(len(want))); !slices.Equal(got, want) {
			t.Errorf("left are %v, not %v", got, want)
		}
	}
	check(false, latest, note)
	clock.unix.Store(deadline)
	check(true)
	if got := put(t, db, old, latest, note); !slices.Equal(got, []store.Status{store.Superseded, store.Expired, store.Expired}) {
		t.Errorf("before the sweep: %v", got)
	}
	if s, err := db.Sweep(t.Context()); err != nil || s != (store.Swept{Expired: 2}) {
		t.Errorf("swept %+v, %v", s, err)
	}
	check(false)
	if got := put(t, db, old, latest, note); !slices.Equal(got, []store.Status{store.Deleted, store.Expired, store.Expired}) {
		t.Errorf("after the sweep: %v", got)
	}
	newer := alice.event(0, 201)
	put(t, db, newer)
	check(false, newer)
	if s, err := db.Sweep(t.Context()); err != nil || s != (store.Swept{}) {
		t.Errorf("swept %+v, %v", s, err)
	}
}

func numbers(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// many returns n events of key 1 that expire at the deadline, of one second or,
// where apart is set, one a second.
func many(t *testing.T, n int, apart bool) []*nostr.Event {
	t.Helper()
	events := make([]*nostr.Event, n)
	for i := range events {
		at := int64(1000)
		if apart {
			at += int64(i)
		}
		events[i] = author{t, 1}.event(1, at, []string{"n", fmt.Sprint(i)}, []string{"expiration", fmt.Sprint(deadline)})
	}
	return events
}

// A patience is a context that ends after it has been asked so many times.
type patience struct {
	context.Context
	left int
}

func (p *patience) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// 62-R8: what a sweep leaves when it is cut off, the next one goes on with, also
// after a restart; nobody sees any of it meanwhile.
func TestSweepIsCutOff(t *testing.T) {
	const n = 1700 // more than three transactions
	for _, c := range []struct {
		name  string
		after *nostr.Event // ends them all
		clock int64
		swept func(store.Swept) uint64
	}{
		{"expired", author{t, 2}.event(1, 1), deadline, func(s store.Swept) uint64 { return s.Expired }},
		{"vanished", author{t, 1}.event(62, 9000), before, func(s store.Swept) uint64 { return s.Vanished }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var clock watch
			clock.unix.Store(before)
			dir := t.TempDir()
			db := clock.open(t, nil, dir)
			put(t, db, many(t, n, true)...)
			put(t, db, c.after)
			clock.unix.Store(c.clock)
			total, rounds := uint64(0), 0
			for ; total < n && rounds < 100; rounds++ {
				s, err := db.Sweep(&patience{t.Context(), 2})
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				total += c.swept(s)
				db = clock.open(t, db, dir)
				if got := left(t, db); !slices.Equal(got, ids([]*nostr.Event{c.after}, []int{0})) {
					t.Fatalf("%d events are seen", len(got))
				}
			}
			if total != n || rounds < 2 {
				t.Errorf("%d of %d swept in %d rounds", total, n, rounds)
			}
			if got := swept(t, db); len(got) != 1 {
				t.Errorf("%d events are on disk", len(got))
			}
		})
	}
}

// A request that comes while an earlier one is being carried out begins anew.
func TestVanishAgain(t *testing.T) {
	var clock watch
	dir := t.TempDir()
	db := clock.open(t, nil, dir)
	put(t, db, many(t, 1200, true)...) // of the seconds 1000 to 2199
	alice := author{t, 1}
	put(t, db, alice.event(62, 1700))
	if _, err := db.Sweep(&patience{t.Context(), 3}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	put(t, db, alice.event(62, 2100))
	testdb.Check(t, db)
	if got := len(left(t, db)); got != 2+99 {
		t.Errorf("%d are seen", got)
	}
	if got := len(swept(t, db)); got != 2+99 {
		t.Errorf("%d are on disk", got)
	}
}

// A request that comes while a sweep has looked and not yet removed begins anew
// too. The clock, which is asked within a snapshot, is where it comes from.
func TestVanishMeanwhile(t *testing.T) {
	alice := author{t, 1}
	var db *store.DB
	asked := -1000 // by the sweep
	now := func() time.Time {
		if asked++; asked == 2 { // for expired events first
			put(t, db, alice.event(62, 1007))
		}
		return time.Unix(before, 0)
	}
	db = testdb.Open(t, func(o *store.Options) { o.Now = now })
	put(t, db, many(t, 10, true)...) // of the seconds 1000 to 1009
	put(t, db, alice.event(62, 1003))
	asked = 0
	if got := len(swept(t, db)); got != 2+2 {
		t.Errorf("%d are on disk", got)
	}
}

// Requests of very many keys are carried out together.
func TestManyVanish(t *testing.T) {
	db := testdb.Open(t)
	var events []*nostr.Event
	for i := range 600 {
		events = append(events, author{t, i}.event(1, 10), author{t, i}.event(62, 20))
	}
	put(t, db, events...)
	view(t, db, func(tx *store.Txn) error {
		if hidden, err := tx.HasHidden(); !hidden || err != nil {
			t.Errorf("HasHidden %v, %v", hidden, err)
		}
		if has, err := tx.Has(events[0].Packed.ID()); has || err != nil {
			t.Errorf("Has what has vanished: %v, %v", has, err)
		}
		if has, err := tx.Has(events[1].Packed.ID()); !has || err != nil {
			t.Errorf("Has what has not: %v, %v", has, err)
		}
		return nil
	})
	if got := len(swept(t, db)); got != 600 {
		t.Errorf("%d are on disk", got)
	}
}

// Sweeps beside each other and beside writers: run with -race.
func TestSweepBesideWriters(t *testing.T) {
	var clock watch
	clock.unix.Store(before)
	dir := t.TempDir()
	db := clock.open(t, nil, dir)
	ctx, stop := context.WithCancel(t.Context())
	var sweepers sync.WaitGroup
	for range 2 {
		sweepers.Go(func() { db.KeepSwept(ctx, time.Millisecond, nil) })
	}
	in, wait := startWriter(t, dir) // another process
	for i := range 40 {
		at := int64(1000 + 10*i)
		alice, bob := author{t, 1}, author{t, 2}
		batch := []*nostr.Event{alice.event(0, at, []string{"expiration", fmt.Sprint(before + i)}), alice.event(1, at), alice.event(1, at+1)}
		batch = append(batch, bob.event(1059, at, []string{"p", alice.pubkey()}), bob.event(1, at))
		put(t, db, batch...)
		put(t, db, alice.event(62, at))
		fmt.Fprintln(in, "sweep", before+i)
		clock.unix.Store(int64(before + i))
	}
	wait()
	stop()
	sweepers.Wait()
	// Left are of bob's notes all, of alice her requests and the last note.
	if got := len(swept(t, db)); got != 40+40+1 {
		t.Errorf("%d are on disk", got)
	}
}

// A row that cannot be read stays for a check to find; a sweep comes to its end.
func TestSweepOfDamaged(t *testing.T) {
	var clock watch
	clock.unix.Store(before)
	db, err := store.Open(store.Options{Dir: t.TempDir(), Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put(t, db, many(t, 5, true)...)
	put(t, db, author{t, 1}.event(62, 1002))
	err = db.UpdateRaw(func(x *lmdbx.Txn) error {
		lev := func(n uint64) []byte { return lmdbx.AppendInt(nil, n) }
		return errors.Join(
			x.Put(int(index.TableEvent), lev(1), []byte("x")), // vanished
			x.Put(int(index.TableEvent), lev(5), []byte("x")), // expired
			x.Put(int(index.TableExpiration), lev(1), lev(77)),
			x.Put(int(index.TableVanishing), []byte("x"), []byte("y")))
	})
	if err != nil {
		t.Fatal(err)
	}
	clock.unix.Store(after)
	for _, want := range []store.Swept{{Expired: 3}, {}} { // events 2, 3 and 4
		if s, err := db.Sweep(t.Context()); err != nil || s != want {
			t.Errorf("swept %+v, %v", s, err)
		}
	}
}

// Damage of more than a transaction has room for does not hold up the rest.
func TestSweepOfMuchDamage(t *testing.T) {
	var clock watch
	clock.unix.Store(before)
	db, err := store.Open(store.Options{Dir: t.TempDir(), Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const n, bad = 1200, 1100
	put(t, db, many(t, n, true)...)
	put(t, db, author{t, 1}.event(62, 9000))
	err = db.UpdateRaw(func(x *lmdbx.Txn) error {
		for i := range uint64(bad) { // the latest, which come first
			if err := x.Put(int(index.TableEvent), lmdbx.AppendInt(nil, n-i), []byte("x")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := db.Sweep(t.Context()); err != nil || s.Vanished != n-bad {
		t.Errorf("swept %+v, %v", s, err)
	}
	clock.unix.Store(after)
	if s, err := db.Sweep(t.Context()); err != nil || s.Expired != 0 {
		t.Errorf("swept %+v, %v", s, err)
	}
}

// What a batch has done counts in the batch.
func TestHiddenInBatch(t *testing.T) {
	db := testdb.Open(t)
	note, request := author{t, 1}.event(1, 1), author{t, 1}.event(62, 1)
	err := db.Update(func(b *store.Batch) error {
		for _, ev := range []*nostr.Event{note, request} {
			if hidden, err := b.Hidden(note.Packed); hidden || err != nil {
				t.Errorf("hidden too early: %v", err)
			}
			if _, err := b.Put(ev); err != nil {
				return err
			}
		}
		if hidden, err := b.Hidden(note.Packed); !hidden || err != nil {
			t.Errorf("not hidden: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A sweep needs no space that it does not make.
func TestSweepOnFullDisk(t *testing.T) {
	var clock watch
	dir := t.TempDir()
	db := clock.open(t, nil, dir)
	put(t, db, many(t, 3, false)...)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	clock.unix.Store(after)
	db = testdb.Open(t, func(o *store.Options) { o.Dir, o.Now, o.MinFreeBytes = dir, clock.now, 1<<62 })
	if s, err := db.Sweep(t.Context()); err != nil || s.Expired != 3 {
		t.Errorf("swept %+v, %v", s, err)
	}
}

func TestKeepSwept(t *testing.T) {
	var clock watch
	db := clock.open(t, nil, t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	reports, ended := make(chan store.Swept), make(chan struct{})
	go func() {
		defer close(ended)
		db.KeepSwept(ctx, time.Millisecond, func(s store.Swept, err error) {
			if err != nil {
				t.Error(err)
			}
			reports <- s
		})
	}()
	for i := range 3 {
		put(t, db, author{t, 1}.event(1, int64(i), []string{"expiration", strconv.Itoa(10 * (i + 1))}))
		clock.unix.Store(int64(10 * (i + 1)))
		if s := <-reports; s != (store.Swept{Expired: 1}) {
			t.Errorf("swept %+v", s)
		}
	}
	stop()
	<-ended
}
