package planner

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the plan as text of several lines. It shows the filter's
// shape, never its contents.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "filter %s\n", p.Filter.Shape())
	if p.Empty {
		b.WriteString("  nothing: the filter can match no event\n")
		return b.String()
	}
	fmt.Fprintf(&b, "  of %s events, %s in time, about %s match\n",
		count(p.facts.events), percent(p.facts.share), count(p.facts.matches))
	p.Path.print(&b, "  ")
	for _, q := range p.switched {
		b.WriteString("  then, as that was dearer than it should be\n")
		q.print(&b, "  ")
	}
	if more := p.switches - len(p.switched); more > 0 {
		fmt.Fprintf(&b, "  and so on, %s\n", many(float64(more), "time"))
	}
	for i := range p.Rejected {
		q := &p.Rejected[i]
		fmt.Fprintf(&b, "  rather than for %s by %s\n", micros(q.Cost.Nanos), q)
	}
	return b.String()
}

// print writes the path as a tree.
func (p *Path) print(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s\n", indent, p.Cost)
	if len(p.Terms) > 1 {
		fmt.Fprintf(b, "%sjoin\n", indent)
		indent += "  "
	}
	for i := range p.Terms {
		fmt.Fprintf(b, "%s%s\n", indent, p.Terms[i])
	}
	for _, t := range p.tests() {
		fmt.Fprintf(b, "%s  test %s\n", indent, t)
	}
}

// String returns the path on one line.
func (p *Path) String() string {
	parts := make([]string, len(p.Terms))
	for i := range p.Terms {
		parts[i] = p.Terms[i].String()
	}
	return strings.Join(parts, " join ")
}

func (t *Term) String() string {
	about := ""
	if t.Sampled {
		about = "about "
	}
	switch {
	case t.pending != nil:
		return fmt.Sprintf("%s: %d to be looked up", t.Name(), t.Lists)
	case t.lookedUp():
		return fmt.Sprintf("%s: %d of %d found", t.Name(), t.Postings, t.Lists)
	case t.Lists == 1:
		return fmt.Sprintf("%s: %s", t.Name(), many(float64(t.Postings), "posting"))
	}
	return fmt.Sprintf("%s: %s%s in %s", t.Name(), about, many(float64(t.Postings), "posting"), many(float64(t.Lists), "list"))
}

// tests names the conditions that the path leaves open and where each is
// tested.
func (p *Path) tests() []string {
	var on []string
	open := p.opens()
	if open.kinds {
		on = append(on, "kind on the posting")
	}
	if open.authors {
		on = append(on, "16 bits of the author on the posting, then all on the event")
	}
	for i := range p.filter.Tags {
		if open.tags>>i&1 == 1 {
			on = append(on, p.filter.Tags[i].Name()+" on the event")
		}
	}
	return on
}

func (c Cost) String() string {
	return fmt.Sprintf("cost %s: %s, %s, %s",
		micros(c.Nanos), many(c.Postings, "posting"), many(c.Seeks, "seek"), many(c.Reads, "read"))
}

// many writes a number of things.
func many(n float64, thing string) string {
	if s := count(n); s != "1" {
		return s + " " + thing + "s"
	}
	return "1 " + thing
}

// count writes a number that may be reckoned, rounded, in groups of three
// digits.
func count(n float64) string {
	s := strconv.FormatFloat(n, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 1, 64) + "%" }

// micros writes nanoseconds as microseconds of three digits or so.
func micros(nanos float64) string {
	if nanos < 100e3 {
		return strconv.FormatFloat(nanos/1e3, 'f', 1, 64) + " us"
	}
	return count(nanos/1e3) + " us"
}

func (w Work) String() string {
	return strings.Join([]string{
		many(float64(w.Postings), "posting"), many(float64(w.Pages), "page"),
		many(float64(w.Seeks), "seek"), many(float64(w.Reads), "read"),
	}, ", ")
}
