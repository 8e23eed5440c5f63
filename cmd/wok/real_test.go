package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"

	"wok/nostr"
)

// realEvents is where recorded events are, which a clone does not have.
const realEvents = "../../../shared/data/real-events.jsonl"

// Recorded events: all are taken but those that no relay may take, and what is
// exported verifies, is in order and comes back as it is.
func TestRealEvents(t *testing.T) {
	const file = realEvents
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

// Recorded events through the websocket, dates unbounded: each is answered once,
// refused are those that are not for just anyone to bring, and what is stored in
// the end is what an import of the others stores.
func TestRealEventsByWebsocket(t *testing.T) {
	recorded, err := os.ReadFile(realEvents)
	if err != nil {
		t.Skip("no recorded events: ", err)
	}
	events := bytes.Split(bytes.TrimSpace(recorded), []byte("\n"))
	dir := t.TempDir()
	relay, url := startRelay(t, "--db", dir+"/relay", "--set", "events.rejectEventsNewerThanSeconds=0",
		"--set", "events.rejectEphemeralEventsOlderThanSeconds=0")
	answers := publishAll(t, url, events)

	var others []byte
	tally := make(map[string]int)
	for _, raw := range events {
		id, _ := nostr.FindID(raw)
		reason, answered := answers[id]
		if !answered {
			t.Errorf("no answer to %s", id)
		}
		tally[reason]++
		word, _, _ := strings.Cut(reason, ":")
		switch {
		case word == "auth-required", word == "restricted": // NIP-70
			continue
		case word == "", word == "duplicate", reason == "blocked: deleted by author", reason == "invalid: the event has expired",
			strings.Contains(reason, "kind 22242"), strings.Contains(reason, "after 2^40-1"):
		default:
			t.Errorf("%s: %s", id, reason)
		}
		others = append(append(others, raw...), '\n')
	}
	t.Log(tally)
	relay.signal(syscall.SIGTERM)
	relay.wait()
	file := dir + "/others.jsonl"
	if err := os.WriteFile(file, others, 0o600); err != nil {
		t.Fatal(err)
	}
	wok(t, "--db", dir+"/import", "import", file)
	if wok(t, "--db", dir+"/import", "export") != wok(t, "--db", dir+"/relay", "export") {
		t.Error("an import stores other events")
	}
}

// publishAll sends events without waiting in between, and returns the reasons of
// the answers by id. A second answer to one event, or an OK that does not fit its
// reason, is an error.
func publishAll(t *testing.T, url string, events [][]byte) map[string]string {
	c := dial(t, url)
	go func() {
		for _, raw := range events {
			if c.ws.WriteMessage(websocket.TextMessage, []byte(`["EVENT",`+string(raw)+`]`)) != nil {
				return // the reader fails as well
			}
		}
	}()
	answers := make(map[string]string)
	for len(answers) < len(events) {
		m := c.receive()
		if m[0] == `"AUTH"` {
			continue
		}
		id, reason := strings.Trim(m[1], `"`), strings.Trim(m[3], `"`)
		_, again := answers[id]
		stored := m[2] == "true"
		if m[0] != `"OK"` || again || stored != (reason == "" || reason == "duplicate: this event is stored already") {
			t.Fatalf("received %s", m)
		}
		answers[id] = reason
	}
	return answers
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
