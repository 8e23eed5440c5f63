package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// TestOrder puts the same events in many orders, cut into batches at random,
// the database closed and opened between some: what is left must always be
// the same, and what the oracle says.
func TestOrder(t *testing.T) {
	seeds, shuffles := 30, 8
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		random := testdb.NewRandom(uint64(seed))
		lines := make([][]byte, 40+seed*4)
		for i := range lines {
			lines[i] = random.Event()
		}
		want := visible(lines)
		var events []*nostr.Event
		for _, line := range lines {
			events = append(events, parse(t, line))
		}
		for shuffle := range shuffles {
			rng := rand.New(rand.NewPCG(uint64(seed), uint64(shuffle)))
			t.Run(fmt.Sprintf("seed=%d/%d", seed, shuffle), func(t *testing.T) {
				got := putShuffled(t, rng, events)
				if !slices.Equal(got, want) {
					t.Errorf("left are\n%s\nand should be\n%s", describe(lines, got, want), describe(lines, want, got))
				}
			})
		}
	}
}

// visible returns the ids, sorted, of the events that the oracle keeps.
func visible(lines [][]byte) []string {
	var events []testdb.Event
	for _, line := range lines {
		events = append(events, testdb.Decode(line))
	}
	var ids []string
	for _, e := range testdb.Visible(events) {
		ids = append(ids, e.ID)
	}
	slices.Sort(ids)
	return ids
}

// describe shows the events with these ids that are not among the others.
func describe(lines [][]byte, ids, others []string) (s string) {
	for _, line := range lines {
		if id := testdb.Decode(line).ID; slices.Contains(ids, id) && !slices.Contains(others, id) {
			s += string(line) + "\n"
		}
	}
	return s
}

// putShuffled puts events in random order and batches, some of them twice, and
// returns the ids that are left.
func putShuffled(t *testing.T, rng *rand.Rand, events []*nostr.Event) []string {
	t.Helper()
	events = slices.Clone(events)
	for range len(events) / 4 {
		events = append(events, events[rng.IntN(len(events))])
	}
	rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	dir := t.TempDir()
	db := reopen(t, nil, dir)
	for len(events) > 0 {
		n := 1 + rng.IntN(len(events))
		put(t, db, events[:n]...)
		if events = events[n:]; rng.IntN(3) == 0 {
			db = reopen(t, db, dir)
		}
	}
	return left(t, db)
}

// reopen closes db, unless it is nil, after a check, and opens what is in dir.
// In the end the database is checked and closed.
func reopen(t *testing.T, db *store.DB, dir string) *store.DB {
	t.Helper()
	if db != nil {
		testdb.Check(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return testdb.Open(t, func(o *store.Options) { o.Dir = dir })
}

// left returns the ids of all events in db that are not hidden, sorted.
func left(t *testing.T, db *store.DB) (ids []string) {
	t.Helper()
	view(t, db, func(tx *store.Txn) error {
		return tx.EachEvent(0, func(_ uint64, v packed.View) error {
			hidden, err := tx.Hidden(v)
			if !hidden {
				ids = append(ids, fmt.Sprintf("%x", v.ID()))
			}
			return err
		})
	})
	slices.Sort(ids)
	return ids
}

func view(t testing.TB, db *store.DB, fn func(*store.Txn) error) {
	t.Helper()
	if err := db.View(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// TestOrderDense puts hundreds of tiny worlds, in which everything hits
// everything, into one database in many orders. A world has two authors and
// a few seconds; it has gift wraps too, which a recipient may delete. Every
// second world is still smaller: one author, one address, two seconds.
func TestOrderDense(t *testing.T) {
	const worlds, rounds = 400, 12
	var lines [][]byte
	var want []string
	for w := range worlds {
		world := testdb.DenseWorld(rand.New(rand.NewPCG(uint64(w), 5)), 10*w)
		lines = append(lines, world...)
		want = append(want, visible(world)...)
	}
	slices.Sort(want)
	var events []*nostr.Event
	for _, line := range lines {
		events = append(events, parse(t, line))
	}
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			got := putShuffled(t, rand.New(rand.NewPCG(uint64(round), 6)), events)
			if !slices.Equal(got, want) {
				t.Errorf("left are\n%s\nand should be\n%s", describe(lines, got, want), describe(lines, want, got))
			}
		})
	}
}
