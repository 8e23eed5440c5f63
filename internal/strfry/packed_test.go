package strfry_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"wok/internal/strfry"
	"wok/nostr"
)

// A line with any packed form is refused or is of the event it shows, and the
// form that is made of an event is always its own.
func FuzzCheckFried(f *testing.F) {
	for _, line := range lines(f, "export-fried.jsonl")[:20] {
		f.Add(line)
	}
	f.Add(`{"fried":""}`)
	f.Fuzz(func(t *testing.T, line string) {
		ev, err := nostr.ParseEvent([]byte(line), nostr.Limits{})
		if err != nil {
			return
		}
		_, claimed, ok := strings.Cut(line, `,"fried":"`)
		if err := strfry.CheckFried([]byte(line), ev); err == nil && ok && strings.HasSuffix(line, `"}`) &&
			!strings.HasPrefix(strings.ToLower(claimed), ev.ID()) {
			t.Errorf("%s passes as %s", line, ev.ID())
		}
		made := strfry.AppendFried(nil, ev)
		if err := strfry.CheckFried(made, ev); err != nil {
			t.Errorf("%v: %s", err, made)
		}
		if again, err := nostr.ParseEvent(made, nostr.Limits{}); err != nil || again.ID() != ev.ID() {
			t.Errorf("%v: %s", err, made)
		}
	})
}

// Tags as strfry packs them, and as it does not.
func TestAppendPacked(t *testing.T) {
	const id = "ab00000000000000000000000000000000000000000000000000000000000000"
	bin := "\xab" + strings.Repeat("\x00", 31)
	for _, c := range []struct {
		kind int
		tags string
		want string
		time uint64 // expiration
	}{
		{1, `[["e","` + id + `"],["p","` + id + `","x"],["q","` + id + `"]]`, "e\x20" + bin + "p\x20" + bin + "q\x40" + id, 0},
		{1, `[["e","short"],["p"],["e","` + strings.ToUpper(id) + `"]]`, "e\x20" + bin, 0},
		{1, `[["t"],["t",""],[],["-"],["1","x"],["tt","x"],["é","x"]]`, "t\x00t\x00-\x00\x31\x01x", 0},
		{1, `[["t","` + strings.Repeat("a", 256) + `"],["t","` + strings.Repeat("a", 255) + `"]]`, "t\xff" + strings.Repeat("a", 255), 0},
		{1, `[["expiration","x"],["expiration","99"],["expiration","5000000000"],["expiration","4000000000"]]`, "", 5000000000},
		{0, `[["d","x"]]`, "d\x00d\x01x", 0},
		{41, `[]`, "d\x00", 0},
		{30000, `[["d","x"],["t","y"]]`, "d\x01xt\x01yd\x00", 0},
		{20000, `[["expiration","5000000000"]]`, "", 1},
	} {
		ev := unsigned(t, c.kind, c.tags)
		got := strfry.AppendPacked([]byte("before"), ev)[len("before"):]
		if string(got[88:]) != c.want || leInt(got[80:88]) != c.time || string(got[:80]) != string(ev.Packed[:80]) {
			t.Errorf("kind %d, tags %s: %q, expiration %d; want %q, %d", c.kind, c.tags, got[88:], leInt(got[80:88]), c.want, c.time)
		}
	}
}

// unsigned returns an event whose id is right and whose signature is not.
func unsigned(t *testing.T, kind int, tags string) *nostr.Event {
	t.Helper()
	pubkey := strings.Repeat("0", 64)
	hashed := fmt.Sprintf(`[0,"%s",1,%d,%s,""]`, pubkey, kind, tags)
	line := fmt.Sprintf(`{"id":"%x","pubkey":"%s","created_at":1,"kind":%d,"tags":%s,"content":"","sig":"%s"}`,
		sha256.Sum256([]byte(hashed)), pubkey, kind, tags, pubkey+pubkey)
	ev, err := nostr.ParseEvent([]byte(line), nostr.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func leInt(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
