package ingest

import (
	"cmp"
	"slices"
)

// An answerer tells submitters what has become of their events, each once for
// all that were decided together. It is for one goroutine.
type answerer struct {
	p       *Pipeline
	results []Result
}

// answer answers jobs, which have ended, and frees their slots. It changes their
// order.
func (a *answerer) answer(jobs []*job) {
	slices.SortFunc(jobs, func(x, y *job) int {
		return cmp.Or(cmp.Compare(x.from.num, y.from.num), cmp.Compare(x.seq, y.seq))
	})
	for len(jobs) > 0 {
		n := 1
		for n < len(jobs) && jobs[n].from == jobs[0].from {
			n++
		}
		a.tell(jobs[:n])
		jobs = jobs[n:]
	}
}

// tell answers jobs of one submitter.
func (a *answerer) tell(jobs []*job) {
	for _, j := range jobs {
		a.p.stats.outcomes[j.result.Outcome].Add(1)
		j.result.Ref = j.Ref
		a.results = append(a.results, j.result)
	}
	defer func() {
		clear(a.results)
		a.results = a.results[:0]
		a.p.release(jobs...)
	}()
	defer func() {
		if v := recover(); v != nil {
			a.p.caught(v)
		}
	}()
	jobs[0].from.done(a.results)
}
