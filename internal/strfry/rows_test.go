package strfry_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"wok/internal/strfry"
	"wok/nostr"
)

// In testdata is a database that strfry 1.1 has made of invented events, 79 of
// them compressed with its dictionary 1, and both exports of it.

// lines returns the lines of a file in testdata.
func lines(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func open(t testing.TB, path string) *strfry.DB {
	t.Helper()
	db, err := strfry.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// readAll returns all events from a levId on, by levId.
func readAll(t testing.TB, db *strfry.DB, from uint64) (events map[uint64]string, lost []strfry.Lost) {
	t.Helper()
	events = map[uint64]string{}
	for rows := db.Rows(from); ; {
		b, err := rows.Next()
		if err == io.EOF {
			return events, lost
		}
		if err != nil {
			t.Fatal(err)
		}
		lost = append(lost, b.Lost...)
		for _, r := range b.Rows {
			events[r.LevID] = string(r.JSON)
		}
	}
}

// What is read is what strfry itself exports, compressed or not.
func TestRows(t *testing.T) {
	db := open(t, "testdata")
	want := lines(t, "export.jsonl")
	if n, err := db.Events(); err != nil || n != uint64(len(want)) || db.Version() != 3 {
		t.Errorf("%d events of format %d, %v; want %d", n, db.Version(), err, len(want))
	}
	found, lost := readAll(t, db, 0)
	got := slices.Sorted(maps.Values(found))
	slices.Sort(want)
	if !slices.Equal(got, want) || len(lost) > 0 {
		t.Errorf("%d events and %v, want those of the export", len(got), lost)
	}
}

// One may begin anywhere, and goes on where a batch has ended.
func TestRowsFrom(t *testing.T) {
	db := open(t, "testdata/data.mdb")
	all, _ := readAll(t, db, 0)
	ids := slices.Sorted(maps.Keys(all))
	for _, from := range []uint64{1, 2, ids[3], ids[50] + 1, ids[len(ids)-1], ids[len(ids)-1] + 1, 1 << 63} {
		got, _ := readAll(t, db, from)
		want := maps.Clone(all)
		maps.DeleteFunc(want, func(id uint64, _ string) bool { return id < from })
		if !maps.Equal(got, want) {
			t.Errorf("from %d: %d events, want %d", from, len(got), len(want))
		}
	}
	rows := db.Rows(0)
	b, err := rows.Next()
	if err != nil {
		t.Fatal(err)
	}
	if last := ids[len(ids)-1]; b.Next <= ids[0] || b.Next > last {
		t.Errorf("the next batch begins at %d, want one of the last page, up to %d", b.Next, last)
	}
	if _, err := rows.Next(); err != io.EOF {
		t.Errorf("after the last batch: %v", err)
	}
}

// What is no database of strfry's, or one that is not known, is refused.
func TestOpenRefuses(t *testing.T) {
	whole, err := os.ReadFile("testdata/data.mdb")
	if err != nil {
		t.Fatal(err)
	}
	version := []byte{3, 0, 0, 0, 0, 0, 0, 0}
	at := 3*4096 + bytes.Index(whole[3*4096:4*4096], append([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, version...)) + 16
	change := func(at int, to ...byte) []byte { b := bytes.Clone(whole); copy(b[at:], to); return b }
	names := bytes.ReplaceAll(whole, []byte("__EventPayload"), []byte("__EventPayl0ad"))
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "it is empty"},
		{"text", bytes.Repeat([]byte("no database\n"), 10000), "neither of the two heads"},
		{"newer", change(at, 4), "its format is 4, and formats 1 to 3 are known"},
		{"older", change(at, 0), "its format is 0, and formats 1 to 3 are known"},
		{"other", names, "it is not strfry's"},
		{"order", change(16, 0xbe, 0xef, 0xc0, 0xde), "another byte order"},
		{"one head", change(16, make([]byte, 4000)...), ""},
		{"both heads", change(16, make([]byte, 8000)...), "neither of the two heads"},
		{"cut", whole[:4096*5], "the file ends before"},
	} {
		path := t.TempDir() + "/data.mdb"
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := strfry.Open(path)
		if err == nil {
			db.Close()
		}
		if fmt.Sprint(err) == "<nil>" != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := strfry.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("no file: %v", err)
	}
}

// The packed form is byte for byte that of strfry.
func TestAppendFried(t *testing.T) {
	plain, fried := lines(t, "export.jsonl"), lines(t, "export-fried.jsonl")
	for i, line := range plain {
		ev, err := nostr.ParseEvent([]byte(line), nostr.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := string(strfry.AppendFried(nil, ev))
		_, packed, _ := strings.Cut(got, `"fried"`)
		_, want, _ := strings.Cut(fried[i], `"fried"`)
		if packed != want {
			t.Errorf("packed %s, want %s\nof %s", packed, want, line)
		}
		if err := strfry.CheckFried([]byte(fried[i]), ev); err != nil {
			t.Errorf("%v: %s", err, fried[i])
		}
		if err := strfry.CheckFried([]byte(got), ev); err != nil {
			t.Errorf("%v: %s", err, got)
		}
	}
}
