package ingest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"wok/nostr"
	"wok/store"
)

func TestDuplicateCostsNoSignature(t *testing.T) {
	p := newPipeline(t, Options{})
	raw := note(1, 0)
	await(t, p, raw)
	for range 10 {
		expect(t, await(t, p, raw), Duplicate, "duplicate: ")
	}
	if n := p.Stats().Verified; n != 1 {
		t.Errorf("%d signatures checked, want 1", n)
	}
}

func TestRefusalCostsNoSignature(t *testing.T) {
	p := newPipeline(t, Options{})
	await(t, p, sign(22242, 0, ""))
	await(t, p, sign(1, 0, "", tag("-")))
	await(t, p, sign(1, 0, "", tag("expiration", "1")))
	if n := p.Stats().Verified; n != 0 {
		t.Errorf("%d signatures checked, want 0", n)
	}
}

func TestSkipVerify(t *testing.T) {
	p := newPipeline(t, Options{SkipVerify: true})
	raw := note(1, 0)
	expect(t, await(t, p, forge(raw)), Stored, "")
	expect(t, await(t, p, bytes.Replace(raw, []byte(`"x"`), []byte(`"y"`), 1)), Invalid, "invalid: id does not match")
}

// hold returns a submission that keeps the writer from its next batch until
// release is called: everything submitted between gathers.
func hold(t *testing.T, p *Pipeline) (release func()) {
	t.Helper()
	held, gate := make(chan struct{}), make(chan struct{})
	err := p.Submit(context.Background(), note(99, 1), Source{}, func(Result) {
		close(held)
		<-gate
	})
	if err != nil {
		t.Fatal(err)
	}
	<-held
	return sync.OnceFunc(func() { close(gate) })
}

func TestGroupCommit(t *testing.T) {
	list := notes(499)
	for _, c := range []struct {
		name             string
		opts             Options
		batches, largest uint64
	}{
		{"all at once", Options{}, 1, 499},
		{"by events", Options{MaxBatchEvents: 100}, 5, 100},
		{"by bytes", Options{MaxBatchBytes: 1}, 499, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPipeline(t, c.opts)
			release := hold(t, p)
			defer release()
			results := make(chan Result, len(list))
			for _, raw := range list {
				submit(t, p, raw, results)
			}
			release()
			for range list {
				expect(t, <-results, Stored, "")
			}
			s := p.Stats()
			if s.Batches-1 != c.batches || s.LargestBatch != c.largest {
				t.Errorf("%d batches of up to %d, want %d of %d", s.Batches-1, s.LargestBatch, c.batches, c.largest)
			}
		})
	}
}

// An event that comes alone waits for nothing: if it did, this would not end.
func TestLoneEventIsCommittedAtOnce(t *testing.T) {
	p := newPipeline(t, Options{})
	for i := range 3 {
		raw := note(i, 0)
		expect(t, await(t, p, raw), Stored, "")
		if !has(t, p, raw) {
			t.Fatal("answered before it was committed") // 01-R42
		}
	}
	if n := p.Stats().Batches; n != 3 {
		t.Errorf("%d batches, want 3", n)
	}
}

func TestBadEventsCostNoNeighbour(t *testing.T) {
	p := newPipeline(t, Options{})
	release := hold(t, p)
	defer release()
	results := make(chan Result, 200)
	for _, raw := range notes(100) {
		submit(t, p, raw, results)
		submit(t, p, forge(raw), results)
	}
	release()
	var got [outcomes]int
	for range 200 {
		got[(<-results).Outcome]++
	}
	if got[Stored] != 100 || got[Invalid] != 100 || stored(t, p) != 101 {
		t.Errorf("answers %v, %d stored", got, stored(t, p))
	}
}

func TestSameIDAtOnce(t *testing.T) {
	p := newPipeline(t, Options{Workers: 4})
	raw := note(5, 0)
	var first atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 4 {
				res := await(t, p, raw)
				if !has(t, p, raw) {
					t.Errorf("answered %v before the event was committed", res.Outcome)
				}
				if res.Outcome == Stored {
					first.Add(1)
				} else if res.Outcome != Duplicate {
					t.Errorf("got %v %q", res.Outcome, res.Reason)
				}
			}
		})
	}
	wg.Wait()
	if first.Load() != 1 || stored(t, p) != 1 {
		t.Errorf("stored %d times, %d rows", first.Load(), stored(t, p))
	}
}

