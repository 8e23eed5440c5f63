package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wok/internal/lmdbx"
	"wok/internal/strfry"
	"wok/internal/testdb"
	"wok/nostr"
)

// strfryData holds a database that strfry has made, and its exports.
const strfryData = "../../internal/strfry/testdata"

// exportOf returns what an import of events as strfry exports them leaves, as
// wok exports it: all but those of ephemeral kinds.
func exportOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		ev, err := nostr.ParseEvent([]byte(line), nostr.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if k := ev.Packed.Kind(); k < 20000 || k >= 30000 {
			want = append(want, string(ev.JSON))
		}
	}
	slices.Sort(want)
	return want
}

// exported returns the events of a database, which is checked first.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	wok(t, "--db", dir, "check")
	got := strings.Split(strings.TrimSuffix(wok(t, "--db", dir, "export"), "\n"), "\n")
	slices.Sort(got)
	return got
}

// All ways from strfry lead to the same events, which are those of its export.
func TestComingFromStrfry(t *testing.T) {
	want := exportOf(t, strfryData+"/export.jsonl")
	for _, args := range [][]string{
		{"migrate", "strfry", strfryData},
		{"migrate", "strfry", "--no-verify", "--no-compare", strfryData + "/data.mdb"},
		{"import", strfryData + "/export.jsonl"},
		{"import", strfryData + "/export-fried.jsonl"},
		{"import", "--fried", strfryData + "/export-fried.jsonl"},
		{"import", "--fried", "--no-verify", strfryData + "/export-fried.jsonl"},
	} {
		dir := t.TempDir()
		wok(t, append([]string{"--db", dir}, args...)...)
		if got := exported(t, dir); !slices.Equal(got, want) {
			t.Errorf("%v: %d events, want %d", args, len(got), len(want))
		}
	}
}

