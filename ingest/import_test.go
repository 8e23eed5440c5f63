package ingest

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"wok/internal/testdb"
	"wok/packed"
	"wok/store"
)

// importAll imports text and fails the test on an error.
func importAll(t *testing.T, p *Pipeline, text string, opts ImportOptions) Summary {
	t.Helper()
	sum, err := Import(context.Background(), strings.NewReader(text), p, opts)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// reasons spells the reasons of a summary, one a line.
func reasons(s Summary) string {
	var b strings.Builder
	for _, r := range s.Reasons {
		fmt.Fprintf(&b, "%d %s %v\n", r.Count, r.Text, r.Lines)
	}
	return b.String()
}

func TestImportLines(t *testing.T) {
	a, b := string(note(1, 0)), string(note(2, 0))
	spaced := strings.Replace(a, `,"`, " ,\t\"", 3)
	for _, c := range []struct {
		name    string
		text    string
		lines   int
		stored  uint64
		reasons string
	}{
		{"nothing", "", 0, 0, ""},
		{"one", a + "\n", 1, 1, ""},
		{"no newline at the end", a + "\n" + b, 2, 2, ""},
		{"CRLF", a + "\r\n" + b + "\r\n", 2, 2, ""},
		{"blank lines", "\n\r\n \t\n" + a + "\n\n\n" + b + "\n\n", 8, 2, ""},
		{"only blank lines", "\n\n\n", 3, 0, ""},
		{"white space around and within", "  " + spaced + " \t\n", 1, 1, ""},
		{"byte order mark", "\ufeff" + a + "\n" + b + "\n", 2, 2, ""},
		{"byte order mark further on", a + "\n\ufeff" + b + "\n", 2, 1, "1 invalid: an event is a JSON object [2]\n"},
		{"broken JSON", "{\n" + a + "\n" + b[:50] + "\n" + b + "\n}\n", 5, 2,
			"2 invalid: not valid JSON [1 3]\n1 invalid: an event is a JSON object [5]\n"},
		{"bad signature", string(forge([]byte(a))) + "\n" + b + "\n", 2, 1, "1 invalid: bad signature [1]\n"},
		{"two on a line", a + b + "\n" + b + "\n", 2, 1, "1 invalid: not valid JSON [1]\n"},
		{"over-long", strings.Repeat("x", 5000) + "\n" + a + "\n", 2, 1, "1 invalid: the line is too long [1]\n"},
		{"over-long blank", strings.Repeat(" ", 5000) + "\n" + a + "\n", 2, 1, "1 invalid: the line is too long [1]\n"},
		{"far over-long", a + "\n" + strings.Repeat("x", 3<<20) + "\n" + b, 3, 2, "1 invalid: the line is too long [2]\n"},
		{"over-long at the end", a + "\n" + strings.Repeat("x", 1<<20), 2, 1, "1 invalid: the line is too long [2]\n"},
		{"NUL bytes", "\x00\x00\n" + a + "\n", 2, 1, "1 invalid: not valid JSON [1]\n"},
		{"many brackets", strings.Repeat("[", 1000) + "\n" + a + "\n", 2, 1, "1 invalid: an event is a JSON object [1]\n"},
		{"fried", a[:len(a)-1] + `,"fried":"00ff"}` + "\n", 1, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPipeline(t, Options{})
			sum := importAll(t, p, c.text, ImportOptions{MaxLineBytes: 4096})
			if sum.Lines != c.lines || sum.Bytes != int64(len(c.text)) || sum.Outcomes[Stored] != c.stored {
				t.Errorf("%d lines, %d bytes of %d, %d stored; want %d lines, %d stored",
					sum.Lines, sum.Bytes, len(c.text), sum.Outcomes[Stored], c.lines, c.stored)
			}
			if got := reasons(sum); got != c.reasons {
				t.Errorf("reasons:\n%swant:\n%s", got, c.reasons)
			}
			if stored(t, p) != c.stored {
				t.Errorf("%d in the database", stored(t, p))
			}
		})
	}
}

