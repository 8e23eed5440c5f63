package relay

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// put200 stores notes enough for a query of many slices.
func put200(r *testRelay) {
	var lines [][]byte
	for i := range 200 {
		line, _ := note(0, 1_700_000_000+int64(i), "one of many", []string{"t", "many"})
		lines = append(lines, line)
	}
	r.put(lines...)
}

// What takes more work than is allowed is closed, and the connection goes on.
func TestQueryOverrun(t *testing.T) {
	r := startRelay(t, func(o *Options) {
		o.Slice, o.Limits.MaxWork = time.Nanosecond, time.Microsecond
	})
	put200(r)
	c := r.dial()
	c.send(`["REQ","a",{}]`)
	closed := false
	for !closed {
		m := c.recv()
		closed = strings.HasPrefix(m, `["CLOSED","a","rate-limited: `)
		if !closed && !strings.HasPrefix(m, `["EVENT","a",`) {
			t.Fatal("received ", short(m))
		}
	}
	c.send(`["COUNT","b",{"#t":["many","few"]}]`)
	if m := c.recv(); !strings.HasPrefix(m, `["CLOSED","b","rate-limited: `) {
		t.Fatal("received ", short(m))
	}
	c.send(`["REQ","c",{"limit":1}]`)
	c.recv()
	c.expect(`["EOSE","c"]`)
}

// Or it ends as if a limit had been met, says so, and goes on live.
func TestQueryCut(t *testing.T) {
	r := startRelay(t, func(o *Options) {
		o.Slice, o.Limits.MaxWork, o.Limits.CutQueries, o.Hints = time.Nanosecond, time.Microsecond, true, true
	})
	put200(r)
	c := r.dial()
	c.send(`["REQ","a",{}]`)
	n := 0
	m := c.recv()
	for ; strings.HasPrefix(m, `["EVENT","a",`); m = c.recv() {
		n++
	}
	if m != `["EOSE","a"]` || n == 0 || n >= 200 {
		t.Fatalf("after %d events %s", n, short(m))
	}
	line, id := note(1, 1_700_001_000, "live")
	r.put(line)
	if e := eventOf(t, c.recv(), "a"); e.ID != id {
		t.Error("the live event did not come")
	}
}

// A count that must look at events ends at its bound, and says that it is
// approximate.
func TestCountBound(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.HLL, o.Slice, o.Limits.MaxCount = true, time.Nanosecond, 10 })
	put200(r)
	c := r.dial()
	c.send(`["COUNT","a",{"#t":["many","few"]}]`)
	if m := c.recv(); !strings.Contains(m, `"approximate":true`) {
		t.Error("received ", m)
	}
	c.send(`["COUNT","a",{"#t":["many"]}]`)
	if m := c.recv(); !strings.Contains(m, `"approximate":true`) || strings.Contains(m, `"hll"`) {
		t.Error("received ", m) // registers of a part would pass for those of the whole
	}
	c.send(`["COUNT","b",{"kinds":[1]}]`) // the length of a list
	c.expect(`["COUNT","b",{"count":200}]`)
}

// A slow query is logged with its plan, and not with what it asked for.
func TestSlowQueryLog(t *testing.T) {
	log := new(lockedBuffer)
	r := startRelay(t, func(o *Options) {
		o.SlowQuery, o.Log = time.Nanosecond, slog.New(slog.NewTextHandler(log, nil))
	})
	put200(r)
	c := r.dial()
	c.send(`["REQ","a",{"#t":["secret"],"limit":1}]`)
	c.expect(`["EOSE","a"]`)
	until(t, "the log line", func() bool { return strings.Contains(log.String(), "slow query") })
	text := log.String()
	if !strings.Contains(text, "tag #t: 0 postings") || strings.Contains(text, "secret") {
		t.Error("logged ", text)
	}
}

// A lockedBuffer is written by the relay and read by the test.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
