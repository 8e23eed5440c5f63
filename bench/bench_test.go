package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files makes events with the generator of the repository.
func files(t *testing.T) (events, unseen string) {
	t.Helper()
	dir := t.TempDir()
	events, unseen = filepath.Join(dir, "events"), filepath.Join(dir, "fresh")
	generate(t, events, "-n", "2000")
	generate(t, unseen, "-n", "2000", "-seed", "2", "-start", "1702592000", "-authors", "100", "-hashtags", "50")
	return events, unseen
}

func generate(t *testing.T, path string, args ...string) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("go", append([]string{"run", "./internal/testdb/gen"}, args...)...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = "..", out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("generate events: %v\n%s", err, stderr.Bytes())
	}
}

// built returns an executable, made of the package in dir.
func built(t *testing.T, dir, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "relay")
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return path
}

// TestAll runs every scenario on wok, on khatru and on a wok that is started by a
// command, filled by publishing.
func TestAll(t *testing.T) {
	if testing.Short() {
		t.Skip("starts relays")
	}
	events, unseen := files(t)
	dir := t.TempDir()
	table := filepath.Join(dir, "table.json")
	wok := built(t, "..", "./cmd/wok")
	var stdout, stderr bytes.Buffer
	err := run(context.Background(), []string{
		"--events", events, "--fresh", unseen, "--dir", dir, "--json", table,
		"--seconds", "300ms", "--connections", "20",
		"--wok", wok, "--khatru", built(t, ".", "./peers/khatru"),
		"--start", "other=" + quote(wok) + " --config /dev/null --db {db} relay --port {port} --set relay.auth.enabled=false",
	}, &stdout, &stderr)
	t.Logf("%s%s", stderr.Bytes(), stdout.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	reports := readReports(t, table)
	if len(reports) != 3 {
		t.Fatalf("%d reports", len(reports))
	}
	for _, r := range reports {
		checkReport(t, r, reports[0])
	}
}

func readReports(t *testing.T, path string) (reports []*report) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		Relay   string
		Figures []figure
		Notes   []string
	}
	if err := json.Unmarshal(b, &entries); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		reports = append(reports, &report{e.Relay, e.Figures, e.Notes})
	}
	return reports
}

// checkReport: each scenario has its figures, nothing was lost, and answers are
// those of the first relay.
func checkReport(t *testing.T, r, first *report) {
	t.Helper()
	for _, f := range first.figures {
		if r.find(f.Row) == nil {
			t.Errorf("%s: no %s", r.relay, f.Row)
		}
	}
	for _, f := range r.figures {
		switch {
		case f.Better == more && f.Value <= 0, f.Better == zero && f.Value != 0,
			f.Better == same && f.Value != first.find(f.Row).Value:
			t.Errorf("%s: %s is %v", r.relay, f.Row, f.Value)
		}
	}
	for _, note := range r.notes {
		if strings.Contains(note, " ended: ") {
			t.Error(note)
		}
	}
	for _, row := range []string{"publish", "fan-out", "mixed load: publish", "idle connection, deflate", "4 slow readers, memory", "query: one id"} {
		if r.find(row) == nil {
			t.Errorf("%s: no %s", r.relay, row)
		}
	}
}

// TestListeners: each event of the feeds has 20 listeners, by one filter each.
func TestListeners(t *testing.T) {
	_, unseen := files(t)
	events, err := readFresh(unseen)
	if err != nil {
		t.Fatal(err)
	}
	shown, authors := fannable(events)
	if len(shown) < 1000 {
		t.Errorf("only %d of %d events are shown", len(shown), len(events))
	}
	listening := map[string]int{}
	for i := range listeners {
		req := subscription(i, authors)
		for _, pubkey := range slices.Concat(authors[:]...) {
			n := bytes.Count(req, []byte(pubkey))
			if n > 1 {
				t.Fatalf("listener %d has %s %d times", i, pubkey, n)
			}
			listening[pubkey] += n
		}
	}
	for _, e := range shown {
		if listening[e.pubkey] != matches {
			t.Fatalf("%s has %d listeners", e.pubkey, listening[e.pubkey])
		}
	}
}

// TestEverything: the slow readers' filters ask for each event once.
func TestEverything(t *testing.T) {
	events, _ := files(t)
	c, err := readCorpus(events)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[int64]int{} // by second
	for _, frame := range c.everything() {
		var message []json.RawMessage
		if err := json.Unmarshal(frame[bytes.IndexByte(frame, '['):], &message); err != nil {
			t.Fatal(err)
		}
		for _, m := range message[2:] {
			var f struct{ Since, Until int64 }
			if err := json.Unmarshal(m, &f); err != nil {
				t.Fatal(err)
			}
			for s := f.Since; s <= f.Until; s++ {
				asked[s]++
			}
		}
	}
	for _, second := range c.times {
		if asked[second] != 1 {
			t.Fatalf("second %d is asked for %d times", second, asked[second])
		}
	}
}