func TestImportCounts(t *testing.T) {
	gone := sign(1, 20, "soon gone")
	first := strings.Join([]string{
		string(sign(0, 10, "newer")),
		string(gone),
		string(sign(5, 5, "", tag("e", idOf(gone)))),
	}, "\n")
	second := strings.Join([]string{
		string(sign(0, 20, "older")),
		string(gone),
		string(sign(0, 10, "newer")),
		string(sign(1, 10, "", tag("expiration", "1"))),
		string(sign(20001, 10, "")),
		string(sign(22242, 0, "")),
		string(sign(1, 10, "protected", tag("-"))), // 70-R4: the operator vouches for a file
		"",
		"junk",
	}, "\n")
	p := newPipeline(t, Options{})
	if sum := importAll(t, p, first, ImportOptions{}); sum.Outcomes != [outcomes]uint64{Stored: 3} {
		t.Errorf("first: %v", sum.Outcomes)
	}
	sum := importAll(t, p, second, ImportOptions{})
	want := [outcomes]uint64{Stored: 1, Duplicate: 1, Superseded: 1, Deleted: 1, Expired: 1, Ephemeral: 1, Invalid: 2}
	if sum.Outcomes != want || sum.Events() != 8 || sum.Rejected() != 2 {
		t.Errorf("second: %v, %d events, %d rejected", sum.Outcomes, sum.Events(), sum.Rejected())
	}
}

func TestImportSource(t *testing.T) {
	p := newPipeline(t, Options{})
	protected := string(sign(1, 10, "", tag("-")))
	sum := importAll(t, p, protected, ImportOptions{Source: Source{Kind: SourceStream, Info: "wss://relay.example"}})
	if sum.Outcomes[Blocked] != 1 {
		t.Errorf("%v", sum.Outcomes)
	}
}

func TestImportTellsOfLines(t *testing.T) {
	a := note(1, 0)
	text := string(a) + "\nbad\n\n" + strings.Repeat("y", 3000) + "\n" + string(a) + "\n"
	p := newPipeline(t, Options{Workers: 1})
	var rejected []string
	var progress []int64
	importAll(t, p, text, ImportOptions{
		MaxLineBytes: 1000,
		Progress:     func(bytes int64, lines int) { progress = append(progress, bytes*10+int64(lines)) },
		Rejected: func(line int, text []byte, res Result) {
			rejected = append(rejected, fmt.Sprintf("%d %s %s", line, text, res.Class))
		},
	})
	slices.Sort(rejected)
	want := []string{"2 bad invalid: an event is a JSON object", "4  invalid: the line is too long"}
	if !slices.Equal(rejected, want) {
		t.Errorf("rejected %q", rejected)
	}
	n := int64(len(a)) + 1
	if want := []int64{n*10 + 1, (n+4)*10 + 2, (n+5)*10 + 3, (n+3006)*10 + 4, (n*2+3006)*10 + 5}; !slices.Equal(progress, want) {
		t.Errorf("progress %v, want %v", progress, want)
	}
}

func TestImportReasonLinesAreBounded(t *testing.T) {
	p := newPipeline(t, Options{})
	sum := importAll(t, p, strings.Repeat("{\n", 5000), ImportOptions{})
	if len(sum.Reasons) != 1 || sum.Reasons[0].Count != 5000 || len(sum.Reasons[0].Lines) != maxReasonLines {
		t.Errorf("%+v", sum.Reasons)
	}
	if first := sum.Reasons[0].Lines; !slices.Equal(first, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("lines %v", first)
	}
}

func TestImportReadError(t *testing.T) {
	p := newPipeline(t, Options{})
	broken := errors.New("the cable is cut")
	r := io.MultiReader(bytes.NewReader(note(1, 0)), strings.NewReader("\n{\"id\""), iotest.ErrReader(broken))
	sum, err := Import(context.Background(), r, p, ImportOptions{})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
	if sum.Lines != 1 || sum.Outcomes != [outcomes]uint64{Stored: 1} || stored(t, p) != 1 {
		t.Errorf("%+v, %d stored", sum, stored(t, p))
	}
}

// A cancelled import does not wait for input that does not come.
func TestImportCancelled(t *testing.T) {
	p := newPipeline(t, Options{})
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		w.Write(append(note(1, 0), '\n')) // the pipe has no room: read once this returns
		w.Write([]byte("{\n"))
		cancel()
	}()
	sum, err := Import(ctx, r, p, ImportOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// The line in hand at that moment may have been read for nothing.
	if left := uint64(sum.Lines) - sum.Events(); left > 1 || sum.Outcomes[Stored] != stored(t, p) {
		t.Errorf("%+v, %d stored", sum, stored(t, p))
	}
}

func TestImportIntoClosedPipeline(t *testing.T) {
	p := newPipeline(t, Options{})
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	_, err := Import(context.Background(), bytes.NewReader(note(1, 0)), p, ImportOptions{})
	if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("error %v", err)
	}
}

