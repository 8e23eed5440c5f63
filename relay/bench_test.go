package relay

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"wok/internal/testdb"
)

// BenchmarkPublish sends events on four connections, 64 in flight on each, and
// waits for their OKs. Everything is real: verification, commit, sync.
func BenchmarkPublish(b *testing.B) {
	r := startRelay(b)
	benchPublish(b, r, slices.Collect(testdb.Lines(testdb.Options{Events: b.N, Seed: 1})))
}

// BenchmarkDuplicates sends events that are stored already, as BenchmarkPublish
// does.
func BenchmarkDuplicates(b *testing.B) {
	r := startRelay(b)
	stored := slices.Collect(testdb.Lines(testdb.Options{Events: 10_000, Seed: 1}))
	r.put(stored...)
	lines := make([][]byte, b.N)
	for i := range lines {
		lines[i] = stored[i%len(stored)]
	}
	benchPublish(b, r, lines)
}

func benchPublish(b *testing.B, r *testRelay, lines [][]byte) {
	const conns, inFlight = 4, 64
	parts := slices.Collect(slices.Chunk(lines, max(1, (b.N+conns-1)/conns)))
	clients := make([]*client, len(parts))
	for i := range parts {
		clients[i] = r.dial()
	}
	b.ResetTimer()
	before := cpuTime()
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			slots := make(chan struct{}, inFlight)
			wg.Go(func() {
				for range part {
					clients[i].expect(`["OK",…`)
					<-slots
				}
			})
			for _, line := range part {
				slots <- struct{}{}
				clients[i].send(`["EVENT",%s]`, line)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/1000/float64(b.N), "cpu-us/event")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// cpuTime returns what client and relay have used of all cores.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkFanOut sends ephemeral events to 100 connections with 10 filters
// each, 20 of which match: the way of a live event without the disk.
func BenchmarkFanOut(b *testing.B) {
	const conns, perEvent = 100, 20
	r := startRelay(b)
	pubkeys := make([]string, conns)
	for i := range pubkeys {
		pubkeys[i] = testdb.Key(i).Pubkey()
	}
	lines := make([][]byte, conns)
	for i := range lines {
		lines[i] = testdb.Sign(i, testdb.Event{Kind: 20001, Content: strings.Repeat("x", 800)})
	}
	deliveries := make(chan struct{}, 1<<16)
	for i := range conns {
		c := r.dial()
		var filters []string
		for j := range 10 { // connection i hears authors i to i+19
			filters = append(filters, fmt.Sprintf(`{"kinds":[20001],"authors":["%s","%s"]}`,
				pubkeys[(i+2*j)%conns], pubkeys[(i+2*j+1)%conns]))
		}
		c.send(`["REQ","s",%s]`, strings.Join(filters, ","))
		c.expect(`["EOSE","s"]`)
		go func() {
			for {
				if _, _, err := c.ws.ReadMessage(); err != nil {
					return
				}
				deliveries <- struct{}{}
			}
		}()
	}
	publisher := r.dial()
	go func() {
		for {
			if _, _, err := publisher.ws.ReadMessage(); err != nil {
				return
			}
		}
	}()
	b.ResetTimer()
	waiting := 0
	for i := range b.N {
		publisher.send(`["EVENT",%s]`, lines[i%conns])
		for waiting += perEvent; waiting > 50*perEvent; waiting-- {
			<-deliveries
		}
	}
	for range waiting {
		<-deliveries
	}
	b.ReportMetric(float64(b.N*perEvent)/b.Elapsed().Seconds(), "deliveries/s")
}

// BenchmarkQuery asks on four connections, two requests in flight on each.
func BenchmarkQuery(b *testing.B) {
	r := startRelay(b)
	r.put(slices.Collect(testdb.Lines(testdb.Options{Events: 20_000, Seed: 1}))...)
	follows := make([]string, 100)
	for i := range follows {
		follows[i] = `"` + testdb.Key(i).Pubkey() + `"`
	}
	for _, q := range []struct{ name, filter string }{
		{"newest500", `{"limit":500}`},
		{"feed50", `{"kinds":[1,6],"authors":[` + strings.Join(follows, ",") + `],"limit":50}`},
		{"nothing", `{"kinds":[9999]}`},
	} {
		b.Run(q.name, func(b *testing.B) { benchQuery(b, r, q.filter) })
	}
}

func benchQuery(b *testing.B, r *testRelay, filter string) {
	const conns, inFlight = 4, 2
	ask := make(chan int, b.N)
	for i := range b.N {
		ask <- i
	}
	close(ask)
	var wg sync.WaitGroup
	b.ResetTimer()
	for range conns {
		c := r.dial()
		wg.Go(func() {
			open := 0
			for more := true; more || open > 0; {
				for more && open < inFlight {
					var i int
					if i, more = <-ask; more {
						c.send(`["REQ","%d",%s]`, i, filter)
						open++
					}
				}
				for open > 0 {
					_, m, err := c.ws.ReadMessage()
					if err != nil {
						b.Error(err)
						return
					}
					if sub, ok := strings.CutPrefix(string(m[:min(len(m), 20)]), `["EOSE","`); ok {
						sub, _, _ = strings.Cut(sub, `"`)
						c.send(`["CLOSE","%s"]`, sub)
						open--
						break
					}
				}
			}
			c.ws.WriteMessage(websocket.CloseMessage, nil)
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
}
