package relay

import (
	"context"
	"fmt"
	"testing"

	"wok/nostr"
)

// TestExpiredIsNotNews commits an event that expires before the follower looks
// (40-R3).
func TestExpiredIsNotNews(t *testing.T) {
	r := startRelay(t)
	r.now.Store(1000)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := newLive(r.Server, r.db, 1)
	if _, err := l.start(ctx); err != nil {
		t.Fatal(err)
	}
	soon, _ := note(1, 900, "", []string{"expiration", "1001"})
	later, id := note(1, 900, "", []string{"expiration", "1002"})
	c := r.dial()
	for _, line := range [][]byte{soon, later} {
		c.send(`["EVENT",%s]`, line)
		c.expect(`["OK",…,true,""]`)
	}
	r.now.Store(1001)
	batch, _, err := l.read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(batch) != 1 || string(batch[0].event.json) != string(later) {
		t.Errorf("%d events are news, want only %s", len(batch), id)
	}
}

// TestReadsInPieces has more news than are copied at once.
func TestReadsInPieces(t *testing.T) {
	r := startRelay(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := newLive(r.Server, r.db, 1)
	if _, err := l.start(ctx); err != nil {
		t.Fatal(err)
	}
	const n = 2*maxNews + 10
	for i := range n {
		line, _ := note(1, int64(i), "")
		r.put(line)
	}
	total, more := 0, true
	for rounds := 1; more; rounds++ {
		var batch []news
		var err error
		if batch, more, err = l.read(ctx); err != nil {
			t.Fatal(err)
		}
		total += len(batch)
		if more != (rounds < 3) {
			t.Fatalf("round %d: more is %v", rounds, more)
		}
	}
	if total != n || l.pos != n {
		t.Errorf("%d events up to %d, want %d", total, l.pos, n)
	}
}

// TestKindLabelsAreBounded: kinds come from strangers and become labels.
func TestKindLabelsAreBounded(t *testing.T) {
	var k kindCounts
	for kind := range uint16(2 * maxKinds) {
		k.add(kind)
	}
	labels := k.labels()
	if len(labels) != maxKinds+1 || labels["other"] != maxKinds || labels["7"] != 1 {
		t.Errorf("%d labels, %d others", len(labels), labels["other"])
	}
}

// expectEmpty checks that no subscription is left in the index.
func (l *live) expectEmpty(t *testing.T) {
	t.Helper()
	for i, sh := range l.shards {
		sh.mu.Lock()
		if n, has := sh.index.size(), sh.has.Load(); n != 0 || has != 0 {
			t.Errorf("%d things of %d subscriptions are left in shard %d", n, has, i)
		}
		sh.mu.Unlock()
	}
}

// TestHandedOverTogether: what a connection gets from news that came together is
// there when its writer begins, in the order of the news for each subscription.
func TestHandedOverTogether(t *testing.T) {
	const n, connections, subs = 20, 5, 3
	srv := benchServer()
	srv.live = newLive(srv, nil, 1)
	var conns []*conn
	for i := range connections {
		c := openMany(t, srv, subs, func(int) string { return fmt.Sprintf(`{"kinds":[1],"since":%d}`, i) })
		c.num, c.out.writing = uint64(connections-i), true // nobody is
		conns = append(conns, c)
	}
	var batch []news
	for i := range n {
		line, _ := note(1, int64(100+i), "")
		ev, err := nostr.ParseEvent(line, nostr.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, srv.live.news(uint64(i+1), ev.Packed, ev.JSON))
	}
	srv.live.shards[0].gather(batch)
	for _, c := range conns {
		if len(c.out.parcels) != 0 {
			t.Fatalf("%d are on their way before all are known", len(c.out.parcels))
		}
	}
	srv.live.shards[0].deliver()
	for _, c := range conns {
		next := map[*subscription]int{}
		for _, p := range c.out.parcels {
			if p.event != batch[next[p.sub]].event {
				t.Fatalf("event %d for %s is not the next", next[p.sub], p.sub.id)
			}
			next[p.sub]++
		}
		if len(c.out.parcels) != subs*n || len(next) != subs {
			t.Errorf("%d deliveries to %d subscriptions", len(c.out.parcels), len(next))
		}
	}
}
