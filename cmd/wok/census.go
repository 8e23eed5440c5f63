package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"wok/ingest"
	"wok/internal/strfry"
)

// A census counts what has become of the events of another database, by kind.
type census struct {
	kinds map[int]*kindCount // -1 for what is no event

	total     uint64 // events that the database there says it has
	lost      []strfry.Lost
	lostCount int
	failed    uint64 // events that our side could not write
}

// A kindCount counts the events of a kind.
type kindCount struct {
	there        uint64
	added, known uint64            // here: since now, or before
	why          map[string]uint64 // what keeps the others out
}

func (k *kindCount) here() uint64 { return k.added + k.known }

// maxLost is how many losses are named.
const maxLost = 10

func (c *census) lose(lost []strfry.Lost) {
	c.lostCount += len(lost)
	c.lost = append(c.lost, lost[:min(len(lost), maxLost-len(c.lost))]...)
}

// count adds the answer to an event.
func (c *census) count(kind int, res *ingest.Result) {
	if c.kinds == nil {
		c.kinds = map[int]*kindCount{}
	}
	k := c.kinds[kind]
	if k == nil {
		k = new(kindCount)
		c.kinds[kind] = k
	}
	k.there++
	switch res.Outcome {
	case ingest.Stored:
		k.added++
	case ingest.Duplicate:
		k.known++
	case ingest.Failed:
		c.failed++
		fallthrough
	default:
		k.add(&kindCount{why: map[string]uint64{rule(res): 1}})
	}
}

// rule names what has kept an event out.
func rule(res *ingest.Result) string {
	switch res.Outcome {
	case ingest.Superseded:
		return "replaced"
	case ingest.Invalid, ingest.Blocked, ingest.Failed:
		return res.Class
	}
	return res.Outcome.String()
}

// add adds another count to k.
func (k *kindCount) add(more *kindCount) {
	k.there += more.there
	k.added += more.added
	k.known += more.known
	for text, n := range more.why {
		if k.why == nil {
			k.why = map[string]uint64{}
		}
		k.why[text] += n
	}
}

// all adds up the kinds.
func (c *census) all() (sum kindCount) {
	for _, k := range c.kinds {
		sum.add(k)
	}
	return sum
}

// explain lists what kept events out, most frequent first.
func (k *kindCount) explain() string {
	texts := slices.SortedFunc(maps.Keys(k.why), func(a, b string) int {
		return cmp.Or(cmp.Compare(k.why[b], k.why[a]), cmp.Compare(a, b))
	})
	for i, text := range texts {
		texts[i] = fmt.Sprintf("%d %s", k.why[text], text)
	}
	return strings.Join(texts, ", ")
}

// summary says in a line what the walk came to.
func (w *walk) summary() string {
	all := w.census.all()
	took := time.Since(w.began)
	return fmt.Sprintf("read %d events in %v (%.0f/s): %d added, %d known already, %d not stored\n",
		all.there, took.Round(time.Millisecond), float64(all.there)/took.Seconds(), all.added, all.known, all.there-all.here())
}

// reasons says why events were not stored, and what could not be read.
func (w *walk) reasons() string {
	all := w.census.all()
	text := w.census.losses()
	if len(all.why) > 0 {
		text = "not stored: " + all.explain() + "\n" + text
	}
	return text
}

// maxDiffering is how many kinds are named because some of their events are not
// here, beside the most frequent ones.
const maxDiffering = 30

// comparison is the table in the end. Here is how many events are stored.
func (w *walk) comparison(here uint64) string {
	var b strings.Builder
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "kind\t%10s\t%10s\tnot here\n", "there", "here")
	row := func(name string, k *kindCount) {
		fmt.Fprintln(t, strings.TrimRight(fmt.Sprintf("%s\t%10d\t%10d\t%s", name, k.there, k.here(), k.explain()), "\t"))
	}
	var rest kindCount
	named, others := 0, 0
	for i, kind := range w.census.byFrequency() {
		k := w.census.kinds[kind]
		differs := len(k.why) > 0
		if i >= kindsShown && (!differs || named == maxDiffering) {
			rest.add(k)
			others++
			continue
		}
		if i >= kindsShown {
			named++
		}
		row(kindName(kind), k)
	}
	if others > 0 {
		row(fmt.Sprintf("%d others", others), &rest)
	}
	all := w.census.all()
	row("all", &all)
	t.Flush() // into memory
	b.WriteString(w.remarks(&all, here))
	return b.String()
}

// remarks says what the table does not.
func (w *walk) remarks(all *kindCount, here uint64) string {
	var b strings.Builder
	if all.added > 0 {
		fmt.Fprintf(&b, "%d of those here came while comparing\n", all.added)
	}
	if here > all.here() {
		fmt.Fprintf(&b, "%d more here are not from there\n", here-all.here())
	}
	b.WriteString(w.census.losses())
	return b.String()
}

func (c *census) byFrequency() []int {
	return slices.SortedFunc(maps.Keys(c.kinds), func(a, b int) int {
		return cmp.Or(cmp.Compare(c.kinds[b].there, c.kinds[a].there), cmp.Compare(a, b))
	})
}

func kindName(kind int) string {
	if kind < 0 {
		return "no event"
	}
	return strconv.Itoa(kind)
}

// losses says what could not be read, "" where all could.
func (c *census) losses() string {
	if c.lostCount == 0 {
		return ""
	}
	var b strings.Builder
	all := c.all()
	fmt.Fprintf(&b, "%d events could be read", all.there)
	if c.total > 0 {
		fmt.Fprintf(&b, " of the %d that there are by its own count", c.total)
	}
	b.WriteString(":\n")
	for _, l := range c.lost {
		fmt.Fprintf(&b, "  %v\n", l)
	}
	if more := c.lostCount - len(c.lost); more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}

// verdict returns the error of a walk that has come to its end.
func (w *walk) verdict() error {
	switch {
	case w.census.failed > 0:
		return fmt.Errorf("%d events could not be written", w.census.failed)
	case w.census.lostCount > 0:
		return fmt.Errorf("%s is damaged: what could be read of it is here", w.name)
	}
	return nil
}

// kindOf finds the kind in the JSON of an event, -1 where it has none. In a
// string the quotes would have backslashes, so it is a key that is found.
func kindOf(json []byte) int {
	const key = `"kind":`
	at := bytes.Index(json, []byte(key))
	if at < 0 {
		return -1
	}
	kind, digits := 0, json[at+len(key):]
	n := 0
	for ; n < len(digits) && n < 6 && digits[n] >= '0' && digits[n] <= '9'; n++ {
		kind = 10*kind + int(digits[n]-'0')
	}
	if n == 0 {
		return -1
	}
	return kind
}
