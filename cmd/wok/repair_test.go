package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asides returns the rows set aside in a file.
func asides(t *testing.T, path string) (rows []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// A row that is cut is made again from the event's JSON, beside a relay that
// runs, and the database is sound then.
func TestRepairRow(t *testing.T) {
	dir, events := damaged(t)
	relay, _ := startRelay(t, "--db", dir)
	var out, talk bytes.Buffer
	if code := execute(t.Context(), []string{"--db", dir, "check", "--repair"}, stdio{out: &out, err: &talk}); code != exitOK {
		t.Errorf("exit code %d, %s%s", code, &out, &talk)
	}
	if !strings.Contains(out.String(), "no problems") || !strings.Contains(talk.String(), "repaired: 1 events mended") {
		t.Errorf("%s%s", &out, &talk)
	}
	relay.kill()
	out.Reset()
	code := execute(t.Context(), []string{"--db", dir, "export"}, stdio{out: &out, err: &talk})
	if n := strings.Count(out.String(), "\n"); code != exitOK || n != events {
		t.Errorf("%d of %d events, exit code %d\n%s", n, events, code, &talk)
	}
}

// A file with a broken page is told of, is not repaired in place nor while a
// relay has it open, and gives what can be read to a new database.
func TestRepairPage(t *testing.T) {
	db, all := stored(t, 400)
	dir := db.Dir()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "data.mdb")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// A page of JSON, which no table needs in order to be opened.
	at := bytes.Index(data, []byte(`,"kind":`)) / 4096 * 4096
	copy(data[at:], make([]byte, 4096))
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		var both bytes.Buffer
		code := execute(t.Context(), append([]string{"--db", dir, "check"}, args...), stdio{out: &both, err: &both})
		return code, both.String()
	}
	if code, text := run(); code != exitFailed || !strings.Contains(text, "broken: page") {
		t.Errorf("check: exit code %d, %s", code, text)
	}
	if code, text := run("--repair"); code != exitFailed || !strings.Contains(text, "--into DIR") {
		t.Errorf("check --repair: exit code %d, %s", code, text)
	}
	into := filepath.Join(t.TempDir(), "new")
	relay, _ := startRelay(t, "--db", dir)
	if code, text := run("--repair", "--into", into); code != exitFailed || !strings.Contains(text, "stop the relay") {
		t.Errorf("beside a relay: exit code %d, %s", code, text)
	}
	relay.kill()
	if code, text := run("--repair", "--into", into); code != exitOK || !strings.Contains(text, "copied ") {
		t.Errorf("check --repair --into: exit code %d, %s", code, text)
	}
	var out bytes.Buffer
	if code := execute(t.Context(), []string{"--db", into, "export"}, stdio{out: &out, err: &out}); code != exitOK {
		t.Errorf("export: exit code %d", code)
	}
	n, rows := strings.Count(out.String(), "\n"), asides(t, filepath.Join(into, asideName))
	if n < len(all)-20 || n+len(rows) < len(all) {
		t.Errorf("%d events of %d, %d rows set aside", n, len(all), len(rows))
	}
	for _, row := range rows {
		if row["table"] == "" || row["key"] == "" || row["why"] == "" || row["value"] == "" && row["event"] == nil {
			t.Errorf("set aside: %v", row)
		}
	}
}

// Flags of a repair that make no sense are mistakes.
func TestRepairUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--into", "x"}, {"--aside", "x"}, {"--repair", "--sample", "5"}, {"--sample", "0"}, {"--sample", "x"}, {"--sample", "101%"}, {"--sample", "nan%"},
	} {
		var talk bytes.Buffer
		if code := execute(t.Context(), append([]string{"check"}, args...), stdio{out: &talk, err: &talk}); code != exitUsage {
			t.Errorf("%v: exit code %d, %s", args, code, &talk)
		}
	}
}
