package planner

import (
	"context"
	"encoding/json"
	"syscall"
	"testing"

	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// BenchmarkQuery answers the shapes of the table as a relay does, up to the JSON
// of each event: planned, run, read. With -table.db it asks that database.
func BenchmarkQuery(b *testing.B) {
	db := benchDB(b)
	err := db.View(context.Background(), func(tx *store.Txn) error {
		w, err := explore(tx)
		if err != nil {
			return err
		}
		for _, s := range w.shapes() {
			text, err := json.Marshal(s.filter)
			if err != nil {
				return err
			}
			fs := []*nostr.Filter{filter(b, string(text))}
			b.Run(s.name, func(b *testing.B) { benchQuery(b, tx, fs) })
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func benchDB(b *testing.B) *store.DB {
	if *tableDB == "" {
		db := generated(b, planEvents)
		share(b, db)
		return db
	}
	db, err := store.Open(store.Options{Dir: *tableDB})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	share(b, db)
	return db
}

func benchQuery(b *testing.B, tx *store.Txn, fs []*nostr.Filter) {
	b.ReportAllocs()
	events, start := 0, cpuTime(b)
	for b.Loop() {
		q, err := New(tx, fs, Options{})
		if err != nil {
			b.Fatal(err)
		}
		_, err = q.Run(tx, Budget{}, func(levID uint64, _ packed.View) bool {
			_, ok, err := tx.JSON(levID)
			events++
			return ok && err == nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(events)/float64(b.N), "events")
}

// cpuTime returns what the process has used of its processors in nanoseconds,
// which says more than the clock where a machine is shared.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkCount counts what is bounded in time, which no length of a list tells.
func BenchmarkCount(b *testing.B) {
	db := benchDB(b)
	err := db.View(context.Background(), func(tx *store.Txn) error {
		w, err := explore(tx)
		if err != nil {
			return err
		}
		for _, s := range w.counted() {
			text, err := json.Marshal(s.filter)
			if err != nil {
				return err
			}
			fs := []*nostr.Filter{filter(b, string(text))}
			b.Run(s.name, func(b *testing.B) { benchCount(b, tx, fs) })
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func benchCount(b *testing.B, tx *store.Txn, fs []*nostr.Filter) {
	b.ReportAllocs()
	n, start := uint64(0), cpuTime(b)
	for b.Loop() {
		c, err := NewCount(tx, fs, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Run(tx, Budget{}); err != nil {
			b.Fatal(err)
		}
		n += c.Count().N
	}
	spent := float64(cpuTime(b) - start)
	b.ReportMetric(spent/float64(b.N), "cpu-ns/op")
	b.ReportMetric(spent/float64(max(1, n)), "cpu-ns/event")
	b.ReportMetric(float64(n)/float64(b.N), "events")
}

// counted returns the counts that are benchmarked.
func (w *world) counted() []shape {
	type m = map[string]any
	return []shape{
		{"all in a window", m{"since": w.at(0.3), "until": w.at(0.7)}},
		{"a kind in a window", m{"kinds": []int{1}, "since": w.at(0.3), "until": w.at(0.7)}},
		{"a tag in a window", m{"#t": []string{w.value('t', 0)}, "since": w.at(0.3)}},
		{"three kinds in a window", m{"kinds": []int{1, 6, 7}, "since": w.at(0.3), "until": w.at(0.7)}},
		{"hashtag + kind", m{"kinds": []int{1}, "#t": []string{w.value('t', 0)}}},
		{"authors in a window", m{"authors": w.authors[:50], "kinds": []int{1}, "since": w.at(0.3), "until": w.at(0.7)}},
	}
}
