package relay

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/nostr"
)

// crowds are what many subscriptions may be like. An event of author 0 and kind
// 1 meets one of the authors and no one of the kinds.
var crowds = []struct {
	name    string
	filter  func(i int) string
	matches int
}{
	{"authors", func(i int) string { return fmt.Sprintf(`{"authors":["%064x"],"kinds":[1,6]}`, i+1) }, 0},
	{"identical", func(int) string { return `{"kinds":[1],"limit":50}` }, benchSubs},
	{"otherKinds", func(i int) string { return fmt.Sprintf(`{"kinds":[%d],"limit":50}`, 2+i%1000) }, 0},
	{"tagOfKind", func(i int) string { return fmt.Sprintf(`{"kinds":[1],"#t":["topic%d"]}`, i) }, 0},
	{"prolific", func(i int) string {
		return fmt.Sprintf(`{"authors":["%s"],"kinds":[%d]}`, testdb.Key(0).Pubkey(), 2+i)
	}, 0},
}

const benchSubs = 10_000

// openMany makes one connection with n live subscriptions.
func openMany(tb testing.TB, srv *Server, n int, filter func(i int) string) *conn {
	c := &conn{srv: srv}
	for i := range n {
		raw := fmt.Appendf(nil, `["REQ","sub%d",%s]`, i, filter(i))
		msg, err := nostr.ParseMessage(raw, srv.limits)
		if err != nil {
			tb.Fatal(err)
		}
		s := newSubscription(c, msg.SubID, msg.Filters)
		if _, ok := c.open(s); !ok {
			tb.Fatal("no room")
		}
		srv.live.add(s)
		if !c.goLive(s, 0) {
			tb.Fatal("not live")
		}
	}
	return c
}

func manySubs(o *Options) { o.Limits.MaxSubs = 1 << 30 }

func benchServer() *Server {
	var o Options
	manySubs(&o)
	return New(nil, o)
}

// BenchmarkMatch finds the subscriptions that an event matches among 10,000, and
// reports what each of them holds in memory.
func BenchmarkMatch(b *testing.B) {
	ev, err := nostr.ParseEvent(testdb.Sign(0, testdb.Event{Kind: 1, Tags: [][]string{
		{"e", fmt.Sprintf("%064x", 1)}, {"p", fmt.Sprintf("%064x", 2)}, {"p", fmt.Sprintf("%064x", 3)}, {"t", "nostr"},
	}}), nostr.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	for _, crowd := range crowds {
		b.Run(crowd.name, func(b *testing.B) {
			srv := benchServer()
			before := heap()
			c := openMany(b, srv, benchSubs, crowd.filter)
			size := heap() - before
			x, n := &srv.live.shard(c).index, srv.live.news(1, ev.Packed, ev.JSON)
			for b.Loop() {
				n.terms = srv.live.seeds.ofEvent(n.terms[:0], n.view)
				matches := 0
				x.match(&n, 0, func(*subscription) { matches++ })
				if matches != crowd.matches {
					b.Fatalf("%d match", matches)
				}
			}
			b.ReportMetric(float64(size)/benchSubs, "B/sub")
			runtime.KeepAlive(c)
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkDelivery publishes to a relay that does nothing else, and measures
// from OK at one client to EVENT at another.
func BenchmarkDelivery(b *testing.B) {
	r := startRelay(b)
	listener, publisher := r.dial(), r.dial()
	listener.send(`["REQ","s",{"kinds":[1]}]`)
	listener.expect(`["EOSE","s"]`)
	heard := make(chan time.Time, 1)
	go func() {
		for {
			if _, _, err := listener.ws.ReadMessage(); err != nil {
				return
			}
			heard <- time.Now()
		}
	}()
	var waits time.Duration
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		line, _ := note(1, int64(i), "")
		b.StartTimer()
		publisher.send(`["EVENT",%s]`, line)
		publisher.recv()
		ok := time.Now()
		waits += (<-heard).Sub(ok)
	}
	b.ReportMetric(float64(waits.Microseconds())/float64(b.N), "us-after-OK/op")
}

// BenchmarkShard matches and hands over an event that 10,000 connections want,
// which are at their end and do not send it.
func BenchmarkShard(b *testing.B) {
	srv := benchServer()
	sh := srv.live.shards[0]
	for i := range benchSubs {
		c := &conn{srv: srv, num: uint64(i * len(srv.live.shards))}
		c.out.closing = true
		f := nostr.NewFilter()
		f.Kinds = []uint16{1}
		s := newSubscription(c, "s", []*nostr.Filter{f})
		srv.live.add(s)
		c.goLive(s, 0)
	}
	ev, err := nostr.ParseEvent(testdb.Sign(0, testdb.Event{Kind: 1}), nostr.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	batch := []news{srv.live.news(1, ev.Packed, ev.JSON)}
	for b.Loop() {
		sh.gather(batch)
		sh.deliver()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchSubs), "ns/delivery")
}
