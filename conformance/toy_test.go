package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
)

// A toy is a relay that knows a little of NIP-01, and can be told to get
// something of it wrong.
type toy struct {
	t     *testing.T
	fault string // "" for none

	mu     sync.Mutex // guards what follows, and each write
	events []toyEvent // newest first
	subs   map[*websocket.Conn]map[string][]toyFilter
}

type toyEvent struct {
	ID        string     `json:"id"`
	Pubkey    string     `json:"pubkey"`
	CreatedAt int64      `json:"created_at"`
	Kind      int        `json:"kind"`
	Tags      [][]string `json:"tags"`
	Content   string     `json:"content"`
	Sig       string     `json:"sig"`
}

type toyFilter struct {
	IDs     []string `json:"ids"`
	Authors []string `json:"authors"`
	Kinds   []int    `json:"kinds"`
	Since   int64    `json:"since"`
	Until   *int64   `json:"until"`
	Limit   *int     `json:"limit"`
	T       []string `json:"#t"`
	E       []string `json:"#e"`
	P       []string `json:"#p"`
}

// startToy returns the URL of a toy.
func startToy(t *testing.T, fault string) string {
	r := &toy{t: t, fault: fault, subs: map[*websocket.Conn]map[string][]toyFilter{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

func (r *toy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path != "/" && r.fault != "any path" {
		http.NotFound(w, req)
		return
	}
	if !websocket.IsWebSocketUpgrade(req) {
		if r.fault != "no CORS" {
			for _, name := range []string{"Origin", "Headers", "Methods"} {
				w.Header().Set("Access-Control-Allow-"+name, "*, GET")
			}
		}
		if !strings.Contains(strings.ToLower(req.Header.Get("Accept")), "application/nostr+json") {
			fmt.Fprint(w, "a toy")
			return
		}
		w.Header().Set("Content-Type", "application/nostr+json")
		fmt.Fprint(w, `{"supported_nips":[1,11]}`)
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, req, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	r.mu.Lock()
	r.subs[ws] = map[string][]toyFilter{}
	r.mu.Unlock()
	for {
		_, b, err := ws.ReadMessage()
		if err != nil {
			break
		}
		r.mu.Lock()
		r.message(ws, b)
		r.mu.Unlock()
	}
	r.mu.Lock()
	delete(r.subs, ws)
	r.mu.Unlock()
}

func (r *toy) send(ws *websocket.Conn, parts ...any) {
	b, _ := json.Marshal(parts)
	ws.WriteMessage(websocket.TextMessage, b)
}

func (r *toy) message(ws *websocket.Conn, b []byte) {
	var parts []json.RawMessage
	var verb, sub string
	if json.Unmarshal(b, &parts) != nil || len(parts) < 2 || json.Unmarshal(parts[0], &verb) != nil {
		r.send(ws, "NOTICE", "invalid: what is that?")
		return
	}
	json.Unmarshal(parts[1], &sub)
	switch verb {
	case "EVENT":
		r.event(ws, parts[1])
	case "CLOSE":
		if delete(r.subs[ws], sub); r.fault == "CLOSE is answered" {
			r.send(ws, "CLOSED", sub, "")
		}
	case "REQ":
		r.request(ws, sub, parts[2:])
	}
}

// event answers an EVENT. The toy looks at ids only.
func (r *toy) event(ws *websocket.Conn, raw []byte) {
	var e toyEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		r.send(ws, "NOTICE", "invalid: "+err.Error())
		return
	}
	tags := []any{}
	for _, tag := range e.Tags {
		words := []any{}
		for _, word := range tag {
			words = append(words, word)
		}
		tags = append(tags, words)
	}
	whole := event{pubkey: e.Pubkey, createdAt: e.CreatedAt, kind: json.Number(fmt.Sprint(e.Kind)), tags: tags, content: e.Content}
	known := slices.ContainsFunc(r.events, func(o toyEvent) bool { return o.ID == e.ID })
	switch {
	case fmt.Sprintf("%x", whole.hash(escaped)) != e.ID && r.fault != "any id":
		r.send(ws, "OK", e.ID, false, map[string]string{
			"":          "invalid: wrong id",
			"no prefix": "wrong id",
			"no reason": "",
		}[r.faultAmong("no prefix", "no reason")])
	case known && r.fault == "duplicates are silent":
	case known && r.fault == "duplicates fail":
		r.send(ws, "OK", e.ID, false, "duplicate: known")
	case known:
		r.send(ws, "OK", e.ID, true, "duplicate: known")
	default:
		if r.keep(e); r.fault == "OK of three" {
			r.send(ws, "OK", e.ID, true)
		} else {
			r.send(ws, "OK", e.ID, true, "")
		}
	}
}

// faultAmong returns the fault if it is one of these, else "".
func (r *toy) faultAmong(faults ...string) string {
	if slices.Contains(faults, r.fault) {
		return r.fault
	}
	return ""
}

// newest is the order of what is stored.
func newest(a, b toyEvent) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.ID, b.ID))
}

