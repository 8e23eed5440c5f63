package testdb

import (
	"bytes"
	"slices"
	"testing"
)

func TestRandomIsValidAndReproducible(t *testing.T) {
	a, b := NewRandom(1), NewRandom(1)
	for range 500 {
		line, filter := a.Event(), a.Filter()
		verify(t, line)
		if !bytes.Equal(line, b.Event()) || !bytes.Equal(filter, b.Filter()) {
			t.Fatal("the same seed made another event or filter")
		}
	}
}

// The traps of the small world are really laid.
func TestRandomCollides(t *testing.T) {
	authors := NewRandom(0).Authors()
	if a, b := authors[3], authors[4]; a == b || a[:4] != b[:4] {
		t.Errorf("authors %s and %s should differ, but not in four digits", a, b)
	}

	type prefix struct {
		second int64
		id     string
	}
	ties, deletedIDs, hidden := 0, 0, 0
	for seed := range uint64(10) {
		events := randomEvents(NewRandom(seed), 500)
		deletions := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Kind != 5 })
		seen := map[prefix]bool{}
		for _, e := range events {
			p := prefix{e.CreatedAt, e.ID[:4]}
			if seen[p] {
				ties++
			}
			seen[p] = true
			if deleted(e, deletions) {
				deletedIDs++
			}
		}
		hidden += len(events) - len(Visible(events))
	}
	within(t, "ids of one second that agree in two bytes, in 5000", float64(ties), 5, 500)
	within(t, "deleted events in 5000", float64(deletedIDs), 300, 2500)
	within(t, "invisible events in 5000", float64(hidden), 1000, 4500)
}

func TestRandomFiltersHit(t *testing.T) {
	r := NewRandom(1)
	events := randomEvents(r, 500)
	const n = 2000
	some, few, several, zero, empty := 0, 0, 0, 0, 0
	for range n {
		filters := r.Filters()
		var decoded []Filter
		for _, f := range filters {
			decoded = append(decoded, DecodeFilter(f))
			if bytes.Contains(f, []byte(`[]`)) {
				empty++
			}
			if bytes.Contains(f, []byte(`"limit":0`)) {
				zero++
			}
		}
		if len(filters) > 1 {
			several++
		}
		if hits := len(Query(decoded, events)); hits > 0 {
			some++
			if hits <= 10 {
				few++
			}
		}
	}
	within(t, "requests that find something", float64(some), n/3, n*9/10)
	within(t, "requests that find a few", float64(few), n/10, n/2)
	within(t, "requests with several filters", float64(several), n/10, n/2)
	within(t, "filters with limit 0", float64(zero), n/100, n/10)
	within(t, "filters with an empty list", float64(empty), n/100, n/5)
}

func randomEvents(r *Random, n int) []Event {
	events := make([]Event, n)
	for i := range events {
		events[i] = Decode(r.Event())
	}
	return events
}

func BenchmarkRandomEvent(b *testing.B) {
	r := NewRandom(1)
	for b.Loop() {
		r.Event()
	}
}
