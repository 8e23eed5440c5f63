package planner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/store"
)

// A plainWorld is events of which nothing is hidden, so that they are counted
// without a look at them.
type plainWorld struct {
	t      *testing.T
	db     *store.DB
	events []testdb.Event
}

func (w *plainWorld) put(n int) {
	w.t.Helper()
	from := len(w.events)
	put(w.t, w.db, n, func(i int) []byte {
		i += from
		e := testdb.Event{
			Kind: []int{1, 7, 9, 11}[i%4], CreatedAt: 1_700_000_000 + int64(i/3), Content: fmt.Sprint(i),
			Tags: [][]string{{"t", fmt.Sprint(i % 2)}, {"t", "all"}},
		}
		line := testdb.Sign(i%5, e)
		w.events = append(w.events, testdb.Decode(line))
		return line
	})
}

// filter returns a filter at random, as the planner and the oracle read it.
func (w *plainWorld) filter(rng *rand.Rand) (*nostr.Filter, testdb.Filter) {
	f := nostr.NewFilter()
	if rng.IntN(2) == 0 {
		f.Kinds = []uint16{1, 9}[:1+rng.IntN(2)]
	}
	var text string
	switch rng.IntN(4) {
	case 0:
		text = fmt.Sprintf(`{"authors":[%q,%q]}`, testdb.Key(1).Pubkey(), testdb.Key(4).Pubkey())
	case 1:
		text = `{"#t":["all"]}`
	case 2:
		text = `{"#t":["0","1"]}`
	default:
		text = `{}`
	}
	g := filter(w.t, text)
	f.Authors, f.Tags = g.Authors, g.Tags
	last := w.events[len(w.events)-1].CreatedAt
	if rng.IntN(2) == 0 {
		f.Since = uint64(1_700_000_000 + rng.Int64N(last-1_700_000_000))
	}
	if rng.IntN(2) == 0 {
		f.Until = uint64(1_700_000_000 + rng.Int64N(last-1_700_000_000))
	}
	return f, testdb.DecodeFilter(f.AppendJSON(nil))
}

func (w *plainWorld) count(f *nostr.Filter, b Budget, between func()) *Counter {
	w.t.Helper()
	var c *Counter
	for done := false; !done; {
		err := w.db.View(context.Background(), func(tx *store.Txn) (err error) {
			if c == nil {
				if c, err = NewCount(tx, []*nostr.Filter{f}, Options{}); err != nil {
					return err
				}
			}
			done, err = c.Run(tx, b)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if between != nil {
			between()
		}
	}
	return c
}

// Counts by lengths, by pages and by postings, in one run or many, are those of
// a reader who looks at each event; what comes while a count is under way is no
// part of it.
func TestTally(t *testing.T) {
	w := &plainWorld{t: t, db: testdb.Open(t)}
	w.put(4000)
	rng := rand.New(rand.NewPCG(1, 1))
	tallied := 0
	for range 300 {
		f, oracle := w.filter(rng)
		want := uint64(len(testdb.Query([]testdb.Filter{oracle}, w.events)))
		b := Budget{Postings: rng.IntN(4), Seeks: rng.IntN(2)}
		between := func() {
			if len(w.events) < 4500 && rng.IntN(3) == 0 {
				w.put(1 + rng.IntN(4))
			}
		}
		for _, c := range []*Counter{w.count(f, Budget{}, nil), w.count(f, b, between)} {
			if got := c.Count().N; got != want {
				t.Fatalf("filter %s: counted %d, not %d\n%s", f.AppendJSON(nil), got, want, c.Plans()[0])
			}
			if c.tally != nil {
				tallied++
			}
		}
	}
	if tallied < 100 {
		t.Errorf("only %d tallies", tallied)
	}
}

// A span of time is counted by the page: of one list, or of several that share no
// event.
func TestTallyByPages(t *testing.T) {
	w := &plainWorld{t: t, db: testdb.Open(t)}
	w.put(20_000)
	for _, text := range []string{
		`{"since":1700000100,"until":1700006000}`, `{"kinds":[1,7,9],"since":1700000100}`,
		`{"#t":["all"],"until":1700006000}`,
	} {
		c := w.count(filter(t, text), Budget{}, nil)
		if n, work := c.Count().N, c.Work(); n < 14_000 || work.Postings > n/100 || work.Reads > 0 {
			t.Errorf("%s: counted %d by %s", text, n, work)
		}
	}
}

// What comes into the lists that are still to be counted is newer than the count.
func TestTallyKeepsItsSnapshot(t *testing.T) {
	w := &plainWorld{t: t, db: testdb.Open(t)}
	w.put(2000)
	for _, text := range []string{`{"kinds":[1,7,9,11],"since":1700000001}`, `{"kinds":[1,7,9,11]}`} {
		f := filter(t, text)
		want := uint64(len(testdb.Query([]testdb.Filter{testdb.DecodeFilter([]byte(text))}, w.events)))
		runs := 0
		c := w.count(f, Budget{Postings: 1, Seeks: 1}, func() {
			if runs++; runs < 3 {
				w.put(8)
			}
		})
		if got := c.Count().N; got != want || c.tally == nil {
			t.Errorf("%s: counted %d, not %d, in %d runs", text, got, want, runs)
		}
	}
}
