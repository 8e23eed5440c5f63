package relay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"wok/internal/testdb"
	"wok/packed"
	"wok/store"
)

const bigCount = 800

// bigNotes puts events of 20 KB, more in all than the buffers of sockets hold,
// and returns their ids, newest first.
func bigNotes(r *testRelay) (ids []string) {
	var lines [][]byte
	content := strings.Repeat("big ", 5000)
	for i := range bigCount {
		line, id := note(i%7, int64(bigCount-i), content)
		lines, ids = append(lines, line), append(ids, id)
	}
	r.put(lines...)
	return ids
}

func manyStored(o *Options) { o.Limits.MaxLimit = 100_000 }

// TestSlowReader asks for everything and reads nothing. The query must pause
// with little in memory and without a transaction: the database has one reader
// only, and others are served. Then the client reads on and misses nothing.
func TestSlowReader(t *testing.T) {
	r := startRelayOn(t, store.Options{Readers: 1}, manyStored)
	want := bigNotes(r)
	slow := r.dial()
	slow.send(`["REQ","all",{}]`)
	c := r.conn()
	until(t, "the query has paused", c.isParked)
	if n := c.waiting(); n > 2*r.marks.high {
		t.Errorf("%d bytes wait for the client", n)
	}

	// Others are served, and new events come in while the query waits.
	other := r.dial()
	line, id := note(8, 1, "new", []string{"t", "new"})
	other.send(`["EVENT",%s]`, line)
	other.expect(`["OK","%s",true,""]`, id)
	ghost := testdb.Sign(8, testdb.Event{Kind: 20001})
	other.send(`["EVENT",%s]`, ghost)
	other.expect(`["OK",…,true,""]`)
	other.send(`["REQ","one",{"#t":["new"]}]`)
	other.expect(`["EVENT","one",%s]`, line)
	other.expect(`["EOSE","one"]`)
	other.send(`["COUNT","n",{}]`)
	other.expect(`["COUNT","n",{"count":%d}]`, bigCount+1)

	got := slow.ids("all")
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %d events, want %d in order", len(got), len(want))
	}
	// In either order: the follower may have been behind when the query ended.
	missed := map[string]bool{slow.recv(): true, slow.recv(): true}
	if !missed[fmt.Sprintf(`["EVENT","all",%s]`, line)] || !missed[fmt.Sprintf(`["EVENT","all",%s]`, ghost)] {
		t.Errorf("got %v after EOSE", missed)
	}
	slow.quiet()
}

// TestSlowReaderCloses has a slow client close its subscription, which is heard
// while the query is paused.
func TestSlowReaderCloses(t *testing.T) {
	r := startRelay(t, manyStored)
	bigNotes(r)
	slow := r.dial()
	slow.send(`["REQ","all",{}]`)
	c := r.conn()
	until(t, "the query has paused", c.isParked)
	slow.send(`["CLOSE","all"]`)
	until(t, "nothing waits any more", func() bool { return c.waiting() == 0 })
	slow.send(`["COUNT","n",{}]`)
	for m := ""; !strings.HasPrefix(m, `["COUNT"`); m = slow.recv() {
	}
}

// TestSlowListener gets more live events than may wait for a client: it is
// closed with the reason, and it alone.
func TestSlowListener(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.Limits.MaxPendingBytes = 8 << 20 })
	slow := r.dial()
	slow.send(`["REQ","all",{}]`)
	slow.expect(`["EOSE","all"]`)
	other := r.dial()
	other.send(`["REQ","all",{}]`)
	other.expect(`["EOSE","all"]`)
	sent := 0
	for n := 0; r.Metrics().TooSlow == 0; n++ {
		lines := make([][]byte, 100)
		for i := range lines {
			lines[i], _ = note(1, int64(n*100+i), strings.Repeat("live", 5000))
		}
		r.put(lines...)
		for range lines {
			eventOf(t, other.recv(), "all")
		}
		sent += len(lines)
	}
	other.quiet()
	last := ""
	for {
		m, err := slow.next()
		if websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
			break
		}
		if err != nil {
			t.Fatalf("ended by %v", err)
		}
		last = m
		sent--
	}
	if sent < 0 || !strings.HasPrefix(last, `["NOTICE","rate-limited: `) {
		t.Errorf("the last message was %s", short(last))
	}
}

// TestFlood sends requests and reads nothing: the relay stops reading, and what
// waits for the client is bounded.
func TestFlood(t *testing.T) {
	r := startRelay(t)
	c := r.dial()
	request := `["REQ","` + strings.Repeat("\\u0001", 64) + `",{"x":0}]`
	done := make(chan error, 1)
	go func() {
		for {
			if err := c.ws.WriteMessage(websocket.TextMessage, []byte(request)); err != nil {
				done <- err
				return
			}
		}
	}()
	conn := r.conn()
	until(t, "the relay has stopped reading", func() bool { return conn.waiting() > r.marks.read })
	other := r.dial()
	for range 100 { // others are served, and it stays as it is
		other.quiet()
		if n := conn.waiting(); n > r.marks.read+1<<16 {
			t.Fatalf("%d bytes wait", n)
		}
	}
	c.close()
	<-done
}

func (c *conn) isParked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.parked) > 0
}

func (c *conn) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.bytes
}

// TestHeldIsBounded sends many ephemeral events to a subscription whose stored
// phase lasts.
func TestHeldIsBounded(t *testing.T) {
	c := &conn{srv: new(Server)}
	s := newSubscription(c, "s", nil)
	for range 10 * maxHeld {
		c.sendLive(s, &news{view: make(packed.View, packed.HeaderSize), event: &liveEvent{json: []byte(`{}`)}})
	}
	if len(s.held) != maxHeld {
		t.Errorf("%d events are held", len(s.held))
	}
	big := newSubscription(c, "s", nil)
	for range maxHeld {
		c.sendLive(big, &news{view: make(packed.View, packed.HeaderSize), event: &liveEvent{json: make([]byte, maxHeldBytes/4)}})
	}
	if len(big.held) != 4 {
		t.Errorf("%d large events are held", len(big.held))
	}
}
