package ingest

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/packed"
	"wok/store"
)

// Times of the worlds of TestOrder.
const (
	beforeEnd, deadline, afterEnd = 5000, 6000, 7000
)

// A relayTest is a database and its pipeline, which are closed and opened again.
type relayTest struct {
	t    *testing.T
	dir  string
	unix atomic.Int64
	db   *store.DB
	p    *Pipeline
}

func (r *relayTest) now() time.Time { return time.Unix(r.unix.Load(), 0) }

func (r *relayTest) start() {
	r.t.Helper()
	r.db = testdb.Open(r.t, func(o *store.Options) { o.Dir, o.Now = r.dir, r.now })
	// The same events come dozens of times: their signatures are right.
	r.p = New(r.db, Options{SkipVerify: true, MaxBatchEvents: 50, Now: r.now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

func (r *relayTest) stop() {
	r.t.Helper()
	if err := r.p.Close(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	testdb.Check(r.t, r.db)
	if err := r.db.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// feed brings lines in, in random order and portions: by EVENT, all at once, or
// by an import, with sweeps and restarts in between.
func (r *relayTest) feed(rng *rand.Rand, lines [][]byte) {
	r.t.Helper()
	lines = slices.Clone(lines)
	rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for len(lines) > 0 {
		n := 1 + rng.IntN(len(lines))
		if rng.IntN(2) == 0 {
			r.events(lines[:n])
		} else if _, err := Import(r.t.Context(), bytes.NewReader(bytes.Join(lines[:n], []byte("\n"))), r.p, ImportOptions{}); err != nil {
			r.t.Fatal(err)
		}
		lines = lines[n:]
		switch rng.IntN(3) {
		case 0:
			r.stop()
			r.start()
		case 1:
			if _, err := r.db.Sweep(r.t.Context()); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

func (r *relayTest) events(lines [][]byte) {
	r.t.Helper()
	var wg sync.WaitGroup
	for _, line := range lines {
		wg.Add(1)
		err := r.p.Submit(r.t.Context(), line, Source{Kind: SourceIP4}, func(res Result) {
			if res.Outcome == Failed || res.Outcome == Invalid || res.Outcome == Blocked {
				r.t.Errorf("%s: %s", line, res.Reason)
			}
			wg.Done()
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	wg.Wait()
}

// left returns the sorted ids of all events that are not hidden.
func (r *relayTest) left() (ids []string) {
	r.t.Helper()
	err := r.db.View(r.t.Context(), func(tx *store.Txn) error {
		return tx.EachEvent(0, func(_ uint64, v packed.View) error {
			hidden, err := tx.Hidden(v)
			if !hidden {
				ids = append(ids, hex.EncodeToString(v.ID()))
			}
			return err
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}

// TestOrder: what is left follows from the set of events that came, by whatever
// door and in whatever order, with restarts in between; also when time has passed
// and all of them have come once more.
func TestOrder(t *testing.T) {
	worlds, rounds := 200, 8
	if testing.Short() {
		rounds = 2
	}
	var lines [][]byte
	var want, wantAfter []string
	for w := range worlds {
		world := testdb.EndingWorld(rand.New(rand.NewPCG(uint64(w), 11)), 10*w, deadline)
		lines = append(lines, world...)
		var events []testdb.Event
		for _, line := range world {
			events = append(events, testdb.Decode(line))
		}
		for _, e := range testdb.Visible(events) {
			want = append(want, e.ID)
			if !slices.ContainsFunc(e.Tags, func(tag []string) bool { return tag[0] == "expiration" }) {
				wantAfter = append(wantAfter, e.ID)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(wantAfter)
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(round), 12))
			r := &relayTest{t: t, dir: t.TempDir()}
			r.unix.Store(beforeEnd)
			r.start()
			defer func() { r.stop() }()
			r.feed(rng, lines)
			if got := r.left(); !slices.Equal(got, want) {
				t.Errorf("%d are left and should be %d", len(got), len(want))
			}
			r.unix.Store(afterEnd)
			r.feed(rng, lines)
			if got := r.left(); !slices.Equal(got, wantAfter) {
				t.Errorf("after the end %d are left and should be %d", len(got), len(wantAfter))
			}
		})
	}
}
