package conformance

import (
	"fmt"
	"io"
	"strings"
)

// A Report is what a run found.
type Report struct {
	Results []*Result
	Without []Excuse
	Seed    string // to run again with the same keys
}

// Count returns how many rules had an outcome.
func (r *Report) Count(o Outcome) (n int) {
	for _, result := range r.Results {
		if result.Outcome == o {
			n++
		}
	}
	return n
}

// Print writes the summary that follows the results: the rules that no script
// shows, and the numbers.
func (r *Report) Print(w io.Writer) {
	if len(r.Without) > 0 {
		fmt.Fprintln(w, "\nwithout a script:")
	}
	for _, e := range r.Without {
		fmt.Fprintf(w, "        %-8s %-6s %s\n                        because %s\n", e.ID, e.Level, e.Text, e.Reason)
	}
	fmt.Fprintf(w, "\n%d rules held, %d broken, %d not applicable, %d without a script (seed %s)\n",
		r.Count(Held), r.Count(Broken), r.Count(NotApplicable), len(r.Without), r.Seed)
}

// Print writes one line, and below it where a broken rule differed. Where
// verbose, it also says where the rule is found.
func (r *Result) Print(w io.Writer, verbose bool) {
	fmt.Fprintf(w, "%-7s %-8s %-6s %s", r.Outcome, r.ID, r.Level, r.Text)
	if r.Reason != "" && r.Outcome == NotApplicable {
		fmt.Fprintf(w, " (%s)", r.Reason)
	}
	if verbose {
		fmt.Fprintf(w, " (%s, %d of %d cases)", r.place, r.Played, len(r.Cases))
	}
	fmt.Fprintln(w)
	for _, f := range r.Failures {
		f.print(w, verbose)
	}
}

func (f *Failure) print(w io.Writer, verbose bool) {
	cut := func(s string) string {
		const shown = 300
		if short := []rune(s); len(short) > shown && !verbose {
			return string(short[:shown]) + anything
		}
		return s
	}
	at := f.Place
	if f.Case != "" {
		at += ", " + f.Case
	}
	fmt.Fprintf(w, "          at   %s\n", at)
	if f.Sent != "" {
		fmt.Fprintf(w, "          sent %s\n", cut(strings.TrimSpace(f.Sent)))
	}
	fmt.Fprintf(w, "          want %s\n          got  %s\n", cut(f.Want), cut(f.Got))
}

// List writes all rules and where they are.
func (s *Suite) List(w io.Writer) {
	for _, r := range s.Rules {
		fmt.Fprintf(w, "%-8s %-6s %s (%s)\n", r.ID, r.Level, r.Text, r.place)
	}
	for _, e := range s.Without {
		fmt.Fprintf(w, "%-8s %-6s %s (without: %s)\n", e.ID, e.Level, e.Text, e.Reason)
	}
}
