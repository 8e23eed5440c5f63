package relay

import (
	"fmt"
	"sync"
	"sync/atomic"

	"wok/nostr"
)

// Metrics are counts since the server was made, a plain value.
type Metrics struct {
	Connections    int64             // open now
	Subscriptions  int64             // open now
	Accepted       int64             // connections, ever
	FromClients    map[string]int64  // messages by verb; "message" has no verb
	ToClients      map[string]int64  // messages by verb
	Events         map[string]uint64 // new events by kind, "other" for rare ones
	BytesIn        int64             // of messages, inflated
	BytesOut       int64             // on the wire
	Queries        int64             // REQs answered to EOSE
	Slices         int64             // turns they took
	TooSlow        int64             // connections given up for what was pending
	Silent         int64             // connections that did not answer a ping
	Panics         int64             // contained; each is a bug
	CorruptSkipped int64             // events left out for a corrupt row
}

// A relayVerb is the verb of a message of ours.
type relayVerb uint8

const (
	verbEvent relayVerb = iota
	verbOK
	verbEOSE
	verbClosed
	verbNotice
	verbCount
	verbAuth
	verbNegErr
	relayVerbs
)

var relayVerbNames = [relayVerbs]string{"EVENT", "OK", "EOSE", "CLOSED", "NOTICE", "COUNT", "AUTH", "NEG-ERR"}

// verbOf returns the verb of a message of ours.
func verbOf(message []byte) relayVerb {
	for v, name := range relayVerbNames {
		if rest := message[2:]; len(rest) > len(name) && string(rest[:len(name)]) == name && rest[len(name)] == '"' {
			return relayVerb(v)
		}
	}
	panic("relay: a message without a verb of ours")
}

// metrics are the Metrics that count.
type metrics struct {
	accepted    atomic.Int64
	fromClients [nostr.VerbNegClose + 1]atomic.Int64
	toClients   [relayVerbs]atomic.Int64
	events      kindCounts // that were new
	bytesIn     atomic.Int64
	bytesOut    atomic.Int64
	queries     atomic.Int64
	slices      atomic.Int64
	tooSlow     atomic.Int64
	silent      atomic.Int64
	panics      atomic.Int64
	corrupt     atomic.Int64
}

func (m *metrics) received(v nostr.Verb)   { m.fromClients[v].Add(1) }
func (m *metrics) sent(v relayVerb, n int) { m.toClients[v].Add(int64(n)) }

// Metrics returns the counts so far.
func (s *Server) Metrics() Metrics {
	m := &s.metrics
	out := Metrics{
		Accepted:       m.accepted.Load(),
		FromClients:    make(map[string]int64),
		ToClients:      make(map[string]int64),
		Events:         m.events.labels(),
		BytesIn:        m.bytesIn.Load(),
		BytesOut:       m.bytesOut.Load(),
		Queries:        m.queries.Load(),
		Slices:         m.slices.Load(),
		TooSlow:        m.tooSlow.Load(),
		Silent:         m.silent.Load(),
		Panics:         m.panics.Load(),
		CorruptSkipped: m.corrupt.Load(),
	}
	for v := range m.fromClients {
		out.FromClients[nostr.Verb(v).String()] = m.fromClients[v].Load()
	}
	for v := range m.toClients {
		out.ToClients[relayVerbNames[v]] = m.toClients[v].Load()
	}
	for _, c := range s.openConns() {
		c.mu.Lock()
		out.Subscriptions += int64(len(c.subs))
		c.mu.Unlock()
		out.Connections++
	}
	return out
}

// maxKinds bounds the kinds that are counted one by one: they come from
// strangers.
const maxKinds = 256

// kindCounts counts events by kind.
type kindCounts struct {
	mu     sync.Mutex
	byKind map[uint16]uint64
	others uint64
}

func (k *kindCounts) add(kind uint16) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byKind == nil {
		k.byKind = make(map[uint16]uint64)
	}
	if _, known := k.byKind[kind]; !known && len(k.byKind) >= maxKinds {
		k.others++
		return
	}
	k.byKind[kind]++
}

// labels returns the counts by label.
func (k *kindCounts) labels() map[string]uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := make(map[string]uint64, len(k.byKind)+1)
	for kind, n := range k.byKind {
		m[fmt.Sprint(kind)] = n
	}
	if k.others > 0 {
		m["other"] = k.others
	}
	return m
}
