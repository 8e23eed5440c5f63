package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"wok/ingest"
)

// A tally adds up the summaries of several files.
type tally struct {
	ingest.Summary       // all but Reasons
	raw            int64 // bytes of the files as they are, compressed or not
	reasons        []reasonTally
	removed        uint64 // see missing
	several        bool   // lines need the name of their file
	began          time.Time
}

// A reasonTally says how often something kept an event out, and where.
type reasonTally struct {
	text   string
	count  uint64
	places []string // the first of them
}

// maxPlaces is how many places are named for a reason.
const maxPlaces = 10

func (t *tally) add(file string, s ingest.Summary) {
	t.Bytes += s.Bytes
	t.Lines += s.Lines
	for o, n := range s.Outcomes {
		t.Outcomes[o] += n
	}
	for _, r := range s.Reasons {
		t.reason(r.Text).add(file, r, t.several)
	}
}

// missing notes how many events there were before the import and after it. What
// is missing was replaced or deleted by events that were added later. With a
// relay at work beside it the number is nearly right.
func (t *tally) missing(before, after uint64) {
	if want := before + t.Outcomes[ingest.Stored]; want > after {
		t.removed = want - after
	}
}

func (t *tally) reason(text string) *reasonTally {
	i := slices.IndexFunc(t.reasons, func(r reasonTally) bool { return r.text == text })
	if i < 0 {
		i = len(t.reasons)
		t.reasons = append(t.reasons, reasonTally{text: text})
	}
	return &t.reasons[i]
}

func (r *reasonTally) add(file string, more ingest.Reason, named bool) {
	r.count += more.Count
	for _, line := range more.Lines {
		place := fmt.Sprint(line)
		if named {
			place = fmt.Sprintf("%s:%d", file, line)
		}
		if len(r.places) < maxPlaces {
			r.places = append(r.places, place)
		}
	}
}

// String returns the summary as a table for a person.
func (t *tally) String() string {
	var b strings.Builder
	took := time.Since(t.began)
	rate := float64(t.Events()) / took.Seconds()
	fmt.Fprintf(&b, "read %d events, %s, in %v (%.0f/s)\n", t.Events(), size(t.Bytes), took.Round(time.Millisecond), rate)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name string
		n    uint64
		note string
	}{
		{"added", t.Outcomes[ingest.Stored], ""},
		{"removed", t.removed, "replaced or deleted by later ones"},
		{"duplicate", t.Outcomes[ingest.Duplicate], "stored already"},
		{"replaced", t.Outcomes[ingest.Superseded], "a newer version is stored"},
		{"deleted", t.Outcomes[ingest.Deleted], "by their authors"},
		{"vanished", t.Outcomes[ingest.Vanished], "at the request of their authors or recipients"},
		{"expired", t.Outcomes[ingest.Expired], ""},
		{"ephemeral", t.Outcomes[ingest.Ephemeral], "never stored"},
		{"rejected", t.Rejected(), ""},
		{"failed", t.Outcomes[ingest.Failed], ""},
	} {
		if row.n == 0 || row.note == "" {
			fmt.Fprintf(w, "%s\t%d\n", row.name, row.n)
		} else {
			fmt.Fprintf(w, "%s\t%d\t%s\n", row.name, row.n, row.note)
		}
	}
	w.Flush() // into memory
	t.writeReasons(&b)
	return b.String()
}

// writeReasons lists why events were rejected or have failed, most frequent
// first.
func (t *tally) writeReasons(b *strings.Builder) {
	if len(t.reasons) == 0 {
		return
	}
	slices.SortStableFunc(t.reasons, func(x, y reasonTally) int { return cmp.Compare(y.count, x.count) })
	b.WriteString("not stored:\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, r := range t.reasons {
		more := ""
		if r.count > uint64(len(r.places)) {
			more = ", ..."
		}
		lines := "line"
		if r.count > 1 {
			lines = "lines"
		}
		fmt.Fprintf(w, "  %d\t%s\t%s %s%s\n", r.count, r.text, lines, strings.Join(r.places, ", "), more)
	}
	w.Flush()
}

// size writes a number of bytes for a person.
func size(n int64) string {
	units := "kMGT"
	f := float64(n)
	if f < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	i := -1
	for f >= 1000 && i < len(units)-1 {
		f /= 1000
		i++
	}
	return fmt.Sprintf("%.1f %cB", f, units[i])
}