// keep stores an event, where it is to be stored, and sends it on.
func (r *toy) keep(e toyEvent) {
	class := e.Kind / 10000
	if class == 1 || class == 3 || e.Kind == 0 || e.Kind == 3 {
		same := func(o toyEvent) bool {
			return o.Kind == e.Kind && o.Pubkey == e.Pubkey && (class != 3 || o.d() == e.d())
		}
		i := slices.IndexFunc(r.events, same)
		older := i >= 0 && newest(r.events[i], e) < 0
		if older && r.fault != "older versions are live" {
			return
		}
		if !older {
			r.events = slices.DeleteFunc(r.events, same)
		}
	}
	if class != 2 || r.fault == "ephemeral events are kept" {
		i, _ := slices.BinarySearchFunc(r.events, e, newest)
		r.events = slices.Insert(r.events, i, e)
	}
	for ws, subs := range r.subs {
		for sub, filters := range subs {
			if matchesAny(filters, &e) && r.fault != "nothing is live" {
				r.send(ws, "EVENT", sub, e)
			}
		}
	}
}

func (r *toy) request(ws *websocket.Conn, sub string, raw []json.RawMessage) {
	filters := make([]toyFilter, len(raw))
	for i := range raw {
		f := &filters[i]
		bad := json.Unmarshal(raw[i], f) != nil
		for _, hex := range slices.Concat(f.IDs, f.Authors, f.E, f.P) {
			bad = bad || !isHex(hex, 64)
		}
		switch {
		case bad && r.fault == "NOTICE for CLOSED":
			r.send(ws, "NOTICE", "invalid: no filter")
			return
		case bad:
			r.send(ws, "CLOSED", sub, "invalid: no filter")
			return
		}
	}
	if delete(r.subs[ws], sub); r.fault != "silent" {
		r.stored(ws, sub, filters)
		r.subs[ws][sub] = filters
	}
}

// stored sends what is stored. The first limit counts for all filters.
func (r *toy) stored(ws *websocket.Conn, sub string, filters []toyFilter) {
	limit := len(r.events)
	if l := filters[0].Limit; l != nil && r.fault != "limit is ignored" {
		limit = *l
	}
	events := slices.Clone(r.events)
	if r.fault == "oldest first" {
		slices.Reverse(events)
	}
	for _, e := range events {
		if limit > 0 && matchesAny(filters, &e) {
			r.send(ws, "EVENT", sub, e)
			limit--
		}
	}
	r.send(ws, "EOSE", sub)
	if r.fault == "EOSE twice" {
		r.send(ws, "EOSE", sub)
	}
}

func matchesAny(filters []toyFilter, e *toyEvent) bool {
	return slices.ContainsFunc(filters, func(f toyFilter) bool { return f.matches(e) })
}

func (f *toyFilter) matches(e *toyEvent) bool {
	return (f.IDs == nil || slices.Contains(f.IDs, e.ID)) &&
		(f.Authors == nil || slices.Contains(f.Authors, e.Pubkey)) &&
		(f.Kinds == nil || slices.Contains(f.Kinds, e.Kind)) &&
		(f.T == nil || e.has("t", f.T)) && (f.E == nil || e.has("e", f.E)) && (f.P == nil || e.has("p", f.P)) &&
		e.CreatedAt >= f.Since && (f.Until == nil || e.CreatedAt <= *f.Until)
}

func (e *toyEvent) d() string {
	for _, tag := range e.Tags {
		if tag = append(tag, "", ""); tag[0] == "d" {
			return tag[1]
		}
	}
	return ""
}

func (e *toyEvent) has(name string, values []string) bool {
	return slices.ContainsFunc(e.Tags, func(tag []string) bool {
		return len(tag) > 1 && tag[0] == name && slices.Contains(values, tag[1])
	})
}
