package planner

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// put stores events made by line, the numbers from 0 to n.
func put(t testing.TB, db *store.DB, n int, line func(i int) []byte) {
	t.Helper()
	err := db.Update(func(b *store.Batch) error {
		for i := range n {
			ev, err := nostr.ParseEvent(line(i), nostr.Limits{})
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
}

// tagged returns an event of second i with one of a number of tags.
func tagged(i, tags int) []byte {
	return testdb.Sign(1, testdb.Event{
		Kind: 1, CreatedAt: 1_700_000_000 + int64(i),
		Tags: [][]string{{"t", fmt.Sprint("topic ", i%tags)}}, Content: fmt.Sprint(i),
	})
}

// runOnce goes on with q in a transaction of its own and returns the ids.
func runOnce(t *testing.T, db *store.DB, q *Query, b Budget) (ids [][32]byte, done bool) {
	t.Helper()
	err := db.View(context.Background(), func(tx *store.Txn) (err error) {
		done, err = q.Run(tx, b, func(_ uint64, v packed.View) bool {
			ids = append(ids, [32]byte(v.ID()))
			return true
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, done
}

func newQueryIn(t *testing.T, db *store.DB, f ...*nostr.Filter) (q *Query) {
	t.Helper()
	err := db.View(context.Background(), func(tx *store.Txn) (err error) {
		q, err = New(tx, f, Options{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// A merge of many lists is begun once, however many runs a query takes: cut into
// runs it costs little more than in one, and no run does more than its share.
func TestUnionIsBegunOnce(t *testing.T) {
	const tags, events = 3000, 6000
	db := testdb.Open(t)
	put(t, db, events, func(i int) []byte { return tagged(i, tags) })
	f := nostr.NewFilter()
	c := nostr.TagCondition{Letter: 't'}
	for i := range tags {
		c.Values = append(c.Values, packed.AppendTag(nil, 't', fmt.Sprint("topic ", i)))
	}
	slices.SortFunc(c.Values, func(a, b packed.Tag) int { return bytes.Compare(a, b) })
	f.Tags = append(f.Tags, c)
	ask := func() *Query {
		q := newQueryIn(t, db, f)
		s := &q.scans[0]
		for _, p := range s.plan.all() {
			if p.Terms[0].Lists == tags {
				s.plan.Path, s.plan.Rejected = *p, nil
			}
		}
		*s = newScan(s.plan, 500)
		return q
	}
	whole := ask()
	want, _ := runOnce(t, db, whole, Budget{})
	if len(want) != 500 {
		t.Fatalf("%d events", len(want))
	}
	q := ask()
	planned := q.Work().Seeks
	var got [][32]byte
	runs := 0
	for done := false; !done; runs++ {
		if runs > 1000 {
			t.Fatal("no end")
		}
		before := q.Work()
		var ids [][32]byte
		ids, done = runOnce(t, db, q, Budget{Seeks: 100, Postings: 20})
		got = append(got, ids...)
		// Besides its share a run finds the list it stands on once more.
		if work := q.Work().sub(before); work.Seeks > 100+2*20+2 {
			t.Errorf("run %d: %s", runs, work)
		}
		if s := &q.scans[0]; s.src != nil && s.src.(*union).open != nil {
			t.Fatal("lists stay open between runs")
		}
	}
	if !slices.Equal(got, want) {
		t.Error("another answer")
	}
	cut, uncut := q.Work().Seeks-planned, whole.Work().Seeks-planned
	if runs < 50 || cut > uncut+uint64(len(got)+2*runs) {
		t.Errorf("%d seeks in %d runs, %d in one", cut, runs, uncut)
	}
}

// More lists than stand open at once are merged all the same.
func TestUnionForgets(t *testing.T) {
	const lists = maxOpen + maxOpen/2
	db := testdb.Open(t)
	put(t, db, lists, func(i int) []byte { return tagged(i, lists) })
	f := nostr.NewFilter()
	c := nostr.TagCondition{Letter: 't'}
	for i := range lists {
		c.Values = append(c.Values, packed.AppendTag(nil, 't', fmt.Sprint("topic ", i)))
	}
	f.Tags = append(f.Tags, c)
	q := newQueryIn(t, db, f)
	s := &q.scans[0]
	for _, p := range s.plan.all() {
		if p.Terms[0].Lists == lists {
			s.plan.Path, s.plan.Rejected = *p, nil
		}
	}
	*s = newScan(s.plan, nostr.NoLimit)
	if ids, done := runOnce(t, db, q, Budget{}); len(ids) != lists || !done {
		t.Errorf("%d of %d", len(ids), lists)
	}
}

// A run whose time is over before it begins gets on, whatever it has to do.
func TestModelPastDeadline(t *testing.T) {
	m := newModel(t, 8)
	m.put(t, rand.New(rand.NewPCG(8, 1)), 200)
	visible := testdb.Visible(m.events)
	for range 300 {
		r := m.request(t)
		want := idsOf(testdb.Query(r.oracle, visible))
		for len(r.own) > 0 && len(r.own) <= plannedAtOnce { // each filter many times is as good as once
			r.own = append(r.own, r.own...)
		}
		q := newQueryIn(t, m.db, r.own...)
		var got []string
		for done, runs := false, 0; !done; runs++ {
			if runs > 10_000 {
				t.Fatalf("filters %s\nby\n%s\ndo not come to an end", r, q)
			}
			var ids [][32]byte
			ids, done = runOnce(t, m.db, q, Budget{Deadline: time.Unix(1, 0)})
			for _, id := range ids {
				got = append(got, fmt.Sprintf("%x", id))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("filters %s\nby\n%s\ngave %v\n not %v", r, q, got, want)
		}
	}
}

// Many ids are looked up as they are asked for, some in each run.
func TestManyIDs(t *testing.T) {
	const n = 3 * maxLookups
	db := testdb.Open(t)
	var ids [][32]byte
	put(t, db, n, func(i int) []byte {
		line := tagged(i, n)
		ev, err := nostr.ParseEvent(line, nostr.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, [32]byte(ev.Packed.ID()))
		return line
	})
	want := slices.Clone(ids)
	slices.Reverse(want) // the newest first
	f := nostr.NewFilter()
	f.IDs = append(ids, [32]byte{1})
	slices.SortFunc(f.IDs, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	q := newQueryIn(t, db, f)
	if q.Work().Seeks > 10 {
		t.Errorf("planning took %s", q.Work())
	}
	var got [][32]byte
	for done := false; !done; {
		before := q.Work()
		var some [][32]byte
		some, done = runOnce(t, db, q, Budget{Seeks: 100, Postings: 100})
		if work := q.Work().sub(before); work.Seeks > 100 {
			t.Errorf("a run: %s", work)
		}
		got = append(got, some...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d of %d, or in another order", len(got), len(want))
	}
	if w := q.Work(); w.Seeks > n+10 {
		t.Errorf("%s", w)
	}
}

// Events of one second whose ids begin alike, made to be so in any number, come
// in order, and few of them are held at a time.
func TestGroundIDs(t *testing.T) {
	const n = 10*maxTies + 7
	db, err := store.Open(store.Options{Dir: t.TempDir()}) // not checked: the ids are forged
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var want [][32]byte
	err = db.Update(func(b *store.Batch) error {
		for i := range n {
			ev, err := nostr.ParseEvent(testdb.Sign(1, testdb.Event{
				Kind: 1, CreatedAt: 1_700_000_000, Content: fmt.Sprint(i), Tags: [][]string{{"t", fmt.Sprint(i % 3)}},
			}), nostr.Limits{})
			if err != nil {
				return err
			}
			ev.Packed[0], ev.Packed[1] = 0xab, 0xcd
			want = append(want, [32]byte(ev.Packed.ID()))
			if _, err := b.Put(ev); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// One second later, and one earlier.
	for _, at := range []int64{1_700_000_001, 1_699_999_999} {
		put(t, db, 1, func(int) []byte {
			line := testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: at, Tags: [][]string{{"t", "0"}}})
			ev, err := nostr.ParseEvent(line, nostr.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, [32]byte(ev.Packed.ID()))
			return line
		})
	}
	after, before := want[n], want[n+1]
	slices.SortFunc(want[:n], func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	want = slices.Concat([][32]byte{after}, want[:n], [][32]byte{before})
	for _, text := range []string{`{}`, `{"kinds":[1]}`, `{"#t":["0","1","2"]}`, `{"kinds":[1],"limit":500}`} {
		for _, b := range []Budget{{}, {Postings: 1000}, {Postings: 50, Seeks: 2}} {
			f := filter(t, text)
			q := newQueryIn(t, db, f, filter(t, `{"authors":["`+testdb.Key(1).Pubkey()+`"],"limit":0}`))
			var got [][32]byte
			for done := false; !done; {
				var ids [][32]byte
				ids, done = runOnce(t, db, q, b)
				got = append(got, ids...)
				if held := cap(q.scans[0].ties.hits); held > 3*maxTies {
					t.Fatalf("%d hits held", held)
				}
			}
			want := want
			if f.Limit != nostr.NoLimit {
				want = want[:f.Limit]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s in runs of %+v: %d events of %d, or in another order", text, b, len(got), len(want))
			}
		}
	}
}
