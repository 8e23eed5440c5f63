package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"wok/ingest"
	"wok/internal/testdb"
	"wok/store"
)

// patience is how long a test waits for what must come. It is no assertion:
// a test that works never waits that long.
const patience = 30 * time.Second

// A testRelay is a whole relay: database, pipeline and server on a socket.
type testRelay struct {
	*Server
	t    testing.TB
	db   *store.DB
	addr string
	now  atomic.Int64 // unix seconds; 0 is the real clock
	stop func()

	adjust func(*Server) // before it serves, if not nil
}

// startRelay starts a relay that ends with the test.
func startRelay(t testing.TB, set ...func(*Options)) *testRelay {
	t.Helper()
	return startRelayOn(t, store.Options{}, set...)
}

// startRelayOn does so on a database opened by opts, but for its place and clock.
func startRelayOn(t testing.TB, opts store.Options, set ...func(*Options)) *testRelay {
	t.Helper()
	r := &testRelay{t: t}
	r.db = testdb.Open(t, func(o *store.Options) {
		opts.Dir, opts.Now = o.Dir, r.clock
		*o = opts
	})
	r.serve(r.db, set...)
	return r
}

func (r *testRelay) serve(db *store.DB, set ...func(*Options)) {
	opts := Options{Now: r.clock}
	for _, f := range set {
		f(&opts)
	}
	r.Server = New(db, opts)
	if r.adjust != nil {
		r.adjust(r.Server)
	}
	pipe := ingest.New(db, ingest.Options{Ephemeral: r.Broadcast, Now: r.clock})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.addr = ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- r.Serve(ln, pipe) }()
	r.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.Shutdown(ctx); err != nil {
			r.t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			r.t.Errorf("serve: %v", err)
		}
		if err := pipe.Close(ctx); err != nil {
			r.t.Errorf("close the pipeline: %v", err)
		}
	})
	r.t.Cleanup(r.stop)
}

func (r *testRelay) clock() time.Time {
	if sec := r.now.Load(); sec != 0 {
		return time.Unix(sec, 0)
	}
	return time.Now()
}

func (r *testRelay) url() string { return "ws://" + r.addr }

// put stores events without the way through a socket.
func (r *testRelay) put(lines ...[]byte) {
	r.t.Helper()
	pipe := ingest.New(r.db, ingest.Options{SkipVerify: true})
	for _, line := range lines {
		if err := pipe.Submit(context.Background(), line, ingest.Source{}, func(ingest.Result) {}); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := pipe.Close(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for what happens in other goroutines and cannot be waited for
// otherwise.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for begin := time.Now(); !ok(); <-time.After(time.Millisecond) {
		if time.Since(begin) > patience {
			stacks := make([]byte, 1<<20)
			t.Fatalf("still waiting until %s, while\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// conn returns the only connection.
func (r *testRelay) conn() *conn {
	r.t.Helper()
	var conns []*conn
	until(r.t, "there is one connection", func() bool {
		conns = r.openConns()
		return len(conns) == 1
	})
	return conns[0]
}

// A client is a websocket client that sends and expects text.
type client struct {
	t  testing.TB
	ws *websocket.Conn
}

func (r *testRelay) dial() *client {
	r.t.Helper()
	return r.dialWith(websocket.DefaultDialer)
}

func (r *testRelay) dialWith(d *websocket.Dialer) *client {
	r.t.Helper()
	ws, _, err := d.Dial(r.url(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &client{r.t, ws}
	r.t.Cleanup(c.close)
	return c
}

// close cuts the connection off, so that no shutdown waits for an answer.
func (c *client) close() { c.ws.Close() }

func (c *client) send(format string, args ...any) {
	c.t.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// next returns the next message, or what ended the connection.
func (c *client) next() (string, error) {
	c.ws.SetReadDeadline(time.Now().Add(patience))
	_, b, err := c.ws.ReadMessage()
	return string(b), err
}

func (c *client) recv() string {
	c.t.Helper()
	m, err := c.next()
	if err != nil {
		c.t.Fatalf("receive: %v", err)
	}
	return m
}

// expect receives a message that is as the pattern says, see matches.
func (c *client) expect(format string, args ...any) {
	c.t.Helper()
	pattern := fmt.Sprintf(format, args...)
	if got := c.recv(); !matches(pattern, got) {
		c.t.Fatalf("received %s\n    want %s", short(got), short(pattern))
	}
}

// quiet checks that nothing is on its way which has been sent before now.
func (c *client) quiet() {
	c.t.Helper()
	c.send(`["COUNT","quiet?",{"ids":[]}]`)
	c.expect(`["COUNT","quiet?",{"count":0}]`)
}

// expectClose reads to the end, which must be a close with that code.
func (c *client) expectClose(code int) {
	c.t.Helper()
	for {
		_, err := c.next()
		if websocket.IsCloseError(err, code) {
			return
		}
		if err != nil {
			c.t.Fatalf("ended by %v, want close %d", err, code)
		}
	}
}

// ids receives stored events up to EOSE and returns their ids.
func (c *client) ids(sub string) (ids []string) {
	c.t.Helper()
	for {
		m := c.recv()
		if strings.HasPrefix(m, `["EOSE","`+sub+`"`) {
			return ids
		}
		ids = append(ids, eventOf(c.t, m, sub).ID)
	}
}

// eventOf returns the event in an EVENT message for sub.
func eventOf(t testing.TB, message, sub string) testdb.Event {
	t.Helper()
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(message), &parts); err != nil || len(parts) != 3 ||
		string(parts[0]) != `"EVENT"` || string(parts[1]) != `"`+sub+`"` {
		t.Fatalf("received %s, want an EVENT for %q", short(message), sub)
	}
	return testdb.Decode(parts[2])
}

// matches reports whether text is pattern, in which … stands for anything.
func matches(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "…")
	if !more {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for i := 0; ok && i <= len(text); i++ {
		if matches(rest, text[i:]) {
			return true
		}
	}
	return false
}

func short(s string) string {
	const shown = 600
	if len(s) > shown {
		return s[:shown] + "..."
	}
	return s
}

// note returns the line and the id of a note.
func note(key int, at int64, content string, tags ...[]string) (line []byte, id string) {
	line = testdb.Sign(key, testdb.Event{Kind: 1, CreatedAt: at, Content: content, Tags: tags})
	return line, testdb.Decode(line).ID
}
