package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"wok/internal/testdb"
	"wok/store"
)

// TestInflateBomb sends 64 MiB in some 64 KiB: nothing of that size may be kept,
// and the connection ends.
func TestInflateBomb(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.Compression = true })
	c := r.dialWith(&websocket.Dialer{EnableCompression: true})
	w, err := c.ws.NextWriter(websocket.TextMessage)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, `["REQ","bomb",{"#t":["`)
	block := strings.Repeat("x", 1<<20)
	for range 64 {
		io.WriteString(w, block)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.expect(`["CLOSED","bomb","blocked: …"]`)
	c.expectClose(websocket.CloseMessageTooBig)
	if n := r.Metrics().BytesIn; n > 1<<20 {
		t.Errorf("%d bytes were kept", n)
	}
}

// TestCompression has the same conversation with and without compression, in
// frames of all sizes.
func TestCompression(t *testing.T) {
	for _, offered := range []bool{false, true} {
		for _, asked := range []bool{false, true} {
			r := startRelay(t, func(o *Options) { o.Compression = offered })
			c := r.dialWith(&websocket.Dialer{EnableCompression: asked})
			for _, size := range []int{0, 100, 400, 700, 5000, 70_000, 200_000} {
				line, id := note(1, int64(size), strings.Repeat("ab", size/2))
				c.send(`["EVENT",%s]`, line)
				c.expect(`["OK","%s",true,""]`, id)
				c.send(`["REQ","s",{"ids":["%s"]}]`, id)
				c.expect(`["EVENT","s",%s]`, line)
				c.expect(`["EOSE","s"]`)
			}
		}
	}
}

// TestBrokenFrames sends what is no message, and expects that this connection
// ends, with a reason where one can be sent, and no other.
func TestBrokenFrames(t *testing.T) {
	tests := []struct {
		name  string
		frame []byte
		code  int
	}{
		{"binary", []byte{0x82, 0x81, 0, 0, 0, 0, 'x'}, websocket.CloseUnsupportedData},
		{"not masked", []byte{0x81, 1, 'x'}, websocket.CloseProtocolError},
		{"reserved bit", []byte{0xc1, 0x81, 0, 0, 0, 0, 'x'}, websocket.CloseProtocolError},
		{"unknown op", []byte{0x83, 0x80, 0, 0, 0, 0}, websocket.CloseProtocolError},
		{"long ping", []byte{0x89, 0xfe, 1, 0}, websocket.CloseProtocolError},
		{"continuation of nothing", []byte{0x80, 0x80, 0, 0, 0, 0}, websocket.CloseProtocolError},
		{"length of 2^62", []byte{0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, websocket.CloseMessageTooBig},
		{"close without code", []byte{0x88, 0x80, 0, 0, 0, 0}, websocket.CloseNoStatusReceived},
		{"close", []byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8}, websocket.CloseNormalClosure},
	}
	r := startRelay(t)
	other := r.dial()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := r.dial()
			c.t = t
			if _, err := c.ws.NetConn().Write(tt.frame); err != nil {
				t.Fatal(err)
			}
			c.expectClose(tt.code)
		})
	}
	other.quiet()
}

