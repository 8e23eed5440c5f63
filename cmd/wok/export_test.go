package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wok/ingest"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// stored imports invented events, many of one second, and returns the database
// and the events in it, newest first.
func stored(t *testing.T, n int) (*store.DB, []testdb.Event) {
	t.Helper()
	db, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var in bytes.Buffer
	for line := range testdb.Lines(testdb.Options{Seed: 7, Events: n, Span: 1e9 * 60, Jitter: 1e9 * 10}) {
		fmt.Fprintf(&in, "%s\n", line)
	}
	p := ingest.New(db, ingest.Options{SkipVerify: true})
	if _, err := ingest.Import(context.Background(), &in, p, ingest.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := newStream(db, stdio{out: &out}, 0).query(context.Background(), []*nostr.Filter{nostr.NewFilter()}); err != nil {
		t.Fatal(err)
	}
	events := decode(t, out.String())
	slices.SortFunc(events, func(a, b testdb.Event) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return db, events
}

func decode(t *testing.T, lines string) []testdb.Event {
	t.Helper()
	var events []testdb.Event
	for d := json.NewDecoder(strings.NewReader(lines)); d.More(); {
		var ev testdb.Event
		if err := d.Decode(&ev); err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

func ids(events []testdb.Event) []string {
	var ids []string
	for _, ev := range events {
		ids = append(ids, ev.ID)
	}
	return ids
}

// The order of an export, and that nothing is lost or doubled between windows
// or slices, however small they are.
func TestExportOrder(t *testing.T) {
	db, events := stored(t, 400)
	everything := []*nostr.Filter{nostr.NewFilter()}
	spans := []span{{0, ^uint64(0)}, {0, 0}, {5, 4}}
	for _, i := range []int{1, 50, 200} {
		a, b := uint64(events[len(events)-i].CreatedAt), uint64(events[i].CreatedAt)
		spans = append(spans, span{a, b}, span{a + 1, b - 1}, span{a, a})
	}
	for _, in := range spans {
		var want []testdb.Event
		for _, ev := range events {
			if at := uint64(ev.CreatedAt); in.since <= at && at <= in.until {
				want = append(want, ev)
			}
		}
		for _, size := range []int{1, 2, 3, 10, len(events), windowEvents} {
			var down, up bytes.Buffer
			err := newStream(db, stdio{out: &down}, 0).export(t.Context(), everything, in, true, size)
			if err != nil {
				t.Fatal(err)
			}
			if got := ids(decode(t, down.String())); !slices.Equal(got, ids(want)) {
				t.Errorf("%v, %d a window, newest first:\n%s\nwant\n%s", in, size, got, ids(want))
			}
			if err := newStream(db, stdio{out: &up}, 0).export(t.Context(), everything, in, false, size); err != nil {
				t.Fatal(err)
			}
			got := ids(decode(t, up.String()))
			slices.Reverse(got)
			if !slices.Equal(got, ids(want)) {
				t.Errorf("%v, %d a window, oldest first:\n%s\nwant the reverse of\n%s", in, size, got, ids(want))
			}
		}
	}
}

// patience is a context that ends when it has been asked for its end often enough.
type patience struct {
	context.Context
	left int
}

func (p *patience) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// An export that is ended leaves a part that is sound as far as it goes, and
// nothing under the name of the whole.
func TestExportEnded(t *testing.T) {
	db, events := stored(t, 3000)
	for _, name := range []string{"all.jsonl", "all.jsonl.zst", "all.jsonl.gz"} {
		name := filepath.Join(t.TempDir(), name)
		var talk bytes.Buffer
		c := exportCmd{until: packed.MaxCreatedAt}
		err := c.toFile(&patience{t.Context(), 4}, db, name, []*nostr.Filter{nostr.NewFilter()}, stdio{err: &talk})
		if !errors.Is(err, context.Canceled) || !strings.Contains(talk.String(), "events are in "+name+".part") {
			t.Errorf("%v, said %s", err, talk.String())
		}
		if exists(name) {
			t.Errorf("%s is there", name)
		}
		ins, err := openInputs([]string{name + ".part"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		part, err := io.ReadAll(ins[0])
		ins.close()
		got := ids(decode(t, string(part)))
		slices.Reverse(got)
		if want := ids(events); err != nil || len(got) == 0 || len(got) == len(want) || !slices.Equal(got, want[len(want)-len(got):]) {
			t.Errorf("%s: %d of %d events (%v)", name, len(got), len(want), err)
		}
	}
}

// Two processes do not write one file.
func TestExportAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "all.jsonl")
	first, err := createOutput(name, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := createOutput(name, true); err == nil || !strings.Contains(err.Error(), "another process is writing") {
		t.Errorf("%v", err)
	}
	fmt.Fprint(first, "mine")
	if err := os.WriteFile(name, []byte("theirs"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := first.commit(); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(name); string(b) != "theirs" {
		t.Errorf("%q %v", b, err)
	}
}
