package testdb

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// Every kind is valid to go-nostr, and so are the events inside of events.
func TestLinesAreValid(t *testing.T) {
	o := Options{Seed: 7, Events: 1500, Ephemeral: 20}
	kinds := map[int]int{}
	for line := range Lines(o) {
		verify(t, line)
		e := Decode(line)
		kinds[e.Kind]++
		if e.Kind == 6 && e.Content != "" {
			verify(t, []byte(e.Content))
		}
		if e.Kind == 9735 {
			i := slices.IndexFunc(e.Tags, func(tag []string) bool { return tag[0] == "description" })
			verify(t, []byte(e.Tags[i][1]))
		}
	}
	for kind := range makers {
		if kinds[kind] == 0 {
			t.Errorf("no event of kind %d", kind)
		}
	}
}

func TestLinesAreReproducible(t *testing.T) {
	o := Options{Seed: 1, Events: 1000}
	lines := collect(o)
	if !slices.EqualFunc(lines, collect(o), bytes.Equal) {
		t.Error("the same options made other events")
	}
	o.Seed = 2
	if slices.EqualFunc(lines, collect(o), bytes.Equal) {
		t.Error("another seed made the same events")
	}
}

func TestShuffle(t *testing.T) {
	o := Options{Seed: 1, Events: 1000, Ephemeral: 100}
	lines := collect(o)
	o.Shuffle = true
	shuffled := collect(o)
	if slices.EqualFunc(lines, shuffled, bytes.Equal) {
		t.Error("the order is as without Shuffle")
	}
	slices.SortFunc(lines, bytes.Compare)
	slices.SortFunc(shuffled, bytes.Compare)
	if !slices.EqualFunc(lines, shuffled, bytes.Equal) {
		t.Error("the events are not those without Shuffle")
	}
}

func TestLinesStopEarly(t *testing.T) {
	for _, shuffle := range []bool{false, true} {
		n := 0
		for range Lines(Options{Shuffle: shuffle}) {
			if n++; n == 10 {
				break
			}
		}
	}
}

func TestMix(t *testing.T) {
	for line := range Lines(Options{Events: 100, Mix: []Share{{7, 1}, {0, 2}}}) {
		if k := Decode(line).Kind; k != 7 && k != 0 {
			t.Fatalf("kind %d is not in the mix", k)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("kind 9 was taken")
		}
	}()
	collect(Options{Mix: []Share{{9, 1}}})
}

// The corpus has the averages that figures about it are given for, and the
// extremes that make it worth having. Authors and hashtags are those of 200k
// events.
func TestCorpusShape(t *testing.T) {
	var summary Summary
	var events []Event
	o := Options{Seed: 1, Events: 20_000, Authors: 10_000, Hashtags: 5_000}
	for line := range Lines(o) {
		summary.Add(line)
		events = append(events, Decode(line))
	}
	within(t, "bytes an event", summary.Total.MeanBytes(), 1100, 1300)
	within(t, "single-letter tags an event", summary.Total.MeanLetters(), 6.3, 7.7)
	within(t, "longest follow list", float64(summary.Kinds[3].MaxLetters), 700, 800)
	for _, s := range DefaultMix() {
		share := float64(s.Weight) * float64(o.Events) / 1000
		within(t, "events of a kind", float64(summary.Kinds[s.Kind].Events), share*0.7, share*1.3)
	}

	c := counted(events)
	within(t, "answers to the hottest note", float64(c.hottest), 500, 10_000)
	within(t, "events in the fullest second", float64(c.fullest), 30, 200)
	within(t, "share of events that are late", float64(c.late)/float64(len(events)), 0.05, 0.6)
	within(t, "tags longer than 255 bytes", float64(c.long), 5, 500)
	within(t, "expirations", float64(c.expiring), 5, 500)
	within(t, "upper-case tags", float64(c.upper), 500, 5000)
	within(t, "share of e tags that name an event", float64(c.known)/float64(c.answers), 0.95, 1)

	gone := len(events) - len(Visible(events))
	within(t, "events replaced or deleted", float64(gone), 500, 5000)
}

type counts struct {
	hottest, fullest, late, long, expiring, upper, known, answers int
}

func counted(events []Event) (c counts) {
	ids, answers, seconds := map[string]bool{}, map[string]int{}, map[int64]int{}
	newest := int64(0)
	for _, e := range events {
		ids[e.ID] = true
		seconds[e.CreatedAt]++
		c.fullest = max(c.fullest, seconds[e.CreatedAt])
		if e.CreatedAt < newest {
			c.late++
		}
		newest = max(newest, e.CreatedAt)
		for _, tag := range e.Tags {
			if tag[0] == "e" {
				c.answers++
				answers[tag[1]]++
				c.hottest = max(c.hottest, answers[tag[1]])
				if ids[tag[1]] {
					c.known++
				}
			}
			if tag[0] == "expiration" {
				c.expiring++
			}
			if len(tag[0]) == 1 && tag[0] != strings.ToLower(tag[0]) {
				c.upper++
			}
			if len(tag[0]) == 1 && len(tag[1]) > 255 {
				c.long++
			}
		}
	}
	return c
}

// Whoever deletes in the corpus deletes what is its own.
func TestDeletionsTakeEffect(t *testing.T) {
	events := decodeAll(collect(Options{Seed: 3, Events: 5000}))
	ids := map[string]Event{}
	byAddress := 0
	for _, e := range events {
		ids[e.ID] = e
		if e.Kind != 5 {
			continue
		}
		for _, a := range e.values("#a") {
			byAddress++
			if !strings.Contains(a, e.Pubkey) {
				t.Errorf("%s deletes %s", e.Pubkey, a)
			}
		}
		for _, id := range e.values("#e") {
			if d, ok := ids[id]; ok && (d.Pubkey != e.Pubkey || d.CreatedAt > e.CreatedAt) {
				t.Errorf("%s of %s deletes %s of %s", e.ID, e.Pubkey, d.ID, d.Pubkey)
			}
		}
	}
	if byAddress == 0 {
		t.Error("no deletion by address")
	}
}

func within(t *testing.T, what string, got, lo, hi float64) {
	t.Helper()
	if got < lo || got > hi {
		t.Errorf("%s: %.4g, want %g to %g", what, got, lo, hi)
	}
}

func collect(o Options) [][]byte { return slices.Collect(Lines(o)) }

func decodeAll(lines [][]byte) []Event {
	events := make([]Event, len(lines))
	for i, line := range lines {
		events[i] = Decode(line)
	}
	return events
}

// BenchmarkLines gives the rate of the corpus, signatures included.
func BenchmarkLines(b *testing.B) {
	b.ReportAllocs()
	n := 0
	for range Lines(Options{Events: b.N, Authors: 10_000, Hashtags: 5_000}) {
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}
