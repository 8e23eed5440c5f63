package relay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
)

// TestLiveIndex compares the index with asking every filter, on a small world
// in which everything collides, while subscriptions come and go, many with the
// filters of others, and while what is frequent changes.
func TestLiveIndex(t *testing.T) {
	under := map[sort]int{}
	for seed := range uint64(30) {
		w := newLiveWorld(t, seed)
		for range 400 {
			switch w.rng.IntN(8) {
			case 0, 1, 2:
				w.open()
			case 3, 4:
				w.close()
			case 5:
				w.favour()
			default:
				w.compare()
			}
		}
		for _, in := range w.index.interests {
			under[in.under.sort]++
		}
		for len(w.subs) > 0 {
			w.close()
		}
		if n := w.index.size(); n != 0 {
			t.Errorf("seed %d: %d are left in the index", seed, n)
		}
	}
	for s := range sorts {
		if under[s] == 0 {
			t.Errorf("no filter stood under a term of sort %d", s)
		}
	}
}

// A liveWorld has an index and all that stands in it.
type liveWorld struct {
	*testdb.Random
	t       *testing.T
	rng     *rand.Rand
	index   liveIndex
	filters []*nostr.Filter // seen so far
	subs    []*subscription
}

func newLiveWorld(t *testing.T, seed uint64) *liveWorld {
	w := &liveWorld{Random: testdb.NewRandom(seed), t: t, rng: rand.New(rand.NewPCG(seed, 7))}
	w.Each = true
	w.index = newLiveIndex(newSeeds(), new(rates))
	return w
}

func (w *liveWorld) filter() *nostr.Filter {
	if len(w.filters) > 0 && w.rng.IntN(3) == 0 {
		f := *w.filters[w.rng.IntN(len(w.filters))]
		f.Limit = w.rng.IntN(100)
		return &f
	}
	f, err := nostr.ParseFilter(w.Filter(), nostr.FilterLimits{Each: true})
	if err != nil {
		w.t.Fatal(err)
	}
	w.filters = append(w.filters, f)
	return f
}

func (w *liveWorld) open() {
	s := &subscription{id: fmt.Sprint(w.rng.Uint64())}
	for range 1 + w.rng.IntN(3) {
		f := w.filter()
		s.filters = append(s.filters, f)
		w.index.add(s, f, keyOf(f))
	}
	w.subs = append(w.subs, s)
}

func (w *liveWorld) close() {
	if len(w.subs) == 0 {
		return
	}
	i := w.rng.IntN(len(w.subs))
	w.index.remove(w.subs[i])
	w.subs = slices.Delete(w.subs, i, i+1)
}

// favour makes the terms of some event seem frequent.
func (w *liveWorld) favour() {
	ev, err := nostr.ParseEvent(w.Event(), nostr.Limits{})
	if err != nil {
		w.t.Fatal(err)
	}
	terms := w.index.seeds.ofEvent(nil, ev.Packed)
	for range rateWindow / 2 {
		w.index.rates.note(terms)
	}
}