func TestSameIDInOneBatch(t *testing.T) {
	p := newPipeline(t, Options{})
	release := hold(t, p)
	defer release()
	results := make(chan Result, 3)
	for range 3 {
		submit(t, p, note(5, 0), results)
	}
	release()
	var got [outcomes]int
	for range 3 {
		got[(<-results).Outcome]++
	}
	if got[Stored] != 1 || got[Duplicate] != 2 || p.Stats().LargestBatch != 3 {
		t.Errorf("answers %v, largest batch %d", got, p.Stats().LargestBatch)
	}
}

func TestCloseDrains(t *testing.T) {
	p := newPipeline(t, Options{})
	list := notes(300)
	called := make([]atomic.Int32, len(list))
	for i, raw := range list {
		err := p.Submit(context.Background(), raw, Source{}, func(r Result) {
			if !r.OK {
				t.Errorf("event %d: %s", i, r.Reason)
			}
			called[i].Add(1)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i := range called {
		if n := called[i].Load(); n != 1 {
			t.Errorf("event %d answered %d times", i, n)
		}
	}
	if n := stored(t, p); n != 300 {
		t.Errorf("%d stored", n)
	}
	err := p.Submit(context.Background(), note(1, 0), Source{}, func(Result) { t.Error("answered") })
	if !errors.Is(err, ErrClosed) {
		t.Errorf("Submit after Close: %v", err)
	}
}

func TestCloseGivesUpWaiting(t *testing.T) {
	p := newPipeline(t, Options{})
	release := hold(t, p)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v", err)
	}
	release()
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// A Submit that waits for room ends with its context and leaves no trace.
func TestSubmitWaitsForRoom(t *testing.T) {
	for _, c := range []struct {
		name string
		opts Options
	}{
		{"events", Options{QueueEvents: 1}},
		{"bytes", Options{QueueBytes: 300}}, // less than any event
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPipeline(t, c.opts)
			release := hold(t, p)
			defer release()
			why := errors.New("the client has left")
			ctx, cancel := context.WithCancelCause(context.Background())
			failed := make(chan error)
			go func() {
				failed <- p.Submit(ctx, note(1, 0), Source{}, func(Result) { t.Error("answered") })
			}()
			cancel(why)
			if err := <-failed; !errors.Is(err, why) {
				t.Errorf("Submit: %v", err)
			}
			release()
			for i := range 5 {
				expect(t, await(t, p, note(i, 2)), Stored, "")
			}
		})
	}
}

func TestNoSpace(t *testing.T) {
	dir := t.TempDir()
	raw := note(1, 0)
	for _, c := range []struct {
		minFree uint64
		want    Outcome
		reason  string
	}{
		{1 << 62, Failed, "error: "},
		{0, Stored, ""},
		{1 << 62, Duplicate, "duplicate: "}, // reading goes on
	} {
		db := openStore(t, func(o *store.Options) { o.Dir, o.MinFreeBytes = dir, c.minFree })
		p := startPipeline(t, db, Options{})
		res := await(t, p, raw)
		expect(t, res, c.want, c.reason)
		if res.OK != (c.want != Failed) || strings.Contains(res.Reason, "MiB") { // 01-R35
			t.Errorf("OK %v, reason %q", res.OK, res.Reason)
		}
		if errors.Is(res.Err, store.ErrNoSpace) != (c.want == Failed) {
			t.Errorf("cause %v", res.Err)
		}
		if err := errors.Join(p.Close(context.Background()), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEphemeralIsHandedOn(t *testing.T) {
	var got atomic.Pointer[nostr.Event]
	p := newPipeline(t, Options{Ephemeral: func(ev *nostr.Event) { got.Store(ev) }})
	forged := forge(sign(20001, 0, "forged"))
	expect(t, await(t, p, forged), Invalid, "invalid: bad signature")
	if got.Load() != nil {
		t.Fatal("a forged event was handed on")
	}
	raw := sign(20001, 0, "hello")
	expect(t, await(t, p, raw), Ephemeral, "")
	if ev := got.Load(); ev == nil || !bytes.Equal(ev.JSON, raw) {
		t.Errorf("handed on: %v", ev)
	}
	if n := stored(t, p); n != 0 {
		t.Errorf("%d stored", n)
	}
}

func TestPanicOfHookIsContained(t *testing.T) {
	p := newPipeline(t, Options{Workers: 1, QueueEvents: 1, Ephemeral: func(*nostr.Event) { panic("hook") }})
	raw := sign(20001, 0, "")
	for range 3 {
		res := await(t, p, raw)
		expect(t, res, Failed, "error: ")
		if res.ID != idOf(raw) || strings.Contains(res.Reason, "hook") {
			t.Errorf("answer %+v", res)
		}
	}
	expect(t, await(t, p, note(1, 0)), Stored, "")
	if n := p.Stats().Panics; n != 3 {
		t.Errorf("%d panics", n)
	}
}

func TestPanicOfDoneIsContained(t *testing.T) {
	p := newPipeline(t, Options{Workers: 1, QueueEvents: 1})
	for _, raw := range [][]byte{[]byte("{"), note(1, 0)} { // in the worker, in the writer
		if err := p.Submit(context.Background(), raw, Source{}, func(Result) { panic("done") }); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, await(t, p, note(2, 0)), Stored, "")
	if n := p.Stats().Panics; n != 2 {
		t.Errorf("%d panics", n)
	}
}

// admitAll puts events into the lobby of p as one batch, past the workers.
func admitAll(p *Pipeline, events []*nostr.Event) []Result {
	results := make([]Result, len(events))
	var wg sync.WaitGroup
	s := p.Submitter(func(rs []Result) {
		for _, r := range rs {
			results[r.Ref.(int)] = r
			wg.Done()
		}
	})
	jobs := make([]*job, len(events))
	for i, ev := range events {
		wg.Add(1)
		p.lobby.expect()
		jobs[i] = <-p.slots
		*jobs[i] = job{Submission: Submission{Ref: i}, from: s, ev: ev, seq: uint64(i)}
	}
	p.lobby.settle(jobs, len(jobs))
	wg.Wait()
	return results
}

// broken is an event that the store must stumble over. Nothing like it leaves
// the parser, which is the point: it stands for a fault of ours.
func broken() *nostr.Event { return &nostr.Event{Packed: make([]byte, 40), JSON: []byte("{}")} }

func TestGuiltyEventIsIsolated(t *testing.T) {
	for _, c := range []struct {
		name   string
		guilty []int
	}{
		{"first", []int{0}}, {"last", []int{99}}, {"two together", []int{49, 50}},
		{"several", []int{3, 4, 5, 31, 64, 65, 98}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPipeline(t, Options{})
			events := make([]*nostr.Event, 100)
			for i, raw := range notes(100) {
				events[i], _ = nostr.ParseEvent(raw, nostr.Limits{})
			}
			want := make([]Outcome, 100)
			for _, i := range c.guilty {
				events[i], want[i] = broken(), Failed
			}
			for i, res := range admitAll(p, events) {
				if res.Outcome != want[i] {
					t.Errorf("event %d: %v %v", i, res.Outcome, res.Err)
				}
			}
			if n := stored(t, p); n != uint64(100-len(c.guilty)) {
				t.Errorf("%d stored", n)
			}
			expect(t, await(t, p, note(1, 1)), Stored, "")
		})
	}
}

// Where everything fails, a batch is given up instead of taken to pieces.
func TestIsolationEnds(t *testing.T) {
	p := newPipeline(t, Options{})
	events := make([]*nostr.Event, 500)
	for i := range events {
		events[i] = broken()
	}
	for i, res := range admitAll(p, events) {
		if res.Outcome != Failed {
			t.Fatalf("event %d: %v", i, res.Outcome)
		}
	}
	if n := p.Stats().BatchFails; n > maxFailures+32 {
		t.Errorf("%d transactions", n)
	}
	expect(t, await(t, p, note(1, 1)), Stored, "")
}
