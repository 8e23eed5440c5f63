package relay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
)

// TestLiveIndex compares the index with asking every filter, on a small world
// in which everything collides, while subscriptions come and go.
func TestLiveIndex(t *testing.T) {
	for seed := range uint64(20) {
		world := testdb.NewRandom(seed)
		rng := rand.New(rand.NewPCG(seed, 7))
		l := newLive(nil, nil)
		var open []*subscription
		for range 300 {
			switch rng.IntN(3) {
			case 0:
				s := &subscription{id: fmt.Sprint(rng.Uint64())}
				for range 1 + rng.IntN(3) {
					f, err := nostr.ParseFilter(world.Filter(), nostr.FilterLimits{})
					if err != nil {
						t.Fatal(err)
					}
					s.filters = append(s.filters, f)
				}
				l.add(s)
				open = append(open, s)
			case 1:
				if len(open) > 0 {
					i := rng.IntN(len(open))
					l.remove(open[i])
					open = slices.Delete(open, i, i+1)
				}
			default:
				compareLive(t, l, open, world.Event())
			}
		}
		for _, s := range open {
			l.remove(s)
		}
		if x := &l.index; len(x.keys)+len(x.tags)+len(x.kinds)+len(x.all) != 0 {
			t.Errorf("seed %d: the index is not empty", seed)
		}
	}
}

func compareLive(t *testing.T, l *live, open []*subscription, line []byte) {
	t.Helper()
	ev, err := nostr.ParseEvent(line, nostr.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	l.match(ev.Packed, func(s *subscription) { got = append(got, s.id) })
	for _, s := range open {
		if s.match(ev.Packed) {
			want = append(want, s.id)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s reaches %v, want %v", line, got, want)
	}
}
