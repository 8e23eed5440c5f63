package planner

import (
	"slices"

	"wok/index"
	"wok/store"
)

// A source yields postings from newest to oldest, each once. It is used in runs:
// each is begun, and then the source is sought, at no posting above the one it
// has reached.
//
// Seek and Next may end with [errPause] or [errThink] in place of a posting. Then
// the source is to be sought again, in this run or another; what it has done on
// the way is not lost.
type source interface {
	// begin gives the source a run. What it costs is watched by w.
	begin(r *run, w *watch)
	// pause lets go of the run, and of all memory but some bytes a list.
	pause()
	// Seek moves down to the largest posting of at most p and reports whether
	// there is one. It never moves up.
	Seek(p index.Posting) (bool, error)
	// Next moves down by one posting and reports whether there is one. It
	// follows a Seek that returned true.
	Next() (bool, error)
	// Posting returns the posting the source stands on, after Seek or Next
	// returned true.
	Posting() index.Posting
}

// A single source is the one list of a term.
type single struct {
	store.List
	term *Term
}

func (s *single) begin(r *run, _ *watch) { s.List = r.tx.List(s.term.def.ID, s.term.appendKey(nil, 0)) }

func (s *single) pause() { s.List = store.List{} }

// A fixed source yields postings that are known beforehand.
type fixed struct {
	postings []index.Posting // newest first, distinct
	at       int
}

// newestFirst sorts postings as a fixed source has them.
func newestFirst(postings []index.Posting) []index.Posting {
	slices.SortFunc(postings, func(a, b index.Posting) int { return b.Compare(a) })
	return slices.Compact(postings)
}

func (f *fixed) begin(*run, *watch) {}

func (f *fixed) pause() {}

func (f *fixed) Seek(p index.Posting) (bool, error) {
	n, _ := slices.BinarySearchFunc(f.postings[f.at:], p, func(q, p index.Posting) int { return p.Compare(q) })
	f.at += n
	return f.at < len(f.postings), nil
}

func (f *fixed) Next() (bool, error) {
	f.at++
	return f.at < len(f.postings), nil
}

func (f *fixed) Posting() index.Posting { return f.postings[f.at] }

// Lookups are ids that are looked up when they are asked for: so many that it
// takes more than a moment.
type lookups struct {
	fixed
	ids [][32]byte // that are still to be looked up
	run *run
}

func (l *lookups) begin(r *run, _ *watch) { l.run = r }

func (l *lookups) pause() { l.run = nil }

func (l *lookups) Seek(p index.Posting) (bool, error) {
	if len(l.ids) > 0 {
		if err := l.lookUp(); err != nil {
			return false, err
		}
	}
	return l.fixed.Seek(p)
}

func (l *lookups) lookUp() error {
	for len(l.ids) > 0 {
		if err := l.run.seek(); err != nil {
			return err
		}
		p, ok, err := l.run.tx.ByID(l.ids[0][:])
		if err != nil {
			return err
		}
		if ok {
			l.postings = append(l.postings, p)
		}
		l.ids = l.ids[1:]
	}
	l.postings = newestFirst(l.postings)
	return nil
}

// A join yields the postings that stand in all of its sources, by leapfrog:
// each source in turn seeks the posting that the one before it stands on, until
// all stand on the same. No event is read, since all postings of an event are
// equal, and whatever one source skips the others skip with it.
//
// Sources that share nothing may be walked to their ends between two postings,
// so every leap asks for leave. Where leave is denied the join returns that
// error and is to be sought again at reached.
type join struct {
	sources []source      // the shortest first
	reached index.Posting // no posting above it is left in the join

	run   *run
	watch *watch
}

func (j *join) begin(r *run, w *watch) {
	j.run, j.watch = r, w
	for _, s := range j.sources {
		s.begin(r, w)
	}
}

func (j *join) pause() {
	j.run, j.watch = nil, nil
	for _, s := range j.sources {
		s.pause()
	}
}

// leave lets the join make one more leap: within the budget, and until it is
// time to think about its price again.
func (j *join) leave() error {
	if j.watch.tick() {
		return errThink
	}
	return j.run.spend()
}

func (j *join) Posting() index.Posting { return j.sources[0].Posting() }

func (j *join) Seek(p index.Posting) (bool, error) {
	for i, agreed := 0, 0; agreed < len(j.sources); i = (i + 1) % len(j.sources) {
		j.reached = p
		if err := j.leave(); err != nil {
			return false, err
		}
		if ok, err := j.sources[i].Seek(p); err != nil || !ok {
			return false, err
		}
		if at := j.sources[i].Posting(); at == p {
			agreed++
		} else {
			p, agreed = at, 1
		}
	}
	return true, nil
}

func (j *join) Next() (bool, error) {
	if ok, err := j.sources[0].Next(); err != nil || !ok {
		return false, err
	}
	return j.Seek(j.sources[0].Posting())
}