// compare has an event matched by the index, and by every filter.
func (w *liveWorld) compare() {
	line := w.Event()
	ev, err := nostr.ParseEvent(line, nostr.Limits{})
	if err != nil {
		w.t.Fatal(err)
	}
	var got, want []string
	n := &news{view: ev.Packed, terms: w.index.seeds.ofEvent(nil, ev.Packed)}
	w.index.rates.note(n.terms)
	w.index.match(n, 0, func(s *subscription) { got = append(got, s.id) })
	for _, s := range w.subs {
		if s.match(ev.Packed) {
			want = append(want, s.id)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("%s reaches %v, want %v", line, got, want)
	}
}

// size returns how much there is in the index.
func (x *liveIndex) size() int { return len(x.interests) + len(x.lists) + len(x.gone) }

// noted returns rates that have seen these events in turn.
func noted(s *seeds, events ...packed.View) *rates {
	r := new(rates)
	for i := range 2 * rateWindow {
		r.note(s.ofEvent(nil, events[i%len(events)]))
	}
	return r
}

// TestNarrowest: a filter stands under what is rarest of what it asks for, and
// where nothing is known under what usually is.
func TestNarrowest(t *testing.T) {
	view := func(key, kind int, tags ...[]string) packed.View {
		ev, err := nostr.ParseEvent(testdb.Sign(key, testdb.Event{Kind: kind, Tags: tags}), nostr.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return ev.Packed
	}
	seeds := newSeeds()
	none := new(rates)
	// Author 0 writes all that there is of kind 1, and half of that has #t x.
	some := noted(seeds, view(0, 1, []string{"t", "x"}), view(0, 1), view(2, 7), view(3, 7))
	key := func(i int) string { return `"` + testdb.Key(i).Pubkey() + `"` }
	many := key(10)
	for i := 11; i < 510; i++ {
		many += "," + key(i)
	}
	id := fmt.Sprintf("%064x", 1)
	for _, c := range []struct {
		filter string
		none   sort
		some   sort
	}{
		{`{}`, sortAll, sortAll},
		{`{"since":1}`, sortAll, sortAll},
		{`{"kinds":[1]}`, sortKind, sortKind},
		{`{"kinds":[1,7]}`, sortKind, sortKind},
		{`{"ids":["` + id + `"],"kinds":[9],"#t":["z"]}`, sortID, sortID},
		{`{"authors":[` + key(0) + `]}`, sortAuthor, sortAuthor},
		{`{"authors":[` + key(0) + `],"kinds":[3]}`, sortAuthorKind, sortAuthorKind},
		{`{"authors":[` + key(0) + `],"kinds":[3,4,5]}`, sortAuthor, sortAuthorKind},
		{`{"authors":[` + key(1) + `],"kinds":[1,7]}`, sortAuthor, sortAuthor},
		{`{"authors":[` + many + `],"kinds":[1]}`, sortAuthorKind, sortAuthorKind},
		{`{"authors":[` + many + `],"kinds":[1,7]}`, sortAuthor, sortAuthor},
		{`{"authors":[` + many + `],"kinds":[9]}`, sortAuthorKind, sortKind},
		{`{"authors":[` + many + `],"#t":["x"]}`, sortTag, sortAuthor},
		{`{"kinds":[1],"#t":["x"]}`, sortTag, sortTag},
		{`{"kinds":[1],"#t":["y"]}`, sortTag, sortTag},
		{`{"kinds":[9],"#t":["x"]}`, sortTag, sortKind},
		{`{"authors":[` + key(0) + `],"#t":["y"]}`, sortAuthor, sortTag},
	} {
		f, err := nostr.ParseFilter([]byte(c.filter), nostr.FilterLimits{})
		if err != nil {
			t.Fatal(err)
		}
		for r, want := range map[*rates]sort{none: c.none, some: c.some} {
			x := newLiveIndex(seeds, r)
			if got, _ := x.narrowest(f); got.sort != want {
				t.Errorf("%s, known %v: under sort %d, want %d", f.Shape(), r.known, got.sort, want)
			}
		}
	}
}

// TestSharedFilters: filters that ask new events the same are one, whatever
// their limit and spelling.
func TestSharedFilters(t *testing.T) {
	srv := benchServer()
	same := []string{`{"kinds":[1,7],"limit":50}`, `{"limit":0,"kinds":[7,1,1]}`, `{"kinds":[1e0,7]}`}
	c := openMany(t, srv, 30, func(i int) string { return same[i%len(same)] })
	x := &srv.live.shard(c).index
	if len(x.interests) != 1 || len(x.lists) != 2 {
		t.Errorf("%d interests under %d terms", len(x.interests), len(x.lists))
	}
	openMany(t, srv, 1, func(int) string { return `{"kinds":[1,7],"since":1}` })
	if len(x.interests) != 2 {
		t.Errorf("%d interests", len(x.interests))
	}
}

// TestPastIsNotKept: a filter is for new events until a minute after its until,
// and leaves the index when it is met after that.
func TestPastIsNotKept(t *testing.T) {
	const until = 1000
	ev, err := nostr.ParseEvent(testdb.Sign(0, testdb.Event{Kind: 1, CreatedAt: until}), nostr.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s, l := &subscription{}, newSeeds()
	x := newLiveIndex(l, new(rates))
	for _, raw := range []string{`{"kinds":[1],"until":1000}`, `{"kinds":[1,2],"until":1000}`, `{"kinds":[9]}`} {
		f, err := nostr.ParseFilter([]byte(raw), nostr.FilterLimits{})
		if err != nil {
			t.Fatal(err)
		}
		x.add(s, f, keyOf(f))
	}
	n := &news{view: ev.Packed, terms: l.ofEvent(nil, ev.Packed)}
	for _, step := range []struct{ now, want int }{{until, 1}, {until + lateness, 1}, {until + lateness + 1, 0}} {
		got := 0
		x.match(n, uint64(step.now), func(*subscription) { got++ })
		if got != step.want {
			t.Errorf("at %d it reaches %d, want %d", step.now, got, step.want)
		}
	}
	if len(x.interests) != 1 || len(x.lists) != 1 {
		t.Errorf("%d interests under %d terms are kept", len(x.interests), len(x.lists))
	}
	x.remove(s)
	if n := x.size(); n != 0 {
		t.Errorf("%d are left in the index", n)
	}
}
