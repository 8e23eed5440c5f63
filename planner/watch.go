package planner

import (
	"errors"
)

// errTooDear says that a join has cost so much that its scan should think again.
var errTooDear = errors.New("too dear")

// A watch compares what a path has cost with what it was priced at.
type watch struct {
	alarm float64 // nanoseconds of priced work at which to think again
	spent Work    // by the path so far
	hits  int     // events found by the path so far
	left  float64 // share of the time that was left when the path was taken; 0 is all
	ticks int     // leaps since the price was last looked at
}

const (
	// overrun is by how much a path may exceed its price before others are
	// considered.
	overrun = 2
	// minAlarm is what a path may cost in any case: below it, thinking would
	// cost more than it saves.
	minAlarm = 50e3
	// leapsEvery is how many leaps a join makes before its price is looked at.
	leapsEvery = 256
)

func newWatch(nanos float64) watch { return watch{alarm: max(minAlarm, overrun*nanos)} }

// due reports whether the path has exceeded its price: spent before, and now.
func (w *watch) due(now Work) bool {
	w.ticks = 0
	now.add(w.spent)
	return now.nanos() > w.alarm
}

// extend puts the alarm off after it was found that the path is still the best.
func (w *watch) extend() { w.alarm = max(w.alarm, overrun*w.spent.nanos()) }

// tick counts a leap and reports whether the price is to be looked at.
func (w *watch) tick() bool {
	w.ticks++
	return w.ticks > leapsEvery
}

// A meter reads the work of a run, so that it can be put down to one scan.
type meter struct {
	start Work
	tx    Work // of the transaction, at start
}

func newMeter(r *run) meter {
	return meter{start: r.work, tx: txWork(r)}
}

// txWork returns what the run's transaction has counted. A read of an event is
// a descent too; it is counted as a read.
func txWork(r *run) Work {
	w := r.tx.Work()
	return Work{Pages: w.Pages, Seeks: w.Seeks}
}

// since returns the work since the meter was made or settled.
func (m *meter) since(r *run) Work {
	t := txWork(r)
	w := Work{
		Postings: r.work.Postings - m.start.Postings,
		Reads:    r.work.Reads - m.start.Reads,
		Pages:    t.Pages - m.tx.Pages,
	}
	w.Seeks = t.Seeks - m.tx.Seeks - w.Reads
	return w
}

// settle puts the work since then down to a watch and starts anew.
func (m *meter) settle(r *run, w *watch) {
	w.spent.add(m.since(r))
	*m = newMeter(r)
}
