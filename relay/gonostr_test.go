package relay

import (
	"context"
	"testing"

	nostr "github.com/nbd-wtf/go-nostr"

	"wok/internal/testdb"
)

// TestGoNostr does the round of a client with a library that shares nothing
// with this one.
func TestGoNostr(t *testing.T) {
	if raced {
		t.Skip("go-nostr v0.52.3 races with itself when a connection ends")
	}
	r := startRelay(t, func(o *Options) { o.Compression = true })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	connect := func() *nostr.Relay {
		c, err := nostr.RelayConnect(ctx, r.url())
		if err != nil {
			t.Fatal(err)
		}
		return c // ends with ctx
	}
	alice, bob := connect(), connect()
	sign := func(key int, e nostr.Event) nostr.Event {
		if err := e.Sign(testdb.Key(key).Secret()); err != nil {
			t.Fatal(err)
		}
		return e
	}
	publish := func(e nostr.Event) {
		t.Helper()
		if err := alice.Publish(ctx, e); err != nil {
			t.Fatalf("publish: %v", err)
		}
	}
	query := func(f nostr.Filter) []string {
		t.Helper()
		events, err := bob.QuerySync(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, e := range events {
			if ok, err := e.CheckSignature(); !ok || !e.CheckID() {
				t.Fatalf("%s: id or signature wrong: %v", e.ID, err)
			}
			ids = append(ids, e.ID)
		}
		return ids
	}

	sub, err := bob.Subscribe(ctx, nostr.Filters{{Kinds: []int{1, 30023}, Tags: nostr.TagMap{"t": {"go"}}}})
	if err != nil {
		t.Fatal(err)
	}
	<-sub.EndOfStoredEvents

	first := sign(1, nostr.Event{Kind: 1, CreatedAt: 1000, Content: "héllo \"\\\n\u2028", Tags: nostr.Tags{{"t", "go"}}})
	publish(first)
	if e := <-sub.Events; e.ID != first.ID || e.Content != first.Content {
		t.Fatalf("live event %v, want %v", e, first)
	}
	if got := query(nostr.Filter{Authors: []string{first.PubKey}}); len(got) != 1 || got[0] != first.ID {
		t.Fatalf("query: %v", got)
	}

	// Replace.
	v1 := sign(1, nostr.Event{Kind: 30023, CreatedAt: 1001, Content: "1", Tags: nostr.Tags{{"d", "x"}, {"t", "go"}}})
	v2 := sign(1, nostr.Event{Kind: 30023, CreatedAt: 1002, Content: "2", Tags: nostr.Tags{{"d", "x"}, {"t", "go"}}})
	publish(v1)
	publish(v2)
	if err := alice.Publish(ctx, v1); err == nil {
		t.Error("an older version was taken")
	}
	if got := query(nostr.Filter{Kinds: []int{30023}, Tags: nostr.TagMap{"d": {"x"}}}); len(got) != 1 || got[0] != v2.ID {
		t.Fatalf("query of an address: %v", got)
	}

	// Count.
	if n, _, err := bob.Count(ctx, nostr.Filters{{Tags: nostr.TagMap{"t": {"go"}}}}); err != nil || n != 2 {
		t.Fatalf("count: %d, %v", n, err)
	}

	// Delete.
	publish(sign(1, nostr.Event{Kind: 5, CreatedAt: 1003, Tags: nostr.Tags{{"e", first.ID}}}))
	if got := query(nostr.Filter{IDs: []string{first.ID}}); got != nil {
		t.Fatalf("query of what is deleted: %v", got)
	}
	if err := alice.Publish(ctx, first); err == nil {
		t.Error("a deleted event was taken again")
	}

	// A forged event.
	forged := first
	forged.Content = "other"
	if err := alice.Publish(ctx, forged); err == nil {
		t.Error("a forged event was taken")
	}
}