// A full disk ends an import: all that follows would fail as well.
func TestImportNoSpace(t *testing.T) {
	p := startPipeline(t, openStore(t, func(o *store.Options) { o.MinFreeBytes = 1 << 62 }), Options{})
	endless := io.MultiReader(bytes.NewReader(note(1, 0)), new(newlines))
	sum, err := Import(context.Background(), endless, p, ImportOptions{})
	if !errors.Is(err, store.ErrNoSpace) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("error %v", err)
	}
	if sum.Outcomes != [outcomes]uint64{Failed: 1} {
		t.Errorf("%v", sum.Outcomes)
	}
}

// newlines is a reader of blank lines without end.
type newlines struct{}

func (*newlines) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '\n'
	}
	return len(b), nil
}

// TestImportReal imports what is out there, twice.
func TestImportReal(t *testing.T) {
	raw, err := os.ReadFile("../../shared/data/real-events.jsonl")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no real events here")
	}
	if err != nil {
		t.Fatal(err)
	}
	p := newPipeline(t, Options{})
	sum := importAll(t, p, string(raw), ImportOptions{})
	refused := "4 invalid: created_at is after 2^40-1 [9946 13261 17966 18682]\n" +
		"3 invalid: kind 22242 is for AUTH messages and never published [11961 13215 16200]\n"
	if got := reasons(sum); got != refused || sum.Events() != 18_992 {
		t.Errorf("%d events, refused:\n%s", sum.Events(), got)
	}
	// How many are superseded or deleted on arrival, and how many later, hangs
	// on the order, which is the file's but for the edges of batches.
	o := sum.Outcomes
	if o[Ephemeral] != 81 || o[Expired] != 2 || o[Stored]+o[Superseded]+o[Deleted] != 18_902 {
		t.Errorf("outcomes %v", o)
	}
	sameEvents(t, p, realVisible(raw))
	if again := importAll(t, p, string(raw), ImportOptions{}); again.Outcomes[Stored] != 0 || reasons(again) != refused {
		t.Errorf("a second import: %v", again.Outcomes)
	}
}

// realVisible returns the ids of what is to be stored of the events in raw.
func realVisible(raw []byte) map[string]bool {
	var events []testdb.Event
	for line := range bytes.Lines(raw) {
		e := testdb.Decode(line)
		expired := slices.ContainsFunc(e.Tags, func(tag []string) bool {
			return len(tag) > 1 && tag[0] == "expiration" && len(tag[1]) <= 10 && tag[1] <= fmt.Sprint(noon)
		})
		if e.CreatedAt < 1<<40 && !expired {
			events = append(events, e)
		}
	}
	ids := map[string]bool{}
	for _, e := range testdb.Visible(events) {
		ids[e.ID] = true
	}
	return ids
}

// sameEvents fails the test unless the database holds the events of ids only.
func sameEvents(t *testing.T, p *Pipeline, ids map[string]bool) {
	t.Helper()
	if n := stored(t, p); n != uint64(len(ids)) {
		t.Errorf("%d stored, want %d", n, len(ids))
	}
	err := p.db.View(context.Background(), func(tx *store.Txn) error {
		return tx.EachEvent(0, func(levID uint64, v packed.View) error {
			if id := hex.EncodeToString(v.ID()); !ids[id] {
				t.Errorf("event %s is stored", id)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzLineReader(f *testing.F) {
	for _, s := range []string{"", "\n", "a", "a\r\nb", "\ufeffa\n\n b \n", "aaaaaaaaaaaaaaaaaaaaaaaa\nb\n", "\r\r\n"} {
		f.Add([]byte(s), 8)
	}
	f.Fuzz(func(t *testing.T, data []byte, maxBytes int) {
		maxBytes = max(1, maxBytes%100)
		lines := newLineReader(iotest.OneByteReader(bytes.NewReader(data)), maxBytes)
		want := bytes.Split(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
		if len(data) == 0 || data[len(data)-1] == '\n' {
			want = want[:len(want)-1]
		}
		var buf []byte
		for i, w := range want {
			got, long, err := lines.next(buf)
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			if long && len(w)+len("\ufeff\n") <= maxBytes || !long && (len(w) > maxBytes+2 || !bytes.Equal(got, bytes.TrimSpace(w))) {
				t.Fatalf("line %d: long %v, %q of %q", i+1, long, got, w)
			}
			buf = got
		}
		if _, _, err := lines.next(buf); err != io.EOF || lines.read != int64(len(data)) {
			t.Fatalf("at the end: %v, %d bytes read of %d", err, lines.read, len(data))
		}
	})
}
