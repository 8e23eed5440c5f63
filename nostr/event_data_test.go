package nostr

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"wok/packed"
)

// sharedData is where real events lie beside a checkout; a fresh clone has
// none.
const sharedData = "../../shared/data"

func openShared(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedData, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs %s/%s", sharedData, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// eachLine calls do with every line of a shared file, in its own memory.
func eachLine(t *testing.T, name string, do func(line []byte)) {
	t.Helper()
	lines := bufio.NewScanner(openShared(t, name))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		do(bytes.Clone(lines.Bytes()))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// eachRecord calls do with every line of a shared file, decoded.
func eachRecord[T any](t *testing.T, name string, do func(T)) {
	t.Helper()
	eachLine(t, name, func(line []byte) {
		var record T
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		do(record)
	})
}

// All real events are accepted and verify, but those with a time that a
// posting cannot hold; what is packed is what encoding/json reads.
func TestRealEvents(t *testing.T) {
	verifyEach := 1
	if testing.Short() {
		verifyEach = 100
	}
	var p Parser
	late, n := 0, 0
	eachLine(t, "real-events.jsonl", func(line []byte) {
		n++
		e, err := p.Parse(line)
		if err == LateCreatedAt {
			late++
			return
		}
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		if n%verifyEach == 0 && e.Verify() != nil {
			t.Errorf("line %d: bad signature", n)
		}
		comparePlain(t, line, e)
		if again := mustParse(t, e.JSON); !bytes.Equal(again.JSON, e.JSON) || !bytes.Equal(again.Packed, e.Packed) {
			t.Errorf("line %d: canonical JSON is read otherwise", n)
		}
	})
	if late != 4 {
		t.Errorf("%d events are after 2^40-1, want 4", late)
	}
	t.Logf("%d events, %d of them refused as too late", n, late)
}

func TestEdgeEvents(t *testing.T) {
	type record struct {
		Event json.RawMessage
		Why   []string
	}
	eachRecord(t, "vectors/edge-events.jsonl", func(r record) {
		e, err := ParseEvent(r.Event, Limits{})
		if err == LateCreatedAt {
			return
		}
		if err != nil {
			t.Fatalf("%v: %v", r.Why, err)
		}
		if e.Verify() != nil {
			t.Errorf("%v: bad signature", r.Why)
		}
		comparePlain(t, r.Event, e)
	})
}

// plainEvent is an event as encoding/json reads it.
type plainEvent struct {
	ID        string
	Pubkey    string
	CreatedAt uint64 `json:"created_at"`
	Kind      uint16
	Tags      [][]string
	Content   string
	Sig       string
}

// comparePlain compares e with what encoding/json makes of raw.
func comparePlain(t *testing.T, raw []byte, e *Event) {
	t.Helper()
	var want, kept plainEvent
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if err := json.Unmarshal(e.JSON, &kept); err != nil {
		t.Fatalf("canonical JSON: %v\n%s", err, e.JSON)
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(kept)
	if !bytes.Equal(a, b) {
		t.Errorf("canonical JSON says\n%s, want\n%s", b, a)
	}
	if got := want.packed(t); !bytes.Equal(got, e.Packed) {
		t.Errorf("packed\n%x, want\n%x", []byte(e.Packed), got)
	}
	compareTags(t, want, e)
}

func compareTags(t *testing.T, want plainEvent, e *Event) {
	t.Helper()
	i := 0
	for tag := range e.Tags() {
		for j, element := range tag {
			if i >= len(want.Tags) || j >= len(want.Tags[i]) || string(element) != want.Tags[i][j] {
				t.Errorf("tag %d, element %d is %q", i, j, element)
				return
			}
		}
		i++
	}
	if i != len(want.Tags) {
		t.Errorf("%d tags, want %d", i, len(want.Tags))
	}
	if got := e.Content(nil); string(got) != want.Content {
		t.Errorf("content %q, want %q", got, want.Content)
	}
}

// packed packs the event in the plainest way.
func (p *plainEvent) packed(t *testing.T) packed.View {
	h := packed.Header{CreatedAt: p.CreatedAt, Kind: p.Kind}
	if !packed.DecodeHex(h.ID[:], []byte(p.ID)) || !packed.DecodeHex(h.Pubkey[:], []byte(p.Pubkey)) {
		t.Fatal("id or pubkey is no hex")
	}
	addressable := p.Kind >= 30000 && p.Kind < 40000
	var tags []byte
	seenD := false
	for _, tag := range p.Tags {
		if len(tag) == 0 {
			continue
		}
		name, value := tag[0], ""
		if len(tag) > 1 {
			value = tag[1]
		}
		if sec, err := strconv.ParseUint(value, 10, 64); name == "expiration" && err == nil && value[0] != '+' {
			sec = max(sec, 1)
			if h.Expiration == 0 || sec < h.Expiration {
				h.Expiration = sec
			}
		}
		if len(name) != 1 || !packed.IsLetter(name[0]) {
			continue
		}
		firstD := name == "d" && !seenD
		seenD = seenD || name == "d"
		if name == "d" && addressable && !firstD {
			continue // only the first makes the address
		}
		if len(tag) > 1 || firstD && addressable {
			tags = packed.AppendTag(tags, name[0], value)
		}
	}
	if addressable && !seenD {
		tags = packed.AppendTag(tags, 'd', "")
	}
	return append(packed.AppendHeader(nil, &h), tags...)
}

// Other spellings of real events have their ids. Two are of an event that is
// refused for its time; the refusal can name the id.
func TestVariants(t *testing.T) {
	type record struct{ ID, Raw, What string }
	var p Parser
	n := 0
	eachRecord(t, "variants.jsonl", func(r record) {
		n++
		if id, ok := FindID([]byte(r.Raw)); !ok || id != r.ID {
			t.Errorf("%s, %s: found id %q", r.ID, r.What, id)
		}
		e, err := p.Parse([]byte(r.Raw))
		if err == LateCreatedAt {
			return
		}
		if err != nil || e.ID() != r.ID {
			t.Errorf("%s, %s: %v %v", r.ID, r.What, e, err)
		}
	})
	t.Logf("%d spellings", n)
}

// Events whose id or signature is wrong are refused, and with one of the
// reasons there are.
func TestInvalidEvents(t *testing.T) {
	type record struct {
		Event json.RawMessage
		Why   string
	}
	for _, file := range []string{"invalid-events.jsonl", "vectors/wrong-serialization.jsonl"} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			reasons := make(map[Fault]int)
			eachRecord(t, file, func(r record) {
				e, err := ParseEvent(r.Event, Limits{})
				if err == nil {
					err = e.Verify()
				}
				if reasons[FaultOf(err)]++; err == nil || FaultOf(err) == "" {
					t.Errorf("%s: %v\n%s", r.Why, err, r.Event)
				}
				if id, ok := FindID(r.Event); ok && err == nil && id != e.ID() {
					t.Errorf("found id %s", id)
				}
			})
			t.Log(reasons)
		})
	}
}

