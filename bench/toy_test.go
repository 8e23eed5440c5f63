package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A toy is a relay that delivers as it is told to, rightly or not. It stores
// nothing and answers every EVENT with OK.
type toy struct {
	copies func(n int) int // how often the delivery number n is made

	mu         sync.Mutex
	clients    []*toyClient
	deliveries int // that were due
	made       int
}

type toyClient struct {
	net.Conn
	sub []byte // the REQ
}

// serve takes connections until the test ends.
func (r *toy) serve(t *testing.T) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { r.client(&toyClient{Conn: c}) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "ws://" + l.Addr().String()
}

func (r *toy) client(c *toyClient) {
	defer c.Close()
	in := bufio.NewReader(c)
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = in.ReadString('\n'); err != nil {
			return
		}
	}
	io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
	for {
		m, err := masked(in)
		if err != nil {
			return
		}
		r.handle(c, m)
	}
}

// masked reads a frame of a client.
func masked(in *bufio.Reader) ([]byte, error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, err
	}
	n := uint64(head[1] & 0x7f)
	if n >= 126 {
		long := make([]byte, 2+6*(n-126))
		if _, err := io.ReadFull(in, long); err != nil {
			return nil, err
		}
		n = binary.BigEndian.Uint64(append(make([]byte, 8-len(long)), long...))
	}
	m := make([]byte, 4+n)
	_, err := io.ReadFull(in, m)
	return m[4:], err
}

var (
	idPattern     = regexp.MustCompile(`"id":"([0-9a-f]{64})"`)
	pubkeyPattern = regexp.MustCompile(`"pubkey":"([0-9a-f]{64})"`)
)

func (r *toy) handle(c *toyClient, m []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes.HasPrefix(m, []byte(`["REQ"`)) {
		c.sub = m
		r.clients = append(r.clients, c)
		c.Write(served(finBit|opText, `["EOSE","feed"]`))
		return
	}
	e, _ := bytes.CutPrefix(m, []byte(`["EVENT",`))
	c.Write(served(finBit|opText, fmt.Sprintf(`["OK","%s",true,""]`, idPattern.FindSubmatch(e)[1])))
	for _, other := range r.clients {
		if !bytes.Contains(other.sub, pubkeyPattern.FindSubmatch(e)[1]) {
			continue
		}
		for range r.copies(r.deliveries) {
			other.Write(served(finBit|opText, `["EVENT","feed",`+string(e)))
			r.made++
		}
		r.deliveries++
	}
}

// TestLoss: what a relay loses or repeats is seen, each single delivery.
func TestLoss(t *testing.T) {
	_, unseen := files(t)
	events, err := readFresh(unseen)
	if err != nil {
		t.Fatal(err)
	}
	for name, copies := range map[string]func(int) int{
		"none":     func(int) int { return 1 },
		"lost":     func(n int) int { return min(1, n%50) },
		"repeated": func(n int) int { return 2 - min(1, n%50) },
	} {
		r := &toy{copies: copies}
		b := &bench{toFan: events[:400], seconds: 300 * time.Millisecond}
		got := &report{}
		if err := b.fanout(context.Background(), &process{url: r.serve(t)}, got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.deliveries == 0 || (name == "none") != (r.deliveries == r.made) {
			t.Fatalf("%s: %d deliveries were due and %d made", name, r.deliveries, r.made)
		}
		lost := got.find("fan-out, lost").Value + got.find("fan-out unhurried, lost").Value
		if want := float64(r.deliveries - r.made); lost != want {
			t.Errorf("%s: %v seen as lost, want %v", name, lost, want)
		}
		if name == "none" && !strings.Contains(fmt.Sprint(got.figures), "deliveries/s") {
			t.Errorf("figures %v", got.figures)
		}
	}
}
