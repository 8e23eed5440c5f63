package relay

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"wok/nostr"
)

// contentOf returns about n bytes that compress somewhat.
func contentOf(n int, seed uint64) string {
	words := []string{"relay", "nostr", "zap", "🫂", "note1", "\\u2028", "purple", "0123456789abcdef"}
	rnd := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[rnd.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

// frameSizes are about the sizes where the head of a frame, or what becomes of
// it, changes.
var frameSizes = []int{1, 100, 126 - 20, 500, 520, 4 << 10, copyBelow, 48 << 10, 65535 - 400, 65536, 200 << 10}

// TestFrames sends events of all sizes, stored and live, by every kind of frame,
// under ids of all lengths, and reads them with a library.
func TestFrames(t *testing.T) {
	for _, deflate := range []bool{false, true} {
		t.Run(fmt.Sprintf("deflate=%t", deflate), func(t *testing.T) {
			r := startRelay(t, func(o *Options) { o.Compression = deflate })
			var stored, live [][]byte
			for i, n := range frameSizes {
				line, _ := note(0, int64(1000-i), contentOf(n, uint64(i)))
				stored = append(stored, line)
				line, _ = note(1, int64(2000+i), contentOf(n, uint64(i)))
				live = append(live, line)
			}
			r.put(stored...)
			type listener struct {
				*client
				prefix []byte
			}
			var listeners []listener
			for _, id := range []string{"s", `"\`, strings.Repeat("\x01", 64), strings.Repeat("🫂", 16)} {
				c := r.dialWith(&websocket.Dialer{EnableCompression: deflate})
				c.send(`["REQ",%s,{"authors":["%s"]},{"authors":["%s"]}]`, quote(id), authorOf(stored[0]), authorOf(live[0]))
				l := listener{c, fmt.Appendf(nil, `["EVENT",%s,`, quote(id))}
				for _, line := range stored {
					l.expect("%s%s]", l.prefix, line)
				}
				l.expect(`["EOSE",%s]`, quote(id))
				listeners = append(listeners, l)
			}
			for _, c := range r.openConns() {
				if c.sock.deflate != deflate {
					t.Errorf("deflate is %t", c.sock.deflate)
				}
			}
			r.put(live...)
			for _, l := range listeners {
				for _, line := range live {
					l.expect("%s%s]", l.prefix, line)
				}
			}
		})
	}
}

// quote returns an id as the relay writes it.
func quote(id string) string {
	message := nostr.AppendEOSE(nil, id, nostr.HintNone)
	return string(message[len(`["EOSE",`) : len(message)-1])
}

func authorOf(line []byte) string {
	ev, err := nostr.ParseEvent(line, nostr.Limits{})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", ev.Packed.Pubkey())
}

// TestDeflateOnce gives a live event to many: it is compressed for the first of
// them only.
func TestDeflateOnce(t *testing.T) {
	ev := &liveEvent{json: []byte(contentOf(2000, 1))}
	var all [8][]byte
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = ev.deflate() })
	}
	wg.Wait()
	for _, d := range all {
		if &d[0] != &all[0][0] {
			t.Fatal("compressed more than once")
		}
	}
	if n := len(ev.deflate()); n == 0 || n >= len(ev.json) {
		t.Errorf("%d bytes became %d", len(ev.json), n)
	}
}

// BenchmarkDeliver makes the frames of one event for 100 subscriptions.
func BenchmarkDeliver(b *testing.B) {
	line, _ := note(0, 1, contentOf(700, 1))
	prefix := nostr.AppendEvent(nil, "sub", nil)
	for _, deflate := range []bool{false, true} {
		b.Run(fmt.Sprintf("deflate=%t", deflate), func(b *testing.B) {
			var frames []byte
			for b.Loop() {
				ev := &liveEvent{json: line}
				frames = frames[:0]
				for range 100 {
					frames = ev.appendTo(frames, prefix[:len(prefix)-1], deflate)
				}
			}
			b.ReportMetric(float64(len(frames))/100, "bytes/delivery")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/delivery")
		})
	}
}