func TestNIP01Vectors(t *testing.T) {
	var vectors []struct {
		Name     string
		Event    map[string]any
		Expected struct{ ID, Sig string }
	}
	if err := json.NewDecoder(openShared(t, "vectors/nip01/interop-lab.nip01.json")).Decode(&vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		v.Event["id"], v.Event["sig"] = v.Expected.ID, v.Expected.Sig
		raw, err := json.Marshal(v.Event)
		if err != nil {
			t.Fatal(err)
		}
		e, err := ParseEvent(raw, Limits{})
		if err == nil {
			err = e.Verify()
		}
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
}

// Whatever a text holds, an event with it as its content and in a tag is kept as
// it reads, however it was spelled.
func TestEventNaughtyStrings(t *testing.T) {
	for _, s := range naughtyStrings(t) {
		canonical := string(canonicalText(s))
		d := draft{content: canonical, tags: `[["t",` + canonical + `]]`}
		other := d
		other.hashed = d.filled().hashed
		spelled, err := json.Marshal(s) // escapes more than the id wants
		if err != nil {
			t.Fatal(err)
		}
		other.content, other.tags = string(spelled), `[ [ "\u0074", `+string(spelled)+` ] ]`
		want := mustParse(t, []byte(d.json()))
		if got := mustParse(t, []byte(other.json())); !bytes.Equal(got.JSON, want.JSON) || !bytes.Equal(got.Packed, want.Packed) {
			t.Errorf("%q is kept as %s and as %s", s, got.JSON, want.JSON)
		}
		if got := string(want.Content(nil)); got != s {
			t.Errorf("%q reads %q", s, got)
		}
	}
}

// canonicalText returns the canonical text of s, quotes included.
func canonicalText(s string) []byte {
	text := []byte{'"'}
	for _, r := range s {
		text = appendCanonicalRune(text, r)
	}
	return append(text, '"')
}
