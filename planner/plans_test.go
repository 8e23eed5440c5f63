package planner

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// planEvents is how many generated events the plans are tested on.
const planEvents = 100_000

// Plans, work and bounds on one database, which is the same every time.
func TestPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a database of 100,000 events")
	}
	db := generated(t, planEvents)
	share(t, db)
	err := db.View(context.Background(), func(tx *store.Txn) error {
		w, err := explore(tx)
		if err != nil {
			return err
		}
		t.Run("golden", func(t *testing.T) { w.golden(t) })
		t.Run("bounds", func(t *testing.T) { w.bounds(t) })
		t.Run("chosen", func(t *testing.T) { w.chosen(t) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// generated returns a database of n generated events.
func generated(t testing.TB, n int) *store.DB {
	t.Helper()
	db := testdb.Open(t, func(o *store.Options) {
		o.Now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	})
	var batch []*nostr.Event
	put := func() {
		err := db.Update(func(b *store.Batch) error {
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
		batch = batch[:0]
	}
	var parser nostr.Parser
	for line := range testdb.Lines(testdb.Options{Seed: 1, Events: n}) {
		ev, err := parser.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if batch = append(batch, ev); len(batch) == 10_000 {
			put()
		}
	}
	put()
	return db
}

// compile returns the filter of a shape.
func (s shape) compile(t *testing.T) *nostr.Filter {
	t.Helper()
	text, err := json.Marshal(s.filter)
	if err != nil {
		t.Fatal(err)
	}
	return filter(t, string(text))
}

// A result is what a filter gave and what that took.
type result struct {
	ids  []string
	work Work
	plan *Plan
}

// ask runs a filter to its end; way is the number of the path to force, -1 for
// the planner's choice.
func (w *world) ask(t *testing.T, f *nostr.Filter, way int) result {
	t.Helper()
	q, err := New(w.tx, []*nostr.Filter{f}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := q.Plans()[0]
	if way >= 0 {
		p.Path, p.Rejected = *p.all()[way], nil
		q.scans[0] = newScan(p, f.Limit)
	}
	r := result{plan: p}
	_, err = q.Run(w.tx, Budget{}, func(_ uint64, v packed.View) bool {
		r.ids = append(r.ids, string(v.ID()))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	r.work = q.Work()
	return r
}

// golden compares the plan and the work of every shape, and of counting it,
// with testdata/plans.txt.
func (w *world) golden(t *testing.T) {
	var b strings.Builder
	for _, s := range w.shapes() {
		f := s.compile(t)
		r := w.ask(t, f, -1)
		c, err := NewCount(w.tx, []*nostr.Filter{f}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(w.tx, Budget{}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "== %s\n%s  sent %d: %s\n  counted %d: %s\n\n", s.name, r.plan, len(r.ids), r.work, c.Count().N, c.Work())
	}
	const file = "testdata/plans.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("plans have changed; if they should, go test ./planner -run TestPlans -rewrite\n%s", firstDifference(got, string(want)))
	}
}

// firstDifference shows where two texts part.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			from := max(0, i-8)
			return fmt.Sprintf("line %d, got:\n%s\nwant:\n%s", i+1,
				strings.Join(g[from:min(len(g), i+6)], "\n"), strings.Join(w[from:min(len(w), i+6)], "\n"))
		}
	}
	return "one is longer"
}

// What a query may read at most, whatever the rest of the database holds.
func (w *world) bounds(t *testing.T) {
	byName := map[string]*nostr.Filter{}
	for _, s := range w.shapes() {
		byName[s.name] = s.compile(t)
	}
	bound := func(name, what string, got, most uint64) {
		if got > most {
			t.Errorf("%s: %d %s, of at most %d", name, got, what, most)
		}
	}
	authorsList := w.ask(t, &nostr.Filter{Authors: byName["hashtag + rare author"].Authors, Until: nostr.NoUntil, Limit: nostr.NoLimit}, -1)
	r := w.ask(t, byName["hashtag + rare author"], -1)
	bound("hashtag + rare author", "postings", r.work.Postings, 3*uint64(len(authorsList.ids)))

	r = w.ask(t, byName["one address, d of 10,000"], -1)
	bound("one address", "seeks", r.work.Seeks, 2)
	r = w.ask(t, byName["100 addresses of that d"], -1)
	bound("100 addresses", "seeks", r.work.Seeks, 200)

	for _, name := range []string{"#t + #p", "#t + #p, both rarer"} {
		r = w.ask(t, byName[name], -1)
		shorter := r.plan.Path.Terms[0].Postings
		bound(name, "postings", r.work.Postings, 3*shorter)
		bound(name, "reads", r.work.Reads, uint64(len(r.ids))+1)
	}

	r = w.ask(t, byName["feed of 500 hot, 50"], -1)
	bound("home feed", "postings", r.work.Postings, 2000)
	bound("home feed", "seeks", r.work.Seeks, 200)

	r = w.ask(t, byName["rare kind, 20"], -1)
	bound("rare kind", "postings", r.work.Postings, 22)

	first, deep := w.page(t, 1), w.page(t, 50)
	bound("a deep page", "postings", deep.work.Postings, first.work.Postings+1)
	bound("a deep page", "seeks", deep.work.Seeks, first.work.Seeks+1)
	bound("a deep page", "pages", deep.work.Pages, first.work.Pages+2)

	for _, text := range []string{`{"kinds":[1]}`, `{"authors":["` + w.authors[0] + `"]}`, `{}`, `{"#t":["` + w.value('t', 0) + `"]}`} {
		c, err := NewCount(w.tx, []*nostr.Filter{filter(t, text)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(w.tx, Budget{}); err != nil {
			t.Fatal(err)
		}
		bound("count of "+text, "postings", c.Work().Postings, 0)
	}
}

// page returns the n-th page of 20 events before the middle.
func (w *world) page(t *testing.T, n int) result {
	until := w.at(0.5)
	for i := 1; ; i++ {
		f := nostr.NewFilter()
		f.Until, f.Limit = until, 20
		r := w.ask(t, f, -1)
		if i == n {
			return r
		}
		v, ok, err := w.tx.ByID([]byte(r.ids[len(r.ids)-1]))
		if err != nil || !ok {
			t.Fatal("page ends with an event that is not there: ", err)
		}
		until = v.Time() - 1
	}
}

// Every path gives the same answer, and the chosen one costs at most twice what
// the best does, counted in work.
func (w *world) chosen(t *testing.T) {
	for _, s := range w.shapes() {
		f := s.compile(t)
		own := w.ask(t, f, -1)
		best, by := own.work.nanos(), "itself"
		for way := range own.plan.all() {
			r := w.ask(t, f, way)
			if !slices.Equal(r.ids, own.ids) {
				t.Errorf("%s: path %s gives another answer", s.name, r.plan.Path.names())
			}
			if n := r.work.nanos(); n < best {
				best, by = n, r.plan.Path.names()
			}
		}
		if ratio := own.work.nanos() / best; ratio > 2 {
			t.Errorf("%s: %s costs %.1f times what %s would", s.name, own.plan.Path.names(), ratio, by)
		}
	}
}

// A filter whose price was reckoned wrongly by far, since the few lists that
// were measured are the only long ones and all of that is old, is still answered
// at a small multiple of what the best path costs.
func TestSwitch(t *testing.T) {
	const authors, events = 10 * maxMeasured, 30_000
	db := testdb.Open(t)
	keys := make([]int, authors)
	for i := range keys {
		keys[i] = i
	}
	slices.SortFunc(keys, func(a, b int) int { return strings.Compare(testdb.Key(a).Pubkey(), testdb.Key(b).Pubkey()) })
	err := db.Update(func(b *store.Batch) error {
		for i := range events {
			// The old tenth is by every tenth author, the rest by a stranger.
			key := authors
			if i < events/10 {
				key = keys[i%maxMeasured*10]
			}
			line := testdb.Sign(key, testdb.Event{Kind: 1, CreatedAt: 1_700_000_000 + int64(i)})
			ev, err := nostr.ParseEvent(line, nostr.Limits{})
			if err != nil {
				return err
			}
			if _, err := b.Put(ev); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := nostr.NewFilter()
	f.Limit = 50
	for _, k := range keys {
		f.Authors = append(f.Authors, filter(t, `{"authors":["`+testdb.Key(k).Pubkey()+`"]}`).Authors...)
	}
	err = db.View(context.Background(), func(tx *store.Txn) error {
		w := &world{tx: tx}
		own := w.ask(t, f, -1)
		if len(own.plan.switched) == 0 {
			t.Errorf("no other path was gone over to\n%s", own.plan)
		}
		best := own.work.nanos()
		for way := range own.plan.all() {
			r := w.ask(t, f, way)
			if !slices.Equal(r.ids, own.ids) {
				t.Errorf("%s gives another answer", r.plan.Path.names())
			}
			best = min(best, r.work.nanos())
		}
		if ratio := own.work.nanos() / best; ratio > 3 {
			t.Errorf("cost %.1f times the best path's\n%s", ratio, own.plan)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// However often a plan is changed, what is printed of it stays short.
func TestSwitchesShown(t *testing.T) {
	f := nostr.NewFilter()
	p := &Plan{Filter: f, Path: Path{filter: f}}
	for range 100 {
		p.turn(&p.Path)
	}
	text := p.String()
	if n := strings.Count(text, "then, as"); n != maxSwitched || !strings.Contains(text, "and so on, 92 times") {
		t.Errorf("%d switches shown:\n%s", n, text)
	}
	b, err := json.Marshal(p)
	if err != nil || strings.Count(string(b), "micros") != 1+maxSwitched || !strings.Contains(string(b), `"switches":100`) {
		t.Errorf("%s %v", b, err)
	}
}
