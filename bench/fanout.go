package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	listeners     = 100 // connections
	listenFilters = 10  // of each, half of which match something
	matches       = 20  // listeners to an event
	feeds         = listeners * listenFilters / 2 / matches
	feedAuthors   = 1000                  // in all feeds together
	fanoutWindow  = 128                   // events on their way
	calmPace      = 20 * time.Millisecond // between events when unhurried
)

// fannable returns the events that the feeds show, by the authors that write
// most, and those authors parted into feeds.
func fannable(events []fresh) (shown []fresh, authors [feeds][]string) {
	written := map[string]int{}
	for _, e := range events {
		if slices.Contains(plainKinds, e.kind) {
			written[e.pubkey]++
		}
	}
	busy := slices.SortedFunc(maps.Keys(written), func(a, b string) int {
		return cmp.Or(cmp.Compare(written[b], written[a]), cmp.Compare(a, b))
	})
	known := map[string]bool{}
	for i, pubkey := range busy[:min(len(busy), feedAuthors)] {
		known[pubkey] = true
		authors[i%feeds] = append(authors[i%feeds], pubkey)
	}
	for _, e := range events {
		if known[e.pubkey] && slices.Contains(plainKinds, e.kind) {
			shown = append(shown, e)
		}
	}
	return shown, authors
}

// subscription returns the REQ of a listener: feeds of its own choice, so that
// each feed has 20 listeners, and what else clients wait for and seldom get.
func subscription(listener int, authors [feeds][]string) []byte {
	var filters []string
	for i := range listenFilters / 2 {
		list, _ := json.Marshal(authors[(listener*listenFilters/2+i)%feeds])
		kinds := ""
		if i%2 == 0 {
			kinds = `"kinds":[1,6,7,1111,9735],`
		}
		nobody := fmt.Sprintf("%064x", listener*listenFilters+i)
		filters = append(filters, fmt.Sprintf(`{%s"authors":%s,"limit":1}`, kinds, list))
		filters = append(filters, fmt.Sprintf([]string{
			`{"kinds":[1,6,7,9735],"#p":[%q],"limit":1}`,
			`{"#e":[%q],"limit":1}`,
			`{"#t":[%q],"kinds":[1],"limit":1}`,
			`{"kinds":[0,3,10002],"authors":[%q],"limit":1}`,
			`{"ids":[%q],"limit":1}`,
		}[i], nobody))
	}
	return text(`["REQ","feed",` + strings.Join(filters, ",") + `]`)
}

// A crowd listens.
type crowd struct {
	conns     []*conn
	flight    *flight
	arrived   []atomic.Int32 // deliveries of each event, and its OK
	delivered atomic.Int64
	lastNanos atomic.Int64 // of a delivery, after flight.start
	latencies []hist       // of each connection
	tokens    chan struct{}
}

// arrive notes that one of matches deliveries or the OK has come.
func (c *crowd) arrive(i int32) {
	if c.arrived[i].Add(1) == matches+1 {
		c.tokens <- struct{}{}
	}
}

// listen reads deliveries until the connection's deadline.
func (c *crowd) listen(n int) error {
	conn, latency := c.conns[n], &c.latencies[n]
	for {
		m, _, err := conn.next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		switch verbOf(m) {
		case closed, notice:
			return fmt.Errorf("told a listener %.200s", m)
		case event:
			c.delivery(m, latency)
		}
	}
}

// idKey is found nowhere in an event but before its id: in strings the quotes are
// escaped.
var idKey = []byte(`"id":"`)

func (c *crowd) delivery(m []byte, latency *hist) {
	at := bytes.Index(m, idKey)
	if at < 0 || len(m) < at+len(idKey)+64 {
		return
	}
	i, ours := c.flight.index[idOf(m[at+len(idKey):])]
	if !ours {
		return // of an earlier run
	}
	after := time.Since(c.flight.start)
	latency.add(after - time.Duration(c.flight.sent[i].Load()))
	c.delivered.Add(1)
	c.lastNanos.Store(int64(after))
	c.arrive(i)
}

// subscribe sends the REQs and waits for their EOSE.
func (c *crowd) subscribe(authors [feeds][]string) error {
	for i, conn := range c.conns {
		conn.SetDeadline(time.Now().Add(30 * time.Second))
		if err := conn.send(subscription(i, authors)); err != nil {
			return err
		}
		for {
			m, _, err := conn.next()
			if err != nil {
				return err
			}
			if v := verbOf(m); v == eose {
				break
			} else if v == closed || v == notice {
				return fmt.Errorf("answered %.200s", m)
			}
		}
		conn.SetDeadline(time.Time{})
	}
	return nil
}

