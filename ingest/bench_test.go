package ingest

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"wok/internal/testdb"
	"wok/store"
)

// BenchmarkPipeline takes a corpus in, each event once per database, with real
// syncs: the time per event is what an import costs.
func BenchmarkPipeline(b *testing.B) {
	corpus := slices.Collect(testdb.Lines(testdb.Options{Events: 20_000}))
	bytes := 0
	for _, raw := range corpus {
		bytes += len(raw)
	}
	for _, c := range []struct {
		name string
		opts Options
		seen bool // the events are stored already
	}{
		{"verified", Options{}, false},
		{"unverified", Options{SkipVerify: true}, false},
		{"duplicate", Options{}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(bytes / len(corpus)))
			db := benchStore(b)
			if c.seen {
				pump(b, db, Options{SkipVerify: true}, corpus)
			}
			b.ResetTimer()
			for n := b.N; n > 0; n -= len(corpus) {
				if !c.seen && n != b.N {
					b.StopTimer()
					db = benchStore(b)
					b.StartTimer()
				}
				pump(b, db, c.opts, corpus[:min(n, len(corpus))])
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func benchStore(b *testing.B) *store.DB {
	db, err := store.Open(store.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

// pump takes all events in and waits for the last answer.
func pump(b *testing.B, db *store.DB, opts Options, events [][]byte) {
	opts.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	p := New(db, opts)
	var wg sync.WaitGroup
	wg.Add(len(events))
	done := func(r Result) {
		if r.Outcome == Failed || r.Outcome == Invalid {
			b.Errorf("%v %s", r.Outcome, r.Reason)
		}
		wg.Done()
	}
	for _, raw := range events {
		if err := p.Submit(context.Background(), raw, Source{Kind: SourceImport}, done); err != nil {
			b.Fatal(err)
		}
	}
	wg.Wait()
	if err := p.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
