package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"wok/internal/testdb"
)

// note returns a signed note and its id as JSON.
func note(key int, created int64, text string) (event []byte, id string) {
	event = testdb.Sign(key, testdb.Event{Kind: 1, CreatedAt: created, Content: text})
	return event, string(event[len(`{"id":`):][:66])
}

// A relay serves, sees what an import beside it brings in, lets commands read,
// and drains when it is told to stop.
func TestRelay(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	relay, url := startRelay(t, "--db", db)
	c := dial(t, url)
	one, oneID := note(1, 1000, "one")
	c.publish(one)
	c.expect(`"OK"`, oneID, "true")
	c.send(`["REQ","all",{}]`)
	c.expect(`"EVENT"`, `"all"`, string(one))
	c.expect(`"EOSE"`, `"all"`)

	two, _ := note(2, 1001, "two")
	imp := start(t, "--db", db, "import")
	fmt.Fprintf(imp.stdin, "%s\n", two)
	imp.stdin.Close()
	if code := imp.wait(); code != 0 {
		t.Fatalf("import exits with %d: %s", code, imp.stderr())
	}
	c.expect(`"EVENT"`, `"all"`, string(two))

	scan := start(t, "--db", db, "scan", "{}")
	if code := scan.wait(); code != 0 || scan.stdout.String() != fmt.Sprintf("%s\n%s\n", two, one) {
		t.Fatalf("scan exits with %d:\n%s%s", code, scan.stdout.String(), scan.stderr())
	}

	relay.signal(syscall.SIGTERM)
	_, _, err := c.ws.ReadMessage()
	if !websocket.IsCloseError(err, websocket.CloseGoingAway, websocket.CloseServiceRestart) {
		t.Errorf("the client's last message is %v, want a close frame that says why", err)
	}
	c.ws.Close()
	if code := relay.wait(); code != 0 {
		t.Errorf("relay exits with %d:\n%s", code, relay.stderr())
	}
	check := start(t, "--db", db, "check")
	if code := check.wait(); code != 0 {
		t.Errorf("check: %s", check.stdout.String())
	}
}

// A second signal ends a relay whose clients do not leave.
func TestRelaySecondSignal(t *testing.T) {
	relay, url := startRelay(t, "--db", filepath.Join(t.TempDir(), "db"), "--set", "relay.shutdownDeadlineSeconds=3600")
	c := dial(t, url) // never reads, so never answers the close frame
	c.send(`["REQ","a",{"limit":0}]`)
	c.expect(`"EOSE"`)
	relay.signal(syscall.SIGINT)
	relay.await("msg=stopping")
	relay.signal(syscall.SIGINT)
	relay.wait()
	if s := relay.cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGINT {
		t.Errorf("relay ends with %v, want the signal", relay.cmd.ProcessState)
	}
}

// An address that cannot be had is one clear line.
func TestRelayAddressInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	port := fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)
	relay := start(t, "relay", "--db", filepath.Join(t.TempDir(), "db"), "--port", port)
	if code := relay.wait(); code != exitFailed {
		t.Errorf("relay exits with %d", code)
	}
	want := "wok relay: listen tcp 127.0.0.1:" + port + ": bind: address already in use (set --port or relay.port)\n"
	if got := relay.stderr(); got != want {
		t.Errorf("relay says %q, want %q", got, want)
	}
}

// Ctrl-C ends an import after what it has read is committed, with a summary.
func TestImportInterrupted(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	imp := start(t, "--db", db, "import", "--show-rejected")
	for i := range 100 {
		ev, _ := note(1, int64(1000+i), "text")
		fmt.Fprintf(imp.stdin, "%s\n", ev)
	}
	fmt.Fprintln(imp.stdin, "the end") // told when all before it is on its way
	imp.await("stdin:101: invalid: ")
	imp.signal(syscall.SIGINT)
	if code := imp.wait(); code != 130 {
		t.Errorf("import exits with %d: %s", code, imp.stderr())
	}
	if out := imp.stdout.String(); !strings.Contains(out, "read 101 events") || !strings.Contains(out, "\nadded      100\n") {
		t.Errorf("import says:\n%s", out)
	}
	count := start(t, "--db", db, "scan", "--count", "{}")
	if count.wait(); count.stdout.String() != "100\n" {
		t.Errorf("scan --count prints %q", count.stdout.String())
	}
}

// A reader that has seen enough ends an export without ado.
func TestExportBrokenPipe(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	imp := start(t, "--db", db, "import")
	for line := range testdb.Lines(testdb.Options{Events: 2000}) {
		fmt.Fprintf(imp.stdin, "%s\n", line)
	}
	imp.stdin.Close()
	if code := imp.wait(); code != 0 {
		t.Fatal(imp.stderr())
	}
	for _, args := range [][]string{{"export"}, {"export", "--reverse"}, {"scan", "{}"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("wok", append([]string{"--db", db}, args...)...)
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = w, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if _, err := r.Read(make([]byte, 100)); err != nil {
			t.Error(err)
		}
		r.Close()
		if err := cmd.Wait(); err != nil || stderr.String() != "" {
			t.Errorf("%v ends with %v: %s", args, err, stderr.String())
		}
	}
}

// The bounds on dates hold for clients; import_files.txtar has that they do not
// for files.
func TestRelayRefusesByDate(t *testing.T) {
	_, url := startRelay(t, "--db", filepath.Join(t.TempDir(), "db"), "--set", "events.rejectEventsOlderThanSeconds=3600")
	c := dial(t, url)
	old, id := note(1, 1000, "old")
	c.publish(old)
	c.expect(`"OK"`, id, "false", `"invalid: created_at is too long ago"`)
	fresh, id := note(1, time.Now().Unix(), "new")
	c.publish(fresh)
	c.expect(`"OK"`, id, "true")
}
