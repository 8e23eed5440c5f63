package planner

import "errors"

// errThink says that a scan should look at what its path has cost.
var errThink = errors.New("think")

// A watch compares what a path has cost with what it was priced at.
type watch struct {
	alarm float64 // nanoseconds of priced work at which to think again
	spent Work    // by the path so far
	hits  int     // events found by the path so far
	left  float64 // share of the time that was left when the path was taken
	ticks int     // steps, or leaps, since the cost was last looked at
}

const (
	// overrun is by how much a path may exceed its price before others are
	// considered.
	overrun = 2
	// minAlarm is what a path may cost in any case, in nanoseconds: below it,
	// thinking would cost more than it saves.
	minAlarm = 50e3
	// ticksEvery is how many steps are made between two looks at the cost.
	ticksEvery = 128
)

// newWatch returns the watch over a path of that price, taken when that share of
// the time was left.
func newWatch(nanos, left float64) watch {
	return watch{alarm: max(minAlarm, overrun*nanos), left: left}
}

// tick counts a step and reports whether the cost is to be looked at.
func (w *watch) tick() bool {
	w.ticks++
	if w.ticks < ticksEvery {
		return false
	}
	w.ticks = 0
	return true
}

// alarmed reports whether the path has exceeded its price.
func (w *watch) alarmed() bool { return w.spent.nanos() > w.alarm }

// extend puts the alarm off after it was found that the path is still the best.
func (w *watch) extend() { w.alarm = max(w.alarm, overrun*w.spent.nanos()) }

// A meter reads the work of a run, so that it can be put down to one scan.
type meter struct {
	run   *run
	since Work
}

func newMeter(r *run) meter { return meter{r, r.done()} }

// settle puts the work since the last time down to a watch.
func (m *meter) settle(w *watch) {
	now := m.run.done()
	w.spent.add(now.sub(m.since))
	m.since = now
}