// In the end it says what is here and why the rest is not. A second run begins
// where the first has ended, and what is no longer here comes again.
func TestMigrateCompares(t *testing.T) {
	dir := t.TempDir()
	out := wok(t, "--db", dir, "migrate", "strfry", strfryData)
	for _, want := range []string{
		`(?m)^read 236 events in .*: 234 added, 0 known already, 2 not stored$`,
		`(?m)^1 +79 +79$`, `(?m)^21000 +1 +0  1 ephemeral$`, `(?m)^16 others +17 +17$`, `(?m)^all +236 +234  2 ephemeral$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	again := wok(t, "--db", dir, "migrate", "strfry", strfryData)
	if m := regexp.MustCompile(`^read (\d+) events`).FindStringSubmatch(again); m == nil || len(m[1]) > 2 || !strings.Contains(again, "all               236         234") {
		t.Errorf("a second run has read all again:\n%s", again)
	}
	whole := wok(t, "--db", dir, "migrate", "strfry", "--from-start", "--no-compare", strfryData)
	if !strings.HasPrefix(whole, "read 236 events") || !strings.Contains(whole, "not stored: 2 ephemeral\n") {
		t.Errorf("from the start:\n%s", whole)
	}
}

// meta is the row of a database of the given version, as strfry writes it.
func meta(version byte) []byte {
	row := make([]byte, 48)
	copy(row, []byte{0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0, 0x1c, 0, 0x14, 0, 0x0c, 0, 0x04, 0, 0x0a, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1})
	row[40] = version
	return row
}

// A source is a database as strfry has it, that a test writes to.
type source struct {
	*lmdbx.Env
	t    *testing.T
	next uint64
}

func newSource(t *testing.T) *source {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "") // syncs cost nothing there, so commits come fast
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const prefix = "rasgueadb_defaultDb__"
	env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: []lmdbx.Table{
		{Name: prefix + "Meta", IntegerKey: true}, {Name: prefix + "EventPayload", IntegerKey: true},
	}}, nil, func(tx *lmdbx.Txn) error { return tx.Put(0, lmdbx.AppendInt(nil, 1), meta(3)) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.Close() })
	return &source{Env: env, t: t, next: 1}
}

// add stores events, and removes some at the same time.
func (s *source) add(lines [][]byte, remove ...uint64) {
	err := s.Update(func(tx *lmdbx.Txn) error {
		for i, line := range lines {
			if err := tx.Put(1, lmdbx.AppendInt(nil, s.next+uint64(i)), append([]byte{0}, line...)); err != nil {
				return err
			}
		}
		for _, levID := range remove {
			if _, err := tx.Delete(1, lmdbx.AppendInt(nil, levID), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Error(err)
	}
	s.next += uint64(len(lines))
}

func invented(n int) (lines [][]byte) {
	for line := range testdb.Lines(testdb.Options{Seed: 9, Events: n}) {
		lines = append(lines, bytes.Clone(line))
	}
	return lines
}

// A run that is killed is gone on with: what was done stays done, and nothing is
// missing in the end. A relay is at work on the database meanwhile, and a client
// of it sees what comes.
func TestMigrateKilled(t *testing.T) {
	src := newSource(t)
	lines := invented(6000)
	src.add(lines)
	dir := t.TempDir()
	relay, url := startRelay(t, "--db", dir)
	client := dial(t, url)
	client.send(`["REQ","live",{"limit":0}]`)
	client.expect(`"EOSE"`, `"live"`)

	mark := filepath.Join(dir, bookmarkFile)
	p := start(t, "--db", dir, "migrate", "strfry", src.Dir())
	for range 5000 {
		client.expect(`"EVENT"`, `"live"`)
		if exists(mark) {
			break
		}
	}
	p.kill()
	p = start(t, "--db", dir, "migrate", "strfry", "--no-compare", src.Dir()) // which would hide what is missing
	p.await(`going on after \d+ events, at levId \d+`)
	if code := p.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, p.stderr())
	}
	var read int
	fmt.Sscanf(p.stdout.String(), "read %d events", &read)
	if read == 0 || read >= len(lines) {
		t.Errorf("the second run has read %d of %d events", read, len(lines))
	}
	relay.kill()

	other := t.TempDir()
	file := filepath.Join(other, "events.jsonl")
	if err := os.WriteFile(file, append(bytes.Join(lines, []byte("\n")), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	wok(t, "--db", other, "import", "--no-verify", file)
	if got, want := exported(t, dir), exported(t, other); !slices.Equal(got, want) {
		t.Errorf("%d events, want %d", len(got), len(want))
	}
}

// Ctrl-C ends a run: what was committed is said and noted.
func TestMigrateInterrupted(t *testing.T) {
	src := newSource(t)
	src.add([][]byte{[]byte("{}")}) // which is told of at once
	src.add(invented(3000))
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	var out, talk bytes.Buffer
	code := execute(ctx, []string{"--db", dir, "migrate", "strfry", "--show-rejected", src.Dir()},
		stdio{out: &out, err: onWrite{&talk, func() { cancel(interrupted{syscall.SIGINT}) }}})
	if code != 128+int(syscall.SIGINT) || !strings.HasPrefix(out.String(), "read ") || strings.Contains(out.String(), "kind ") {
		t.Errorf("exit code %d:\n%s%s", code, out.String(), talk.String())
	}
	again := wok(t, "--db", dir, "migrate", "strfry", src.Dir())
	if !regexp.MustCompile(`(?m)^all +3001 .*1 invalid: id is missing`).MatchString(again) {
		t.Errorf("in the end:\n%s", again)
	}
}

// onWrite calls a function for what is written.
type onWrite struct {
	io.Writer
	fn func()
}

func (w onWrite) Write(b []byte) (int, error) {
	w.fn()
	return w.Writer.Write(b)
}

// Reading while the database is written to yields whole batches of one
// snapshot: each row is what it was, and none that stays is passed over.
func TestMigrateWhileWritten(t *testing.T) {
	src := newSource(t)
	row := func(levID uint64) []byte {
		return fmt.Appendf(nil, "{%d %s}", levID, bytes.Repeat([]byte{'a' + byte(levID%26)}, int(levID*levID%6000)))
	}
	const stay, churn = 3000, 200
	var rows [][]byte
	for levID := uint64(1); levID <= stay; levID++ {
		rows = append(rows, row(levID))
	}
	src.add(rows)
	ended := make(chan struct{})
	stop := make(chan struct{})
	go func() { // adds at the end, removes before it: all pages move
		defer close(ended)
		for removed := uint64(stay); ; {
			var more [][]byte
			for i := range uint64(churn) {
				more = append(more, row(src.next+i))
			}
			var gone []uint64
			for range churn / 2 {
				removed++
				gone = append(gone, removed, removed%stay/3*3+3)
			}
			src.add(more, gone...)
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	db, err := strfry.Open(src.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 5 {
		seen := map[uint64]bool{}
		for r := db.Rows(0); ; {
			b, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range b.Lost {
				t.Errorf("lost %v", l)
			}
			for _, got := range b.Rows {
				seen[got.LevID] = true
				if !bytes.Equal(got.JSON, row(got.LevID)) {
					t.Fatalf("levId %d is %.40q", got.LevID, got.JSON)
				}
			}
			if b.Next > stay*2 {
				break
			}
		}
		for levID := uint64(1); levID <= stay; levID++ {
			if !seen[levID] && levID%3 != 0 {
				t.Fatalf("levId %d was passed over", levID)
			}
		}
	}
}

// What is wrong there costs only itself, is told of, and is no success.
func TestMigrateDamaged(t *testing.T) {
	src := newSource(t)
	lines := invented(300)
	src.add(lines)
	whole, err := os.ReadFile(src.Dir() + "/data.mdb")
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	at := bytes.Index(whole, lines[200])
	leaf := at / page * page
	list := bytes.LastIndex(whole, []byte("rasgueadb_defaultDb__EventPayload")) / page * page
	change := func(at int, to ...byte) []byte { return slices.Concat(whole[:at], to, whole[at+len(to):]) }
	all := storedFrom(t, whole)
	for _, c := range []struct {
		name  string
		file  []byte
		lost  int // at most
		code  int
		words string
	}{
		{"cut", whole[:leaf], 300, exitFailed, "damaged: what could be read of it is here"},
		{"list of tables", change(list, make([]byte, page)...), 0, exitFailed, "list of tables"},
		{"page", change(leaf, make([]byte, page)...), 12, exitFailed, "damaged: what could be read of it is here"},
		{"event", change(at, 'X'), 1, exitOK, "1 invalid: an event is a JSON object"},
		{"id", change(at+len(`{"id":"`), 'x'), 1, exitOK, "1 invalid: id is not 64 lowercase hex digits"},
	} {
		dir, code, text := migrateFile(t, c.file, "--salvage")
		if code != c.code || !strings.Contains(text, c.words) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", c.name, code, c.code, c.words, text)
		}
		got := exported(t, dir)
		missing := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(got, s) })
		if len(missing) == 0 && c.code == exitOK || len(missing) > c.lost {
			t.Errorf("%s: %d events and %d missing of %d", c.name, len(got), len(missing), len(all))
		}
	}
}

