package nostr

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	gonostr "github.com/nbd-wtf/go-nostr"

	"wok/packed"
)

// FuzzParseEvent feeds bytes to the parser: no panic, a canonical form that
// reads as itself, a valid packed form, and the judgement of go-nostr wherever
// both must agree.
func FuzzParseEvent(f *testing.F) {
	for _, seed := range []string{
		draft{}.json(),
		draft{kind: "30000", tags: `[["d"],["t","x","y"],[],["expiration","7"]]`}.json(),
		draft{tags: `[["e","` + somePubkey + `","","\ud83d\ude00"]]`, content: `"\u0001\/\n"`, hashed: "-"}.json(),
		`{"x":[{"y":[1,-2.5e3,null,true]}],` + draft{}.json()[1:],
		`{"\u0069d":"","kind":1.0,"created_at":1e3,"tags":[[]],"content":"","sig":"","pubkey":""}`,
		`{}`, `[`, ``,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, mend bool) {
		if mend {
			raw = mended(raw)
		}
		FindID(raw)
		e, err := ParseEvent(raw, Limits{})
		if err != nil {
			if FaultOf(err) == "" {
				t.Fatalf("no fault of an event: %v", err)
			}
			agreeOnRefusal(t, raw, FaultOf(err))
			return
		}
		checkEvent(t, raw, e)
	})
}

// mended gives the event in raw the id that we compute, so that fuzzing gets
// past the comparison of ids. What does not parse up to there stays as it is.
func mended(raw []byte) []byte {
	var p Parser
	l := lexer{data: raw}
	if p.read(&l) != nil || l.end() != nil {
		return raw
	}
	p.head = p.fields.appendHead(p.head)
	id := sha256.Sum256(appendHashed(nil, p.head, p.tags.json, p.content))
	return bytes.Replace(raw, p.fields.id[:], hex.AppendEncode(nil, id[:]), 1)
}

// checkEvent checks what must hold of every accepted event.
func checkEvent(t *testing.T, raw []byte, e *Event) {
	if !json.Valid(raw) || !json.Valid(e.JSON) {
		t.Fatalf("accepted what is not JSON: %s", raw)
	}
	if _, err := packed.Parse(e.Packed); err != nil {
		t.Fatal(err)
	}
	again, err := ParseEvent(e.JSON, Limits{})
	if err != nil {
		t.Fatalf("canonical JSON: %v\n%s", err, e.JSON)
	}
	if !bytes.Equal(again.JSON, e.JSON) || !bytes.Equal(again.Packed, e.Packed) {
		t.Fatalf("canonical JSON is read as\n%s, want\n%s", again.JSON, e.JSON)
	}
	if id, ok := FindID(raw); !ok || id != e.ID() {
		t.Fatalf("found id %q, want %s", id, e.ID())
	}
	comparePlain(t, e.JSON, e)
	agreeOnAcceptance(t, e)
}

// agreeOnAcceptance gives an accepted event, in canonical form, to go-nostr,
// which must find the same id. Left out are control characters beyond the
// seven: go-nostr hashes them as \u00xx only, we take either form (01-R3).
func agreeOnAcceptance(t *testing.T, e *Event) {
	var theirs gonostr.Event
	if err := theirs.UnmarshalJSON(e.JSON); err != nil {
		t.Fatalf("go-nostr refuses: %v\n%s", err, e.JSON)
	}
	if id := theirs.GetID(); id != e.ID() && !bytes.Contains(e.JSON, []byte(`\u00`)) {
		t.Fatalf("go-nostr has id %s, we %s\n%s", id, e.ID(), e.JSON)
	}
}

// agreeOnRefusal checks that what is refused for its id alone has not that id
// for go-nostr either. Left out are texts with \u escapes, since go-nostr does
// not know a key that is spelled with them, and all other refusals: go-nostr
// takes missing and duplicate keys, null for any value, upper case hex, any
// kind, invalid UTF-8 and half surrogate pairs, and refusing those is the
// point.
func agreeOnRefusal(t *testing.T, raw []byte, fault Fault) {
	if fault != WrongID || bytes.Contains(raw, []byte(`\u`)) {
		return
	}
	var theirs gonostr.Event
	if theirs.UnmarshalJSON(raw) != nil {
		return // it is stricter about numbers such as 1e3
	}
	if theirs.CheckID() {
		t.Fatalf("go-nostr finds the id right: %s", raw)
	}
}
