package ingest

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"wok/nostr"
)

// letters returns what jobs spell whose refs are runes.
func letters(jobs []*job) string {
	var b strings.Builder
	for _, j := range jobs {
		b.WriteRune(j.Ref.(rune))
	}
	return b.String()
}

// Submitters take turns, whoever came first and however much of one is waiting.
func TestIntakeTakesTurns(t *testing.T) {
	for _, c := range []struct{ put, taken string }{
		{"", ""},
		{"a", "a"},
		{"aaaa", "aaaa"},
		{"aaaaaab", "abaaaaa"},
		{"aaaabbc", "abcabaa"},
		{"abcabc", "abcabc"},
		{"cbaaaaabc", "cbacbaaaa"},
	} {
		q := newIntake(1, newGatherer(1, 1))
		from := map[rune]*Submitter{'a': {}, 'b': {}, 'c': {}}
		for i, r := range c.put {
			q.put(&job{from: from[r], bytes: int64(i), Submission: Submission{Ref: r}})
		}
		q.close()
		var taken []*job
		for n := -1; n < len(taken); {
			n = len(taken)
			taken = q.take(taken)
		}
		if got := letters(taken); got != c.taken {
			t.Errorf("%s is taken as %s, want %s", c.put, got, c.taken)
		}
		last := map[*Submitter]int64{}
		for i, j := range taken {
			if j.seq != uint64(i) || j.bytes < last[j.from] {
				t.Errorf("%s: order within a submitter, at %d", c.put, i)
			}
			last[j.from] = j.bytes
		}
	}
}

// Every worker has its part, and none more than a turn.
func TestIntakeParts(t *testing.T) {
	for _, c := range []struct{ waiting, workers, want int }{
		{1, 1, 1}, {1, 2, 1}, {2, 2, 1}, {3, 2, 2}, {7, 2, 4}, {100, 2, maxTurn}, {100, 100, 1},
	} {
		q := newIntake(c.workers, newGatherer(1, 1))
		for range c.waiting {
			q.put(&job{from: new(Submitter)})
		}
		if got := len(q.take(nil)); got != c.want {
			t.Errorf("of %d one of %d workers takes %d, want %d", c.waiting, c.workers, got, c.want)
		}
	}
}

// stocked returns a gatherer with an admitted event of one byte of JSON for each
// letter, which names the submitter.
func stocked(maxEvents, maxBytes int, admitted string) *gatherer {
	g := newGatherer(maxEvents, maxBytes)
	from := map[rune]*Submitter{}
	var jobs []*job
	for i, r := range admitted {
		if from[r] == nil {
			from[r] = &Submitter{}
		}
		g.expect()
		jobs = append(jobs, &job{from: from[r], seq: uint64(i), ev: &nostr.Event{JSON: []byte("x")}, Submission: Submission{Ref: r}})
	}
	slices.Reverse(jobs) // as workers finish
	g.settle(jobs, len(jobs))
	return g
}

// Where more waits for the writer than makes a batch, each submitter has its
// part of it.
func TestBatchesTakeTurns(t *testing.T) {
	for _, c := range []struct {
		admitted  string
		maxEvents int
		maxBytes  int
		batches   []string
	}{
		{"aaab", 4, 100, []string{"aaab"}},
		{"aaaaaab", 3, 100, []string{"aba", "aaa", "a"}},
		{"aaaaaabcc", 4, 100, []string{"abca", "acaa", "a"}},
		{"aaaaaabcc", 100, 4, []string{"abca", "acaa", "a"}},
		{"aabbaabb", 4, 100, []string{"abab", "aabb"}},
	} {
		g := stocked(c.maxEvents, c.maxBytes, c.admitted)
		g.close()
		var got []string
		for batch := g.next(nil, 0); len(batch) > 0; batch = g.next(nil, 0) {
			got = append(got, letters(batch))
		}
		if g.bytes != 0 {
			t.Errorf("%s: %d bytes are left", c.admitted, g.bytes)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.batches) {
			t.Errorf("%s: batches %v, want %v", c.admitted, got, c.batches)
		}
	}
}

// The writer waits for what is on its way when it could begin, and not for what
// comes later: a stream of duplicates must not keep an event from its commit.
func TestWriterWaitsForNoStream(t *testing.T) {
	g := newGatherer(100, 100)
	for range 10 {
		g.expect()
	}
	g.settle([]*job{{from: new(Submitter), ev: new(nostr.Event)}}, 1)
	for i := range 9 {
		if g.ready() {
			t.Fatalf("the writer begins while %d events are on their way", 9-i)
		}
		g.expect() // one more each time
		g.settle(nil, 1)
	}
	if !g.ready() {
		t.Error("the writer waits for events that came after it could begin")
	}
}

// Who was answered is waited for, once, and for no longer than that is worth.
func TestWriterWaitsForTheAnswered(t *testing.T) {
	g := stocked(100, 100, "aab")
	g.begin(2)
	for i := range 2 {
		if g.ready() {
			t.Fatalf("the writer begins when %d of 2 are back", i)
		}
		g.expect()
		g.settle([]*job{{from: new(Submitter), ev: new(nostr.Event)}}, 1)
	}
	if !g.ready() {
		t.Error("the writer waits for more than there can be")
	}
	g = stocked(100, 100, "aab")
	if got := letters(g.next(make([]*job, 2), 0)); got != "aab" { // those who were answered have left
		t.Errorf("without patience: %s", got)
	}
	g = stocked(100, 100, "aab")
	if got := letters(g.next(nil, math.MaxInt64)); got != "aab" {
		t.Errorf("with nobody answered: %s", got)
	}
}

// One client has a thousand events waiting for the writer when another sends one:
// that one is in the next batch.
func TestFloodDelaysNobody(t *testing.T) {
	p := newPipeline(t, Options{MaxBatchEvents: 10})
	release := hold(t, p)
	defer release()
	list := notes(1000)
	answers := make(chan string, len(list)+1)
	client := func(name string) *Submitter {
		return p.Submitter(func(results []Result) {
			for range results {
				answers <- name
			}
		})
	}
	flood, other := client("flood"), client("other")
	send := func(s *Submitter, raw []byte) {
		if err := s.Submit(context.Background(), Submission{Raw: raw}); err != nil {
			t.Fatal(err)
		}
	}
	for _, raw := range list {
		send(flood, raw)
	}
	send(other, note(1, 0))
	for admitted := 0; admitted <= len(list); runtime.Gosched() {
		p.lobby.mu.Lock()
		admitted = len(p.lobby.admitted)
		p.lobby.mu.Unlock()
	}
	release()
	place := 0
	for <-answers != "other" {
		place++
	}
	if place >= 10 {
		t.Errorf("%d events of the flood went before", place)
	}
}

// What is committed together is answered together, in order.
func TestAnswersComeTogether(t *testing.T) {
	p := newPipeline(t, Options{})
	release := hold(t, p)
	defer release()
	list := notes(100)
	calls := make(chan []Result, len(list))
	s := p.Submitter(func(results []Result) { calls <- slices.Clone(results) })
	for i, raw := range list {
		if err := s.Submit(context.Background(), Submission{Raw: raw, Ref: i}); err != nil {
			t.Fatal(err)
		}
	}
	release()
	results := <-calls
	if len(results) != len(list) {
		t.Fatalf("the first answer is to %d events", len(results))
	}
	for i, res := range results {
		if res.Ref != i || res.ID != idOf(list[i]) || !res.OK {
			t.Errorf("answer %d: %+v", i, res)
		}
	}
}
