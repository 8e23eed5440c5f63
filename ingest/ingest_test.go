package ingest

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/store"
)

// noon is the time in these tests, by every clock.
const noon = 1_700_000_000

func clock() time.Time { return time.Unix(noon, 0) }

// openStore opens an empty database that is checked and closed after the
// pipelines.
func openStore(t testing.TB, set ...func(*store.Options)) *store.DB {
	t.Helper()
	return testdb.Open(t, append(set, func(o *store.Options) { o.Now = clock })...)
}

// startPipeline starts a pipeline that logs nothing and is closed with the test.
func startPipeline(t testing.TB, db *store.DB, opts Options) *Pipeline {
	t.Helper()
	opts.Now, opts.Log = clock, slog.New(slog.NewTextHandler(io.Discard, nil))
	p := New(db, opts)
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func newPipeline(t testing.TB, opts Options) *Pipeline {
	return startPipeline(t, openStore(t), opts)
}

// await submits raw and returns the answer.
func await(t testing.TB, p *Pipeline, raw []byte) Result {
	t.Helper()
	return awaitFrom(t, p, raw, SourceIP4)
}

func awaitFrom(t testing.TB, p *Pipeline, raw []byte, door SourceKind) Result {
	t.Helper()
	return awaitSource(t, p, raw, Source{Kind: door})
}

func awaitSource(t testing.TB, p *Pipeline, raw []byte, src Source) Result {
	t.Helper()
	got := make(chan Result, 1)
	err := p.Submit(context.Background(), raw, src, func(r Result) { got <- r })
	if err != nil {
		t.Fatal(err)
	}
	return <-got
}

// submit submits raw and sends the answer to results, which has room for it.
func submit(t testing.TB, p *Pipeline, raw []byte, results chan<- Result) {
	t.Helper()
	err := p.Submit(context.Background(), raw, Source{}, func(r Result) { results <- r })
	if err != nil {
		t.Fatal(err)
	}
}

// expect fails the test unless res has that outcome and a reason that begins so.
func expect(t testing.TB, res Result, want Outcome, reason string) {
	t.Helper()
	if res.Outcome != want || !strings.HasPrefix(res.Reason, reason) || reason == "" && res.Reason != "" {
		t.Fatalf("got %v, reason %q; want %v, %q", res.Outcome, res.Reason, want, reason)
	}
}

// note returns a signed note at an age of seconds, the n-th of that age.
func note(n, age int) []byte {
	return testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: int64(noon - age), Content: strings.Repeat("x", n)})
}

// notes returns n different signed notes, quicker than note makes them.
func notes(n int) [][]byte {
	return slices.Collect(testdb.Lines(testdb.Options{Events: n, Mix: []testdb.Share{{Kind: 1, Weight: 1}}}))
}

// forge returns raw with another signature; the true one is under a key that no
// event has.
func forge(raw []byte) []byte {
	other := `"sig":"` + strings.Repeat("1", 128) + `","not the sig":"`
	return bytes.Replace(raw, []byte(`"sig":"`), []byte(other), 1)
}

// stored returns how many events the database holds.
func stored(t testing.TB, p *Pipeline) (n uint64) {
	t.Helper()
	err := p.db.View(context.Background(), func(tx *store.Txn) (err error) {
		n, err = tx.Events()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// has reports whether the database holds the event of that JSON.
func has(t testing.TB, p *Pipeline, raw []byte) (found bool) {
	t.Helper()
	id, err := hex.DecodeString(idOf(raw))
	if err != nil {
		t.Fatal(err)
	}
	err = p.db.View(context.Background(), func(tx *store.Txn) (err error) {
		_, found, err = tx.ByID(id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// idOf returns the id of an event in hex.
func idOf(raw []byte) string { return testdb.Decode(raw).ID }
