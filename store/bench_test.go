package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/store"
)

// benchEvents is how many events a round of BenchmarkPut stores.
const benchEvents = 50_000

// corpus holds what the benchmarks put: parsed once.
var corpus = sync.OnceValue(func() []*nostr.Event {
	var events []*nostr.Event
	var p nostr.Parser
	for line := range testdb.Lines(testdb.Options{Seed: 1, Events: benchEvents}) {
		ev, err := p.Parse(line)
		if err != nil {
			panic(err)
		}
		events = append(events, ev)
	}
	return events
})

// BenchmarkPut stores a corpus in an empty database, commits synced to disk, by
// batches of different sizes. One round is all of the corpus:
//
//	go test -run - -bench Put -benchtime 1x -count 6 ./store
func BenchmarkPut(b *testing.B) {
	for _, size := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) { benchPut(b, size) })
	}
}

func benchPut(b *testing.B, size int) {
	events := corpus()
	jsonBytes := 0
	for _, ev := range events {
		jsonBytes += len(ev.JSON)
	}
	b.ReportAllocs()
	var fileBytes int64
	var used time.Duration
	for b.Loop() {
		b.StopTimer()
		dir, err := os.MkdirTemp(b.TempDir(), "")
		if err != nil {
			b.Fatal(err)
		}
		db, err := store.Open(store.Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		before := cpuTime()
		for batch := range slices.Chunk(events, size) {
			put(b, db, batch...)
		}
		used += cpuTime() - before
		b.StopTimer()
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
		fi, err := os.Stat(filepath.Join(dir, "data.mdb"))
		if err != nil {
			b.Fatal(err)
		}
		fileBytes = fi.Size()
		os.RemoveAll(dir)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N*len(events))/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N*len(events))/1000, "cpu-us/event")
	b.ReportMetric(float64(fileBytes)/float64(jsonBytes), "bytes/JSON-byte")
	b.ReportMetric(float64(jsonBytes)/float64(len(events)), "JSON-bytes/event")
}

// cpuTime returns what the process has used of all cores, which says more than
// the clock where a disk or a neighbour is slow.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
