package relay

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"wok/internal/testdb"
)

// attacks are what hostile clients do, each until the connection or the attack
// is over. Nothing of it may be felt by others.
var attacks = map[string]func(a *attackers){
	"deep nesting": func(a *attackers) {
		a.attack(func(c *client, _ int) { c.ws.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte("["), 60_000)) })
	},
	"deep nesting within": func(a *attackers) {
		deep := `["REQ","x",{"unknown":` + strings.Repeat(`{"a":`, 10_000) + strings.Repeat(`}`, 10_000) + `}]`
		a.attack(func(c *client, _ int) { c.ws.WriteMessage(websocket.TextMessage, []byte(deep)) })
	},
	"opening and closing": func(a *attackers) {
		a.attack(func(c *client, i int) {
			for j := range 100 {
				c.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `["REQ","%d",{"kinds":[%d],"#t":["a","b"]}]`, j, i))
				c.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `["CLOSE","%d"]`, j))
			}
		})
	},
	"many values": func(a *attackers) {
		a.attack(func(c *client, i int) {
			c.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `["REQ","%d",{"#e":[%s]}]`, i, keys(i, 2000)))
		})
	},
	"forged signatures": func(a *attackers) {
		line, _ := note(1, 1_700_000_000, "forged")
		at := bytes.Index(line, []byte(`"sig":"`)) + len(`"sig":"`)
		a.attack(func(c *client, i int) {
			copy(line[at:], fmt.Sprintf("%08x", i))
			c.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `["EVENT",%s]`, line))
		})
	},
	"invalid messages": func(a *attackers) {
		a.attack(func(c *client, _ int) { c.ws.WriteMessage(websocket.TextMessage, []byte(`["REQ","x",{"ids":["zz"]}]`)) })
	},
	"half a handshake": func(a *attackers) {
		for range 50 {
			if nc, err := net.Dial("tcp", a.addr); err == nil {
				io.WriteString(nc, "GET / HTTP/1.1\r\nHost: x\r\nUpg")
				a.stay(nc)
			}
		}
	},
	"half a frame": func(a *attackers) {
		for range 50 {
			a.dial().ws.NetConn().Write([]byte{0x81, 0xff, 0, 0, 0, 0, 0, 0xf, 0, 0, 1, 2, 3, 4, '['})
		}
	},
	"pings": func(a *attackers) {
		a.attack(func(c *client, _ int) {
			c.ws.WriteControl(websocket.PingMessage, make([]byte, 125), time.Now().Add(time.Second))
		})
	},
}

// attackers are connections of hostile clients.
type attackers struct {
	*testRelay
	mu    sync.Mutex
	conns []io.Closer
}

// stay keeps a connection open until all leave.
func (a *attackers) stay(c io.Closer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conns = append(a.conns, c)
}

func (a *attackers) dial() *client {
	c := a.testRelay.dial()
	a.stay(c.ws)
	return c
}

func (a *attackers) leave() {
	for _, c := range a.conns {
		c.Close()
	}
}

// attack calls do again and again on a connection that is not read from, until
// the relay no longer takes anything, or for some hundred times.
func (a *attackers) attack(do func(c *client, i int)) {
	c := a.dial()
	for i := range 400 {
		c.ws.SetWriteDeadline(time.Now().Add(time.Second))
		do(c, i)
	}
}

// keys returns n keys that nobody has, in quotes.
func keys(seed, n int) []byte {
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, `"%064x",`, seed*n+i)
	}
	return b[:len(b)-1]
}

// TestHostileClients has all attacks at once, while others publish, listen and
// ask: they lose nothing, and what the attacks have cost is gone with them.
func TestHostileClients(t *testing.T) {
	r := startRelay(t)
	listener, publisher, reader := r.dial(), r.dial(), r.dial()
	listener.send(`["REQ","live",{"authors":["%s"]}]`, testdb.Key(9).Pubkey())
	listener.expect(`["EOSE","live"]`)
	stays := len(r.openConns())

	var hostile sync.WaitGroup
	a := &attackers{testRelay: r}
	for _, attack := range attacks {
		hostile.Go(func() { attack(a) })
	}
	for i := range 200 {
		line, id := note(9, int64(1_700_000_000+i), "good")
		publisher.send(`["EVENT",%s]`, line)
		publisher.expect(`["OK","%s",true,""]`, id)
		listener.expect(`["EVENT","live",%s]`, line)
		reader.send(`["REQ","q",{"ids":["%s"]}]`, id)
		reader.expect(`["EVENT","q",%s]`, line)
		reader.expect(`["EOSE","q"]`)
	}
	hostile.Wait()
	for _, c := range r.openConns() {
		if n := c.waiting(); n > r.marks.read+1<<16 {
			t.Errorf("%d bytes wait for a client that does not read", n)
		}
	}
	if n := r.Metrics().Panics; n > 0 {
		t.Errorf("%d panics", n)
	}
	a.leave()
	until(t, "the attackers are gone", func() bool { return len(r.openConns()) == stays })
	var m runtime.MemStats
	until(t, "memory is given back", func() bool {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc < 64<<20
	})
}

// TestHalfHandshake ends a handshake that does not end by itself.
func TestHalfHandshake(t *testing.T) {
	r := &testRelay{t: t, db: testdb.Open(t)}
	r.adjust = func(s *Server) { s.headerTime = 10 * time.Millisecond }
	r.serve(r.db)
	nc, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	io.WriteString(nc, "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: web")
	nc.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadAll(nc); err != nil {
		t.Error("still open: ", err)
	}
}

// TestHalfBody ends a request whose body does not come.
func TestHalfBody(t *testing.T) {
	for _, head := range []string{"GET / HTTP/1.1", "POST / HTTP/1.1", "GET /nothing HTTP/1.1"} {
		r := &testRelay{t: t, db: testdb.Open(t)}
		r.adjust = func(s *Server) { s.headerTime = 10 * time.Millisecond }
		r.serve(r.db)
		nc, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		io.WriteString(nc, head+"\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
		nc.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadAll(nc); err != nil {
			t.Errorf("%s: still open: %v", head, err)
		}
	}
}
