package relay

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// A scan that waits for room goes with its subscription: whoever asks again and
// again and reads nothing holds what is open and no more.
func TestParkedGoes(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.Limits.MaxPendingBytes = 64 << 10 })
	bigNotes(r)
	c := r.dial()
	for i := range 200 {
		c.send(`["REQ","%d",{}]`, i%2)
	}
	server := r.conn()
	until(t, "the last request", func() bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		return len(server.subs) == 2 && len(server.parked) > 0
	})
	server.mu.Lock()
	defer server.mu.Unlock()
	for _, j := range server.parked {
		if s := j.subscription(); s.ended {
			t.Errorf("a scan of the ended subscription %q is parked", s.id)
		}
	}
	if len(server.parked) > 2 {
		t.Errorf("%d scans are parked for 2 subscriptions", len(server.parked))
	}
}

// All that a connection has open shares one bound on values, which closing gives
// back.
func TestOpenValues(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.Limits.MaxOpenValues = 100 })
	c := r.dial()
	distinct := func(n int) string {
		var values []string
		for i := range n {
			values = append(values, fmt.Sprintf(`"%d"`, i))
		}
		return `{"#t":[` + strings.Join(values, ",") + `],"limit":0}`
	}
	c.send(`["REQ","a",%s]`, distinct(60))
	c.expect(`["EOSE","a"]`)
	c.send(`["REQ","b",%s]`, distinct(60))
	if m := c.recv(); !strings.HasPrefix(m, `["CLOSED","b","blocked: `) {
		t.Error(m)
	}
	c.send(`["COUNT","b",%s]`, distinct(60))
	if m := c.recv(); !strings.HasPrefix(m, `["CLOSED","b","`) {
		t.Error(m)
	}
	c.send(`["REQ","a",%s]`, distinct(90)) // instead of the old one
	c.expect(`["EOSE","a"]`)
	c.send(`["CLOSE","a"]`)
	for range 3 {
		c.send(`["COUNT","n",%s]`, distinct(90))
		c.expect(`["COUNT","n",{"count":0}]`)
	}
	c.send(`["REQ","b",%s]`, distinct(90))
	c.expect(`["EOSE","b"]`)
}

// What strangers cause does not fill the log.
func TestSteadyLog(t *testing.T) {
	var s steady
	log := new(lockedBuffer)
	n := 0
	for range 10_000 {
		if s.allow(slog.New(slog.NewTextHandler(log, nil))) {
			n++
		}
	}
	if n < steadyLines || n > 20*steadyLines {
		t.Errorf("%d lines", n)
	}
}

// Of pings the last one is answered, however many wait.
func TestOnePong(t *testing.T) {
	var o outbox
	o.text(nil, []byte("text"))
	before := o.bytes
	for i := range 1000 {
		o.answerPing(fmt.Sprint(i))
	}
	if want := "\x8a\x03999"; string(o.pong) != want || o.bytes != before {
		t.Errorf("pong %q, want %q; %d bytes wait", o.pong, want, o.bytes)
	}
	o.take(nil, 1<<20)
	if o.bytes != 0 {
		t.Errorf("%d bytes are left of nothing", o.bytes)
	}
}