// TestBrokenCompression sends a compressed message that does not inflate.
func TestBrokenCompression(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.Compression = true })
	c := r.dialWith(&websocket.Dialer{EnableCompression: true})
	if _, err := c.ws.NetConn().Write([]byte{0xc1, 0x82, 0, 0, 0, 0, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
	c.expectClose(websocket.CloseInvalidFramePayloadData)
}

// TestBrokenFragments begins a message within another: the library says which
// rule that breaks.
func TestBrokenFragments(t *testing.T) {
	r := startRelay(t)
	c := r.dial()
	if _, err := c.ws.NetConn().Write([]byte{0x01, 0x81, 0, 0, 0, 0, '[', 0x81, 0x81, 0, 0, 0, 0, '['}); err != nil {
		t.Fatal(err)
	}
	c.expectClose(websocket.CloseProtocolError)
}

// TestBrokenText sends text that is not UTF-8: an answer says so, and the
// connection goes on.
func TestBrokenText(t *testing.T) {
	r := startRelay(t)
	c := r.dial()
	c.send("[\"REQ\",\"a\xff\",{}]")
	c.expect(`["NOTICE","invalid: …"]`)
	c.send("\xff")
	c.expect(`["NOTICE","invalid: …"]`)
	c.quiet()
}

// TestFragments sends a message in pieces, with a ping between.
func TestFragments(t *testing.T) {
	r := startRelay(t)
	c := r.dial()
	pong := make(chan string, 1)
	c.ws.SetPongHandler(func(data string) error { pong <- data; return nil })
	frames := [][]byte{
		append([]byte{0x01, 0x80 | 8, 0, 0, 0, 0}, `["COUNT"`...),
		append([]byte{0x89, 0x80 | 2, 0, 0, 0, 0}, "hi"...),
		append([]byte{0x00, 0x80 | 5, 0, 0, 0, 0}, `,"x",`...),
		append([]byte{0x80, 0x80 | 12, 0, 0, 0, 0}, `{"ids":[]}] `...),
	}
	for _, f := range frames {
		if _, err := c.ws.NetConn().Write(f); err != nil {
			t.Fatal(err)
		}
	}
	c.expect(`["COUNT","x",{"count":0}]`)
	if got := <-pong; got != "hi" {
		t.Errorf("pong %q", got)
	}
}

// TestPing pings clients: one that answers stays, one that does not goes.
func TestPing(t *testing.T) {
	r := startRelay(t)
	alive := r.dial()
	pinged := make(chan struct{}, 10)
	answer := alive.ws.PingHandler()
	alive.ws.SetPingHandler(func(data string) error {
		pinged <- struct{}{}
		return answer(data)
	})
	go alive.ws.ReadMessage() // answers pings
	conn := r.conn()
	idle := func() bool { // is written and the client has answered
		conn.mu.Lock()
		defer conn.mu.Unlock()
		return !conn.out.writing && (!conn.asked || conn.sock.received.Load() > conn.heard)
	}
	for range 3 {
		until(t, "the client is idle", idle)
		conn.ping()
		<-pinged
	}
	dead := r.dial()
	until(t, "there are two", func() bool { return len(r.openConns()) == 2 })
	for range 2 {
		for _, c := range r.openConns() {
			until(t, "nothing is being sent", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return !c.out.writing
			})
			if c != conn {
				c.ping()
			}
		}
	}
	until(t, "it is gone", func() bool { return len(r.openConns()) == 1 })
	if got := r.Metrics().Silent; got != 1 {
		t.Errorf("%d connections were silent", got)
	}
	_ = dead
}

// panicky is a query with a bug.
type panicky struct{ c *conn }

func (p panicky) subscription() *subscription                  { return nil }
func (p panicky) owner() *conn                                 { return p.c }
func (p panicky) slice(*store.Txn, time.Time) (outcome, error) { panic("a bug") }
func (p panicky) fail(error)                                   {}

// failing is a query that meets a broken disk.
type failing struct{ *scan }

func (failing) slice(*store.Txn, time.Time) (outcome, error) { return over, errors.New("broken disk") }

// TestPanic ends the connection it happens in, and no other.
func TestPanic(t *testing.T) {
	r := startRelay(t)
	c := r.dial()
	conn := r.conn()
	other := r.dial()
	r.sched.add(conn, fresh, panicky{conn})
	c.expectClose(websocket.CloseInternalServerErr)
	other.quiet()
	if got := r.Metrics().Panics; got != 1 {
		t.Errorf("%d panics are counted", got)
	}
}

