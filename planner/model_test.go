package planner

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"wok/index"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// A model is a database and what a brute-force reader knows of it.
type model struct {
	db     *store.DB
	random *testdb.Random
	events []testdb.Event // everything ever put
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{db: testdb.Open(t), random: testdb.NewRandom(seed)}
	m.random.Each = true
	return m
}

// put stores n more random events in batches of random size.
func (m *model) put(t *testing.T, rng *rand.Rand, n int) {
	t.Helper()
	for n > 0 {
		batch := make([]*nostr.Event, 1+rng.IntN(min(n, 50)))
		n -= len(batch)
		for i := range batch {
			line := m.random.Event()
			ev, err := nostr.ParseEvent(line, nostr.Limits{})
			if err != nil {
				t.Fatalf("event %s: %v", line, err)
			}
			batch[i] = ev
			m.events = append(m.events, showD(testdb.Decode(line)))
		}
		err := m.db.Update(func(b *store.Batch) error {
			for _, ev := range batch {
				if _, err := b.Put(ev); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// load stores events from lines of JSON.
func (m *model) load(t testing.TB, r io.Reader) {
	t.Helper()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	err := m.db.Update(func(b *store.Batch) error {
		for lines.Scan() {
			ev, err := nostr.ParseEvent(lines.Bytes(), nostr.Limits{})
			if err != nil {
				continue // times that no relay can store
			}
			if _, err := b.Put(ev); err != nil {
				return err
			}
		}
		return lines.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// showD gives an addressable event the d tags that it has to filters: the one
// that makes its address, the first, which is empty where it is missing
// (01-R14).
func showD(e testdb.Event) testdb.Event {
	if index.ClassOf(uint16(e.Kind)) != index.Addressable {
		return e
	}
	isD := func(t []string) bool { return len(t) > 0 && t[0] == "d" }
	d := ""
	if i := slices.IndexFunc(e.Tags, isD); i >= 0 && len(e.Tags[i]) > 1 {
		d = e.Tags[i][1]
	}
	e.Tags = append(slices.DeleteFunc(slices.Clone(e.Tags), isD), []string{"d", d})
	return e
}

// A request is filters as JSON, compiled, and as the oracle reads them.
type request struct {
	text   [][]byte
	own    []*nostr.Filter
	oracle []testdb.Filter
}

func (m *model) request(t *testing.T) request {
	t.Helper()
	var r request
	for _, text := range m.random.Filters() {
		f, err := nostr.ParseFilter(text, nostr.FilterLimits{Each: true})
		if err != nil {
			t.Fatalf("filter %s: %v", text, err)
		}
		r.text = append(r.text, text)
		r.own = append(r.own, f)
		r.oracle = append(r.oracle, testdb.DecodeFilter(text))
	}
	return r
}

func (r request) String() string {
	return string(slices.Concat([]byte("\n  "), joinLines(r.text)))
}

func joinLines(lines [][]byte) (b []byte) {
	for i, l := range lines {
		if i > 0 {
			b = append(b, "\n  "...)
		}
		b = append(b, l...)
	}
	return b
}

// view runs fn in a read transaction.
func (m *model) view(t *testing.T, fn func(*store.Txn) error) {
	t.Helper()
	if err := m.db.View(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// ask runs a query to its end, with budgets and pauses by rng, in a new
// transaction each time, and returns the ids in hex. between, unless nil, is
// called while the query is paused.
func (m *model) ask(t *testing.T, q *Query, rng *rand.Rand, between func()) []string {
	t.Helper()
	var ids []string
	for done := false; !done; {
		budget := Budget{Postings: rng.IntN(8), Seeks: rng.IntN(4)}
		patience := 1 + rng.IntN(5)
		m.view(t, func(tx *store.Txn) (err error) {
			done, err = q.Run(tx, budget, func(_ uint64, v packed.View) bool {
				ids = append(ids, hex.EncodeToString(v.ID()))
				patience--
				return patience > 0
			})
			return err
		})
		if !done && between != nil {
			between()
		}
	}
	return ids
}

func idsOf(events []testdb.Event) []string {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return ids
}

// forced returns the query of r in which each filter goes through its path
// number way (cyclically) and no other, and whether any filter had another
// choice.
func forced(tx *store.Txn, r request, way int) (*Query, bool, error) {
	q, err := New(tx, r.own, Options{})
	if err != nil {
		return nil, false, err
	}
	more := false
	for i := range q.scans {
		p := q.scans[i].plan
		if p.Empty {
			continue
		}
		all := p.all()
		more = more || way < len(all)-1
		p.Path, p.Rejected = *all[way%len(all)], nil
		q.scans[i] = newScan(p, r.own[i].Limit)
	}
	return q, more, nil
}

// wander sends each scan of a paused query through another path at random, as a
// scan does that finds its path too dear.
func wander(q *Query, rng *rand.Rand) {
	for i := range q.scans {
		s := &q.scans[i]
		if all := s.plan.all(); s.path != nil && rng.IntN(2) == 0 {
			s.take(all[rng.IntN(len(all))], 0, 1)
		}
	}
}

// Every filter, by every path, cut into runs at random, gives what a reader
// gives who looks at each event.
func TestModelQuery(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newModel(t, seed)
			rng := rand.New(rand.NewPCG(seed, 1))
			for range 5 {
				m.put(t, rng, 120)
				visible := testdb.Visible(m.events)
				for range 200 {
					m.checkQuery(t, rng, visible)
				}
			}
		})
	}
}

func (m *model) checkQuery(t *testing.T, rng *rand.Rand, visible []testdb.Event) {
	t.Helper()
	r := m.request(t)
	want := idsOf(testdb.Query(r.oracle, visible))
	for way, more := 0, true; more; way++ {
		var q *Query
		m.view(t, func(tx *store.Txn) (err error) {
			q, more, err = forced(tx, r, way)
			return err
		})
		if got := m.ask(t, q, rng, nil); !slices.Equal(got, want) {
			t.Fatalf("filters %s\nby\n%s\ngave %d events %v\n   not %d events %v", r, q, len(got), got, len(want), want)
		}
	}
	var q *Query
	m.view(t, func(tx *store.Txn) (err error) {
		q, err = New(tx, r.own, Options{})
		return err
	})
	if got := m.ask(t, q, rng, func() { wander(q, rng) }); !slices.Equal(got, want) {
		t.Fatalf("filters %s\nby\n%s\nand others in turn gave %v\n   not %v", r, q, got, want)
	}
}

// However small the budget, a run gets on: a join takes several leaps to the next
// posting, and begins them anew in each run.
func TestModelLeastBudget(t *testing.T) {
	m := newModel(t, 5)
	rng := rand.New(rand.NewPCG(5, 1))
	m.put(t, rng, 100)
	visible := testdb.Visible(m.events)
	for range 100 {
		r := m.request(t)
		want := idsOf(testdb.Query(r.oracle, visible))
		for way, more := 0, true; more; way++ {
			var q *Query
			m.view(t, func(tx *store.Txn) (err error) {
				q, more, err = forced(tx, r, way)
				return err
			})
			var got []string
			for done, runs := false, 0; !done; runs++ {
				if runs > 10_000 {
					t.Fatalf("filters %s\nby\n%s\ndo not come to an end", r, q)
				}
				m.view(t, func(tx *store.Txn) (err error) {
					done, err = q.Run(tx, Budget{Postings: 1, Seeks: 1}, func(_ uint64, v packed.View) bool {
						got = append(got, hex.EncodeToString(v.ID()))
						return true
					})
					return err
				})
			}
			if !slices.Equal(got, want) {
				t.Fatalf("filters %s\nby\n%s\ngave %v\n not %v", r, q, got, want)
			}
		}
	}
}

// COUNT is the size of the union, whatever the limits say (45-R1, 45-R2).
func TestModelCount(t *testing.T) {
	m := newModel(t, 77)
	rng := rand.New(rand.NewPCG(77, 1))
	m.put(t, rng, 600)
	visible := testdb.Visible(m.events)
	for range 1500 {
		r := m.request(t)
		unlimited := slices.Clone(r.oracle)
		for i := range unlimited {
			unlimited[i].Limit = nil
		}
		want := len(testdb.Query(unlimited, visible))
		var c *Counter
		m.view(t, func(tx *store.Txn) (err error) {
			c, err = NewCount(tx, r.own, Options{})
			return err
		})
		for done := false; !done; {
			m.view(t, func(tx *store.Txn) (err error) {
				done, err = c.Run(tx, Budget{Postings: rng.IntN(20), Seeks: rng.IntN(4)})
				return err
			})
		}
		if got := c.Count().N; got != uint64(want) {
			t.Fatalf("filters %s\nby\n%s\ncounted %d, not %d", r, c.q, got, want)
		}
	}
}

// What is written while a query is paused is not part of its answer, what is
// removed then is left out, and everything that was there throughout comes
// once and in order.
func TestModelQueryAmidWrites(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { // closes its database, which takes much address space
			m := newModel(t, 1000+seed)
			rng := rand.New(rand.NewPCG(seed, 2))
			m.put(t, rng, 200)
			m.checkAmidWrites(t, rng)
		})
	}
}

func (m *model) checkAmidWrites(t *testing.T, rng *rand.Rand) {
	t.Helper()
	before := testdb.Visible(m.events)
	r := m.request(t)
	for i := range r.own { // limits count what is there at the time
		r.own[i].Limit, r.oracle[i].Limit = nostr.NoLimit, nil
	}
	var q *Query
	m.view(t, func(tx *store.Txn) (err error) {
		q, err = New(tx, r.own, Options{})
		return err
	})
	got := m.ask(t, q, rng, func() {
		wander(q, rng)
		if len(m.events) < 400 && rng.IntN(3) == 0 {
			m.put(t, rng, 1+rng.IntN(10))
		}
	})
	may := idsOf(testdb.Query(r.oracle, before))
	stays := map[string]bool{}
	for _, e := range testdb.Visible(m.events) {
		stays[e.ID] = true
	}
	must := slices.DeleteFunc(slices.Clone(may), func(id string) bool { return !stays[id] })
	if !isSubsequence(got, may) || !isSubsequence(must, got) {
		t.Fatalf("filters %s\nby\n%s\ngave  %v\nmust  %v\nmay   %v", r, q, got, must, may)
	}
}

// isSubsequence reports whether sub is whole with elements left out.
func isSubsequence(sub, whole []string) bool {
	for _, s := range sub {
		i := slices.Index(whole, s)
		if i < 0 {
			return false
		}
		whole = whole[i+1:]
	}
	return true
}

// What is done with the events that a query finds is none of its work.
func TestWorkIsTheQuerys(t *testing.T) {
	m := newModel(t, 9)
	m.put(t, rand.New(rand.NewPCG(9, 1)), 100)
	work := func(look bool) Work {
		var q *Query
		m.view(t, func(tx *store.Txn) (err error) {
			if q, err = New(tx, []*nostr.Filter{filter(t, `{"kinds":[1]}`)}, Options{}); err != nil {
				return err
			}
			_, err = q.Run(tx, Budget{}, func(levID uint64, _ packed.View) bool {
				if look {
					_, _, err := tx.JSON(levID)
					return err == nil
				}
				return true
			})
			return err
		})
		return q.Work()
	}
	if with, without := work(true), work(false); with != without || with.Reads == 0 {
		t.Errorf("%s, but %s where the JSON is read as well", without, with)
	}
}

// 67-R2: beyond a limit comes the rest of its second, and what is said of more is
// true (67-R1).
func TestModelWholeSeconds(t *testing.T) {
	m := newModel(t, 5)
	rng := rand.New(rand.NewPCG(5, 3))
	m.put(t, rng, 500)
	visible := testdb.Visible(m.events)
	told := map[nostr.Hint]int{}
	for range 800 {
		r := m.request(t)
		f, oracle := r.own[0], r.oracle[0]
		oracle.Limit = nil
		all := testdb.Query([]testdb.Filter{oracle}, visible)
		want := len(all)
		if n := f.Limit; n > 0 && n < want {
			for want = n; want < len(all) && all[want].CreatedAt == all[n-1].CreatedAt; want++ {
			}
		} else if n == 0 {
			want = 0
		}
		var q *Query
		m.view(t, func(tx *store.Txn) (err error) {
			q, err = New(tx, []*nostr.Filter{f}, Options{WholeSeconds: true})
			return err
		})
		if got := m.ask(t, q, rng, nil); !slices.Equal(got, idsOf(all[:want])) {
			t.Fatalf("filter %s gave\n%v\nnot\n%v", r.text[0], got, idsOf(all[:want]))
		}
		told[q.Hint()]++
		if q.Hint() == nostr.HintMore && want == len(all) || q.Hint() == nostr.HintFinish && want < len(all) {
			t.Fatalf("filter %s: %d of %d, and says %q", r.text[0], want, len(all), q.Hint())
		}
	}
	if told[nostr.HintMore] == 0 || told[nostr.HintFinish] == 0 {
		t.Errorf("told %v", told)
	}
}
