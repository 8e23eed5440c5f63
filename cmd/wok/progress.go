package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	barEvery  = 100 * time.Millisecond // how often a bar is drawn
	lineEvery = 10 * time.Second       // how often a line is written where there is no terminal
)

// A meter shows how far long work is: as a bar on a terminal, elsewhere as a
// line now and then. It is used by one goroutine at a time.
type meter struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil where w is no terminal
	unit  string                   // of what is counted beside the progress
	total int64                    // 0 where it is not known

	began, shown time.Time
}

// newMeter returns a meter of work whose end is at total, 0 for unknown: of
// bytes, or else of the unit itself.
func newMeter(w io.Writer, unit string, total int64, bytes bool) *meter {
	m := &meter{w: w, unit: unit, total: total, began: time.Now()}
	m.shown = m.began
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if total == 0 {
			total = -1 // a bar without end
		}
		m.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionShowBytes(bytes),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
		)
	}
	return m
}

// at shows that the work has come to done of the total and to n units. It is
// cheap enough to be called for each of them.
func (m *meter) at(done int64, n int) {
	if n%256 == 0 { // the clock costs more than the rest
		m.now(done, n)
	}
}

// now is at for those who call it seldom.
func (m *meter) now(done int64, n int) {
	now := time.Now()
	every := lineEvery
	if m.bar != nil {
		every = barEvery
	}
	if now.Sub(m.shown) < every {
		return
	}
	m.shown = now
	rate := float64(n) / now.Sub(m.began).Seconds()
	if m.bar != nil {
		// What cannot be drawn is no reason to stop.
		m.bar.Describe(fmt.Sprintf("%d %s, %.0f/s", n, m.unit, rate))
		_ = m.bar.Set64(done)
		return
	}
	fmt.Fprintf(m.w, "%d %s%s, %.0f/s\n", n, m.unit, m.share(done), rate)
}

// share says which part of the total is done, nothing where that is not known.
func (m *meter) share(done int64) string {
	if m.total <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%d%%)", min(100, done*100/m.total))
}

// lateMeter is for work that says its total only with the first progress. It
// returns what is told of that, and what ends it.
func lateMeter(w io.Writer, unit string) (progress func(done, total uint64), end func()) {
	var m *meter
	progress = func(done, total uint64) {
		if m == nil {
			m = newMeter(w, unit, int64(total), false)
		}
		m.now(int64(done), int(done))
	}
	return progress, func() {
		if m != nil {
			m.clear()
		}
	}
}

// clear takes the bar off the terminal, for a line to be written; the next at
// brings it back.
func (m *meter) clear() {
	if m.bar != nil {
		_ = m.bar.Clear()
	}
}
