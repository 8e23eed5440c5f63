package nostr

import (
	"bytes"
	"encoding/json"
	"testing"

	gonostr "github.com/nbd-wtf/go-nostr"
)

func FuzzMessage(f *testing.F) {
	for _, seed := range goodMessages {
		f.Add([]byte(seed))
	}
	for _, seed := range []string{
		`[]`, `["FOO"]`, `["REQ","",{}]`, `["EVENT",{"id":"` + hexA + `","kind":1},1]`, `["REQ","x",{"search":"y"}]`,
		`["REQ","x",{"kinds":[1],"#t":["` + long + `"]},{"since":1,"until":2,"limit":3}]`,
		`["EVENT",{"id":"` + hexA + `","pubkey":"` + hexB + `","created_at":1,"kind":1,"tags":[["t","x"]],"content":"y","sig":"` + hexA + hexB + `"}]`,
		"[[[[[[[[[[",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if m, err := ParseMessage(raw, MessageLimits{MaxBytes: 200, MaxFilters: 1, Filter: FilterLimits{MaxValues: 2}}); err == nil && len(m.Filters) > 1 {
			t.Fatalf("%q: %d filters", raw, len(m.Filters))
		}
		m, err := ParseMessage(raw, MessageLimits{})
		if err != nil {
			checkAnswered(t, string(raw))
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is no JSON", raw)
		}
		checkRewritten(t, m)
		if bytes.Contains(raw, []byte(`"`+m.Verb.String()+`"`)) { // go-nostr knows no other spelling
			checkPeerMessage(t, raw, m)
		}
	})
}

// checkRewritten writes m again from its parts and checks that it reads the same.
func checkRewritten(t *testing.T, m Message) {
	t.Helper()
	raw := append([]byte(`["`), m.Verb.String()...)
	raw = append(raw, '"')
	if m.Event != nil {
		raw = append(append(raw, ','), m.Event...)
	} else {
		raw = appendString(append(raw, ','), m.SubID)
	}
	for _, f := range m.Filters {
		raw = f.AppendJSON(append(raw, ','))
	}
	if m.Verb == VerbNegOpen || m.Verb == VerbNegMsg {
		raw = appendHexString(append(raw, ','), m.Payload)
	}
	raw = append(raw, ']')
	again, err := ParseMessage(raw, MessageLimits{})
	if err != nil || again.Verb != m.Verb || again.SubID != m.SubID || !bytes.Equal(again.Event, m.Event) ||
		!bytes.Equal(again.Payload, m.Payload) || len(again.Filters) != len(m.Filters) {
		t.Fatalf("%+v is written as %s and read as %+v, %v", m, raw, again, err)
	}
}

// checkPeerMessage checks that go-nostr reads of the message what we read.
func checkPeerMessage(t *testing.T, raw []byte, m Message) {
	t.Helper()
	envelope := peerMessage(string(raw))
	switch peer := envelope.(type) {
	case *gonostr.ReqEnvelope:
		if m.Verb != VerbReq || peer.SubscriptionID != m.SubID || len(peer.Filters) != len(m.Filters) {
			t.Fatalf("%q: %+v, go-nostr says %v", raw, m, peer)
		}
		for i := range peer.Filters {
			for variant := range 16 {
				ev := eventFor(&peer.Filters[i], variant)
				if got, want := m.Filters[i].Match(pack(t, ev)), peer.Filters[i].Matches(ev); got != want {
					t.Fatalf("%q, filter %d on %s: %v, go-nostr says %v", raw, i, ev, got, want)
				}
			}
		}
	case *gonostr.CountEnvelope:
		if m.Verb != VerbCount || peer.SubscriptionID != m.SubID {
			t.Fatalf("%q: %+v, go-nostr says %v", raw, m, peer)
		}
	case *gonostr.CloseEnvelope:
		if m.Verb != VerbClose || string(*peer) != m.SubID {
			t.Fatalf("%q: %+v, go-nostr says %v", raw, m, peer)
		}
	case *gonostr.EventEnvelope:
		var event gonostr.Event
		if err := json.Unmarshal(m.Event, &event); m.Verb != VerbEvent || err != nil || event.String() != peer.Event.String() {
			t.Fatalf("%q: %+v, go-nostr says %v", raw, m, peer)
		}
	case nil:
		// Where it refuses what we take it must be for the numbers of a filter
		// or for what is in an event, which is not our matter here.
		plain := len(m.Filters) == 0 && m.Event == nil || len(m.Filters) == 1 && m.Filters[0].String() == "{}"
		if plain && (m.Verb == VerbClose || m.Verb == VerbReq) && !bytes.ContainsAny(raw, "0123456789") {
			t.Fatalf("%q: %+v, go-nostr refuses it", raw, m)
		}
	}
}