// TestStorageError: a query that fails gets CLOSED and no EOSE (01-R35), and
// learns nothing of what is inside.
func TestStorageError(t *testing.T) {
	r := startRelay(t)
	c := r.dial()
	conn := r.conn()
	s := newSubscription(conn, "s", nil)
	if _, ok := conn.open(s); !ok {
		t.Fatal("no room")
	}
	r.sched.add(conn, fresh, failing{&scan{sub: s}})
	c.expect(`["CLOSED","s","error: internal error"]`)
	c.quiet()
	if n := r.Metrics().Subscriptions; n != 0 {
		t.Error("the subscription is still there")
	}
}

// TestShutdownAnswers stops the relay while events are on their way. What was
// answered is stored, what is stored was answered, and then comes a close.
func TestShutdownAnswers(t *testing.T) {
	r := startRelay(t)
	c := r.dial()
	var lines [][]byte
	for i := range 500 {
		line, _ := note(1, int64(i), "")
		lines = append(lines, line)
	}
	go func() {
		for _, line := range lines {
			if c.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `["EVENT",%s]`, line)) != nil {
				return
			}
		}
	}()
	c.expect(`["OK",…,true,""]`)
	answered := 1
	stopped := make(chan struct{})
	go func() { r.stop(); close(stopped) }()
	for {
		m, err := c.next()
		if err != nil {
			if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
				t.Errorf("ended by %v", err)
			}
			break
		}
		if !matches(`["OK",…,true,""]`, m) {
			t.Errorf("received %s", m)
		}
		answered++
	}
	<-stopped
	var stored uint64
	err := r.db.View(context.Background(), func(tx *store.Txn) (err error) {
		stored, err = tx.Events()
		return err
	})
	if err != nil || int(stored) != answered {
		t.Errorf("%d events stored, %d answered, %v", stored, answered, err)
	}
}

// TestShutdownDeadline stops the relay while a client neither reads nor closes.
func TestShutdownDeadline(t *testing.T) {
	r := startRelay(t, manyStored)
	bigNotes(r)
	slow := r.dial()
	slow.send(`["REQ","all",{}]`)
	until(t, "the query has paused", r.conn().isParked)
	ctx, cancel := context.WithCancelCause(context.Background())
	late := errors.New("it is late")
	cancel(late)
	if err := r.Shutdown(ctx); !errors.Is(err, late) {
		t.Errorf("shutdown: %v", err)
	}
	if n := len(r.openConns()); n != 0 {
		t.Errorf("%d connections are open", n)
	}
}

// TestNothingIsLeft lets many clients come and go, in good manners and bad: the
// goroutines, files and subscriptions they cost are gone, and after the relay
// has stopped its own as well.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	r := startRelay(t, func(o *Options) { o.Ping = time.Hour; o.Compression = true })
	stays := r.dial()
	stays.quiet() // what is only made when needed
	until(t, "it serves", func() bool { return len(r.openConns()) == 1 })
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for i := range 40 {
		c := r.dial()
		for j := range 10 {
			c.send(`["REQ","%d",{"kinds":[%d],"#t":["x"]},{"authors":["%s"]},{"limit":0}]`, j, i, testdb.Key(j).Pubkey())
		}
		c.send(`["REQ","all",{}]`)
		line, _ := note(i, int64(i), "")
		c.send(`["EVENT",%s]`, line)
		switch i % 3 {
		case 0:
			c.close()
		case 1:
			c.ws.NetConn().(*net.TCPConn).SetLinger(0) // a reset
			c.close()
		default:
			c.ws.WriteMessage(websocket.CloseMessage, nil)
			c.expectClose(websocket.CloseNoStatusReceived)
			c.close()
		}
	}
	until(t, "connections are gone", func() bool { return len(r.openConns()) == 1 })
	until(t, "goroutines are gone", func() bool { return runtime.NumGoroutine() <= goroutines })
	until(t, "files are closed", func() bool { return openFiles(t) <= files })
	r.live.expectEmpty(t)
	stays.close()
	r.stop()
	until(t, "the relay's goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
}

func openFiles(t *testing.T) int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not tell its open files")
	}
	return len(files)
}
