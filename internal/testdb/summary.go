package testdb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Summary says what a set of events is made of.
type Summary struct {
	Total Tally
	Kinds map[int]Tally
}

// A Tally counts events, the bytes of their JSON and their tags of one letter.
type Tally struct {
	Events, Bytes, Letters int
	MaxBytes, MaxLetters   int // of one event
}

// Add counts one event, given as [Lines] yields it.
func (s *Summary) Add(line []byte) {
	e := Decode(line)
	letters := 0
	for _, tag := range e.Tags {
		if len(tag) > 1 && len(tag[0]) == 1 {
			letters++
		}
	}
	if s.Kinds == nil {
		s.Kinds = map[int]Tally{}
	}
	s.Total = s.Total.plus(len(line), letters)
	s.Kinds[e.Kind] = s.Kinds[e.Kind].plus(len(line), letters)
}

func (t Tally) plus(bytes, letters int) Tally {
	t.Events++
	t.Bytes += bytes
	t.Letters += letters
	t.MaxBytes = max(t.MaxBytes, bytes)
	t.MaxLetters = max(t.MaxLetters, letters)
	return t
}

// MeanBytes returns the bytes of JSON an event has on average.
func (t Tally) MeanBytes() float64 { return float64(t.Bytes) / float64(max(1, t.Events)) }

// MeanLetters returns the single-letter tags an event has on average.
func (t Tally) MeanLetters() float64 { return float64(t.Letters) / float64(max(1, t.Events)) }

// String returns a table, one line a kind and one for all.
func (s *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6s %9s %7s %9s %7s %7s %6s\n", "kind", "events", "share", "bytes", "most", "tags", "most")
	for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
		s.row(&b, fmt.Sprint(kind), s.Kinds[kind])
	}
	s.row(&b, "all", s.Total)
	return b.String()
}

func (s *Summary) row(b *strings.Builder, name string, t Tally) {
	share := 100 * float64(t.Events) / float64(max(1, s.Total.Events))
	fmt.Fprintf(b, "%6s %9d %6.1f%% %9.0f %7d %7.1f %6d\n",
		name, t.Events, share, t.MeanBytes(), t.MaxBytes, t.MeanLetters(), t.MaxLetters)
}