// storedFrom returns what a migration from a database leaves.
func storedFrom(t *testing.T, file []byte) []string {
	t.Helper()
	dir, code, text := migrateFile(t, file)
	if code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	return exported(t, dir)
}

// migrateFile migrates from a database of these bytes, and returns the directory
// of the new database, the exit code and what was said.
func migrateFile(t *testing.T, file []byte, flags ...string) (dir string, code int, text string) {
	t.Helper()
	src := t.TempDir()
	dir = t.TempDir()
	if err := os.WriteFile(src+"/data.mdb", file, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, talk bytes.Buffer
	args := append([]string{"--db", dir, "migrate", "strfry", src}, flags...)
	code = execute(t.Context(), args, stdio{out: &out, err: &talk})
	return dir, code, out.String() + talk.String()
}

// A database of another version is refused before anything is made.
func TestMigrateRefuses(t *testing.T) {
	src := newSource(t)
	whole, err := os.ReadFile(src.Dir() + "/data.mdb")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file  []byte
		words string
	}{
		{bytes.ReplaceAll(whole, meta(3), meta(7)), "its format is 7, and formats 1 to 3 are known"},
		{bytes.ReplaceAll(whole, []byte("EventPayload"), []byte("EventPayl0ad")), "it is not strfry's"},
		{[]byte("nothing"), "no LMDB database"},
		{whole[:2*4096+100], "list of tables: page"},
	} {
		if _, code, text := migrateFile(t, c.file); code != exitFailed || !strings.Contains(text, c.words) {
			t.Errorf("exit code %d, want %q:\n%s", code, c.words, text)
		}
	}
	dir := filepath.Join(t.TempDir(), "db")
	var talk bytes.Buffer
	if code := execute(t.Context(), []string{"--db", dir, "migrate", "strfry", t.TempDir()}, stdio{err: &talk}); code != exitFailed || exists(dir) {
		t.Errorf("exit code %d without a database; made one: %v", code, exists(dir))
	}
	for _, args := range [][]string{{"migrate"}, {"migrate", "nostream", "x"}, {"migrate", "strfry"}} {
		if code := execute(t.Context(), args, stdio{out: io.Discard, err: io.Discard}); code != exitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

// A line whose packed event is of another one, or whose id is not its own, is
// refused, whatever is taken on trust.
func TestForgedFriedLines(t *testing.T) {
	text, err := os.ReadFile(strfryData + "/export-fried.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	line, other := lines[3], lines[4]
	id, packed := parts(t, line)
	otherID, otherPacked := parts(t, other)
	sig := regexp.MustCompile(`"sig":"..`)
	flip := func(s string, at int) string {
		b := []byte(s)
		b[at] = "0123456789abcdef"[(strings.IndexByte("0123456789abcdef", b[at])+1)%16]
		return string(b)
	}
	in := func(packed string) string { return line[:strings.Index(line, `"fried"`)] + `"fried":"` + packed + `"}` }
	for _, c := range []struct {
		name, line string
		plain      bool // refused also without --fried
		trusted    bool // taken with --no-verify
	}{
		{"id of another event everywhere", strings.ReplaceAll(line, id, otherID), true, false},
		{"id of no event everywhere", strings.ReplaceAll(line, id, flip(id, 0)), true, false},
		{"id in the JSON", strings.Replace(line, id, otherID, 1), true, false},
		{"id in the packed form", in(otherID + packed[64:]), false, false},
		{"packed form of another event", in(otherPacked), false, false},
		{"author in the packed form", in(flip(packed, 70)), false, false},
		{"time in the packed form", in(flip(packed, 130)), false, false},
		{"kind in the packed form", in(flip(packed, 145)), false, false},
		{"packed form cut", in(packed[:100]), false, false},
		{"packed form of odd length", in(packed + "a"), false, false},
		{"no hex", in("x" + packed[1:]), false, false},
		{"empty", in(""), false, false},
		{"signature", sig.ReplaceAllStringFunc(line, func(s string) string { return flip(s, 7) }), true, true},
	} {
		for _, flags := range [][]string{{"--fried"}, {"--fried", "--no-verify"}, nil} {
			var out, talk bytes.Buffer
			args := append([]string{"--db", t.TempDir(), "import"}, flags...)
			execute(t.Context(), args, stdio{in: strings.NewReader(c.line + "\n"), out: &out, err: &talk})
			refuse := c.plain || flags != nil
			if c.trusted && len(flags) == 2 {
				refuse = false
			}
			want := "added      1\n"
			if refuse {
				want = "rejected   1\n"
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s, %v: want %q\n%s%s", c.name, flags, want, out.String(), talk.String())
			}
		}
	}
}

// parts returns the id and the packed form in a line.
func parts(t *testing.T, line string) (id, packed string) {
	t.Helper()
	var ev struct{ ID, Fried string }
	if err := json.Unmarshal([]byte(line), &ev); err != nil {
		t.Fatal(err)
	}
	return ev.ID, ev.Fried
}

// What is exported with packed forms is what strfry exports, field by field.
func TestExportFried(t *testing.T) {
	dir := t.TempDir()
	wok(t, "--db", dir, "import", strfryData+"/export.jsonl")
	theirs, err := os.ReadFile(strfryData + "/export-fried.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(theirs), "\n"), "\n") {
		id, packed := parts(t, line)
		want[id] = packed
	}
	n := 0
	for _, args := range [][]string{{"export", "--fried"}, {"export", "--fried", "--reverse"}} {
		for line := range strings.SplitSeq(strings.TrimSuffix(wok(t, append([]string{"--db", dir}, args...)...), "\n"), "\n") {
			n++
			id, packed := parts(t, line)
			if !strings.HasSuffix(line, `,"fried":"`+packed+`"}`) || want[id] != packed {
				t.Errorf("%s: want %s", line, want[id])
			}
		}
	}
	if n != 2*234 {
		t.Errorf("%d lines", n)
	}
}