// fanout publishes to a crowd at full speed, and then unhurried.
func (b *bench) fanout(ctx context.Context, p *process, r *report) error {
	events, authors := fannable(b.toFan)
	calm := min(len(events)/4, int(b.seconds/2/calmPace))
	if calm == 0 {
		return errors.New("too few fresh events")
	}
	conns, err := dialAll(ctx, p.url, listeners, 64<<10)
	if err != nil {
		return err
	}
	defer closeAll(conns)
	c := &crowd{conns: conns}
	if err := c.subscribe(authors); err != nil {
		return err
	}
	if err := c.full(ctx, p, r, events[calm:], b.seconds); err != nil {
		return err
	}
	return c.unhurried(ctx, p, r, events[:calm])
}

func (c *crowd) full(ctx context.Context, p *process, r *report, events []fresh, seconds time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, seconds)
	defer cancel()
	meter := p.meter()
	latency, o, err := c.broadcast(ctx, p.url, events, 0)
	if err != nil {
		return err
	}
	n := float64(c.delivered.Load())
	r.more("fan-out", "deliveries/s", n/time.Duration(c.lastNanos.Load()).Seconds())
	r.less("fan-out, p50", "ms", ms(latency.quantile(0.5)))
	r.less("fan-out, p99", "ms", ms(latency.quantile(0.99)))
	meter.report(r, "fan-out", "delivery", int(n))
	r.zero("fan-out, lost", float64(o.ok*matches)-n)
	return nil
}

func (c *crowd) unhurried(ctx context.Context, p *process, r *report, events []fresh) error {
	latency, o, err := c.broadcast(ctx, p.url, events, calmPace)
	if err != nil {
		return err
	}
	r.less("fan-out unhurried, p50", "ms", ms(latency.quantile(0.5)))
	r.less("fan-out unhurried, p99", "ms", ms(latency.quantile(0.99)))
	r.zero("fan-out unhurried, lost", float64(o.ok*matches)-float64(c.delivered.Load()))
	return nil
}

// broadcast publishes events and returns the latencies of their deliveries. It
// waits for those that are still to come.
func (c *crowd) broadcast(ctx context.Context, url string, events []fresh, pace time.Duration) (*hist, *outcome, error) {
	c.flight = newFlight(events)
	c.arrived = make([]atomic.Int32, len(events))
	c.latencies = make([]hist, len(c.conns))
	c.delivered.Store(0)
	c.tokens = newTokens(fanoutWindow)
	publishers := 2
	if pace > 0 {
		publishers = 1
	}
	conns, err := dialAll(ctx, url, publishers, 64<<10)
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(conns)
	var lanes []*lane
	for _, conn := range conns {
		lanes = append(lanes, &lane{conn: conn, flight: c.flight, tokens: c.tokens, pace: pace, acked: c.acked})
	}
	c.flight.start = time.Now()
	var wg sync.WaitGroup
	errs := make([]error, len(c.conns))
	for i, conn := range c.conns {
		conn.SetReadDeadline(time.Time{})
		wg.Go(func() { errs[i] = c.listen(i) })
	}
	o, err := c.flight.fly(ctx, lanes)
	if err == nil {
		c.settle(o.ok * matches)
	}
	for _, conn := range c.conns {
		conn.SetReadDeadline(time.Now())
	}
	wg.Wait()
	all := &hist{}
	for i := range c.latencies {
		all.merge(&c.latencies[i])
	}
	return all, o, errors.Join(append(errs, err)...)
}

func (c *crowd) acked(i int32, accepted bool) {
	if accepted {
		c.arrive(i)
	} else if c.arrived[i].Add(matches+1) == matches+1 {
		c.tokens <- struct{}{}
	}
}

// settle waits until so many deliveries have come, or none comes any more.
func (c *crowd) settle(expected int) {
	for before := int64(-1); ; {
		now := c.delivered.Load()
		if now >= int64(expected) {
			time.Sleep(200 * time.Millisecond) // one too many would come now
			return
		}
		if now == before {
			return
		}
		before = now
		time.Sleep(2 * time.Second)
	}
}
