package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"wok/nostr"
)

// Recorded events: all are taken but those that no relay may take, and what is
// exported verifies, is in order and comes back as it is.
func TestRealEvents(t *testing.T) {
	const file = "../../../shared/data/real-events.jsonl"
	if _, err := os.Stat(file); err != nil {
		t.Skip("no recorded events: ", err)
	}
	dir := t.TempDir() + "/db"
	first := wok(t, "--db", dir, "import", file)
	for line := range strings.SplitSeq(first[strings.Index(first, "not stored:"):], "\n") {
		// Later than a posting can say; and never to be published (42-R5).
		allowed := line == "" || line == "not stored:" || strings.Contains(line, "created_at is after 2^40-1") || strings.Contains(line, "kind 22242")
		if !allowed {
			t.Errorf("refused: %s", line)
		}
	}
	out := wok(t, "--db", dir, "export")
	last := uint64(0)
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\n"), "\n") {
		ev, err := nostr.ParseEvent([]byte(line), nostr.Limits{})
		if err != nil {
			t.Fatalf("exported %s: %v", line, err)
		}
		if err := ev.Verify(); err != nil {
			t.Fatalf("exported %s: %v", line, err)
		}
		if string(ev.JSON) != line {
			t.Errorf("exported %s, canonical is %s", line, ev.JSON)
		}
		if at := ev.Packed.CreatedAt(); at < last {
			t.Errorf("event %s of %d comes after one of %d", ev.ID(), at, last)
		} else {
			last = at
		}
	}
	if again := wok(t, "--db", dir, "import", file); !strings.Contains(again, "\nadded      0\n") {
		t.Errorf("a second import:\n%s", again)
	}
	if got := wok(t, "--db", dir, "export"); got != out {
		t.Error("a second import changes the export")
	}
	wok(t, "--db", dir, "check")
}

// wok runs a command that must succeed, and returns its stdout.
func wok(t *testing.T, args ...string) string {
	t.Helper()
	p := start(t, args...)
	p.stdin.Close()
	if code := p.wait(); code != 0 {
		t.Fatalf("wok %v exits with %d:\n%s%s", args, code, bytes.TrimSpace(p.stdout.Bytes()), p.stderr())
	}
	return p.stdout.String()
}
