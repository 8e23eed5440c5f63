package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a figure is good for.
const (
	more   = "more"   // is better
	less   = "less"   // is better
	zero   = "zero"   // is the only right one
	same   = "same"   // should be what the other relays have
	detail = "detail" // for the file only
)

// A figure is what a relay achieved.
type figure struct {
	Row    string  `json:"row"`
	Unit   string  `json:"unit,omitempty"`
	Better string  `json:"better"`
	Value  float64 `json:"value"`
}

// A report is what a relay achieved in all scenarios.
type report struct {
	relay   string
	figures []figure
	notes   []string
}

func (r *report) more(row, unit string, value float64)   { r.add(figure{row, unit, more, value}) }
func (r *report) less(row, unit string, value float64)   { r.add(figure{row, unit, less, value}) }
func (r *report) detail(row, unit string, value float64) { r.add(figure{row, unit, detail, value}) }
func (r *report) zero(row string, value float64)         { r.add(figure{row, "", zero, value}) }
func (r *report) same(row string, value float64)         { r.add(figure{row, "", same, value}) }

func (r *report) add(f figure) { r.figures = append(r.figures, f) }

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, r.relay+": "+fmt.Sprintf(format, args...))
}

// find returns a figure, nil where the relay has none.
func (r *report) find(row string) *figure {
	i := slices.IndexFunc(r.figures, func(f figure) bool { return f.Row == row })
	if i < 0 {
		return nil
	}
	return &r.figures[i]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// printTable prints a row a figure and a column a relay, with how many times
// better than it the first relay is.
func printTable(w io.Writer, reports []*report) {
	lines := [][]string{header(reports)}
	for _, f := range rows(reports) {
		cells := []string{f.Row, f.Unit}
		for i, r := range reports {
			cells = append(cells, digits(r.find(f.Row)))
			if i > 0 {
				cells = append(cells, ratio(reports[0].find(f.Row), r.find(f.Row)))
			}
		}
		lines = append(lines, cells)
	}
	printAligned(w, lines)
	for _, note := range notes(reports) {
		fmt.Fprintln(w, note)
	}
}

func header(reports []*report) []string {
	cells := []string{"scenario", "unit"}
	for i, r := range reports {
		cells = append(cells, r.relay)
		if i > 0 {
			cells = append(cells, "better")
		}
	}
	return cells
}

// printAligned prints columns: words to the left, numbers to the right.
func printAligned(w io.Writer, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, cells := range lines {
		var line strings.Builder
		for i, cell := range cells {
			width := widths[i]
			if i < 2 {
				width = -width
			}
			fmt.Fprintf(&line, "%*s  ", width, cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// rows returns a figure for each row of the table: what is compared, and what is
// not as it should be.
func rows(reports []*report) (rows []figure) {
	seen := map[string]bool{}
	for _, r := range reports {
		for _, f := range r.figures {
			if !seen[f.Row] && (f.Better == more || f.Better == less || f.Better == zero) {
				seen[f.Row] = true
				rows = append(rows, f)
			}
		}
	}
	return rows
}

// notes returns those of the reports, and where relays have answered otherwise
// than the first.
func notes(reports []*report) (notes []string) {
	for _, r := range reports {
		notes = append(notes, r.notes...)
		for _, f := range r.figures {
			base := reports[0].find(f.Row)
			if f.Better == same && base != nil && base.Value != f.Value {
				notes = append(notes, fmt.Sprintf("%s: %s: %.0f, those of %s %.0f", r.relay, f.Row, f.Value, reports[0].relay, base.Value))
			}
		}
	}
	return notes
}

// digits prints three digits, or all before the point.
func digits(f *figure) string {
	switch {
	case f == nil:
		return "-"
	case math.Abs(f.Value) >= 100 || f.Better == zero:
		return strconv.FormatFloat(f.Value, 'f', 0, 64)
	}
	return strconv.FormatFloat(f.Value, 'g', 3, 64)
}

// ratio says how many times better base is.
func ratio(base, f *figure) string {
	if base == nil || f == nil || f.Better == zero {
		return ""
	}
	x := base.Value / f.Value
	if f.Better == less {
		x = 1 / x
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', 1, 64) + "x"
}

// writeJSON writes everything to a file.
func writeJSON(path string, reports []*report) error {
	type entry struct {
		Relay   string   `json:"relay"`
		Figures []figure `json:"figures"`
		Notes   []string `json:"notes,omitempty"`
	}
	var all []entry
	for _, r := range reports {
		all = append(all, entry{r.relay, r.figures, r.notes})
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
