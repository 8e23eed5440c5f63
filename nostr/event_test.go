package nostr

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// A draft is an event in pieces of JSON. Its zero fields stand for those of a
// plain note.
type draft struct {
	pubkey, createdAt, kind, tags, content string
	hashed                                 string // what the id is made of, if not the pieces above
}

const somePubkey = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

var someSig = strings.Repeat("0a", 64)

func (d draft) filled() draft {
	for _, f := range []struct {
		field *string
		value string
	}{
		{&d.pubkey, somePubkey}, {&d.createdAt, "1700000000"}, {&d.kind, "1"}, {&d.tags, "[]"}, {&d.content, `"hi"`},
	} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
	if d.hashed == "" {
		d.hashed = fmt.Sprintf(`[0,"%s",%s,%s,%s,%s]`, d.pubkey, d.createdAt, d.kind, d.tags, d.content)
	}
	return d
}

func (d draft) id() string {
	sum := sha256.Sum256([]byte(d.filled().hashed))
	return hex.EncodeToString(sum[:])
}

// json returns the event with its right id and a signature that is not one.
func (d draft) json() string {
	f := d.filled()
	return fmt.Sprintf(`{"id":"%s","pubkey":"%s","created_at":%s,"kind":%s,"tags":%s,"content":%s,"sig":"%s"}`,
		d.id(), f.pubkey, f.createdAt, f.kind, f.tags, f.content, someSig)
}

// benchNote is a reply with seven tags, 1.2 kB.
func benchNote() []byte {
	key := func(i int) string { return fmt.Sprintf("%064x", 0xabcdef<<i) }
	tags := fmt.Sprintf(`[["e","%s","wss://relay.example.com","root"],["e","%s","","reply"],["p","%s"],["p","%s"],["p","%s"],["t","nostr"],["r","https://example.com/a/page"]]`,
		key(1), key(2), key(3), key(4), key(5))
	text := strings.Repeat(`Some words, as notes have them.\n`, 12)
	return []byte(draft{tags: tags, content: `"` + text + `"`}.json())
}

// benchFollows is a follow list of 800.
func benchFollows() []byte {
	tags := make([]string, 800)
	for i := range tags {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		tags[i] = fmt.Sprintf(`["p","%x"]`, sum)
	}
	return []byte(draft{kind: "3", tags: "[" + strings.Join(tags, ",") + "]", content: `""`}.json())
}

func mustParse(tb testing.TB, raw []byte) *Event {
	tb.Helper()
	e, err := ParseEvent(raw, Limits{})
	if err != nil {
		tb.Fatalf("%v\n%s", err, raw)
	}
	return e
}

func TestParseEvent(t *testing.T) {
	d := draft{kind: "7", tags: `[["e","` + somePubkey + `"],["k","1"]]`, content: `"+"`}
	e := mustParse(t, []byte(d.json()))
	if got := e.ID(); got != d.id() {
		t.Errorf("id %s, want %s", got, d.id())
	}
	if got := hex.EncodeToString(e.Packed.Pubkey()); got != somePubkey {
		t.Errorf("pubkey %s", got)
	}
	if e.Packed.CreatedAt() != 1700000000 || e.Packed.Kind() != 7 || e.Packed.Expiration() != 0 {
		t.Errorf("packed %d %d %d", e.Packed.CreatedAt(), e.Packed.Kind(), e.Packed.Expiration())
	}
	if got, want := packedTags(e.Packed), "e "+somePubkey+`, k "1"`; got != want {
		t.Errorf("tags %s, want %s", got, want)
	}
	if string(e.JSON) != d.json() {
		t.Errorf("canonical\n%s, want\n%s", e.JSON, d.json())
	}
	if sig := e.Sig(); hex.EncodeToString(sig[:]) != someSig {
		t.Errorf("sig %x", sig)
	}
}
