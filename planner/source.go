package planner

import (
	"cmp"
	"slices"

	"wok/index"
	"wok/packed"
)

// A source yields postings from newest to oldest, each once. A [store.List] is
// one; the others are made of it.
type source interface {
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

// A union merges sources: a binary heap with the newest posting on top. A
// posting that stands in several of them comes once.
type union struct {
	heap []head
	rest []source // not begun yet
}

// A head is a source and the posting it stands on.
type head struct {
	posting index.Posting
	source  source
}

// newUnion returns the one source or the merge of several.
func newUnion(sources []source) source {
	if len(sources) == 1 {
		return sources[0]
	}
	return &union{heap: make([]head, 0, len(sources)), rest: sources}
}

func (u *union) Posting() index.Posting { return u.heap[0].posting }

func (u *union) Seek(p index.Posting) (bool, error) {
	if u.rest != nil {
		return u.begin(p)
	}
	for len(u.heap) > 0 && p.Less(u.heap[0].posting) {
		ok, err := u.heap[0].source.Seek(p)
		if err != nil {
			return false, err
		}
		u.replaceTop(ok)
	}
	return len(u.heap) > 0, nil
}

// begin seeks all sources and builds the heap.
func (u *union) begin(p index.Posting) (bool, error) {
	for _, s := range u.rest {
		ok, err := s.Seek(p)
		if err != nil {
			return false, err
		}
		if ok {
			u.heap = append(u.heap, head{s.Posting(), s})
		}
	}
	u.rest = nil
	slices.SortFunc(u.heap, func(a, b head) int { return b.posting.Compare(a.posting) }) // a sorted slice is a heap
	return len(u.heap) > 0, nil
}

func (u *union) Next() (bool, error) {
	last := u.heap[0].posting
	for len(u.heap) > 0 && u.heap[0].posting == last {
		ok, err := u.heap[0].source.Next()
		if err != nil {
			return false, err
		}
		u.replaceTop(ok)
	}
	return len(u.heap) > 0, nil
}

// replaceTop puts the top where its source stands now, or takes it out.
func (u *union) replaceTop(ok bool) {
	if ok {
		u.heap[0].posting = u.heap[0].source.Posting()
	} else {
		n := len(u.heap) - 1
		u.heap[0] = u.heap[n]
		u.heap[n] = head{}
		u.heap = u.heap[:n]
	}
	u.sink()
}

// sink moves the top down to where it belongs.
func (u *union) sink() {
	h := u.heap
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c].posting.Less(h[c+1].posting) {
			c++
		}
		if !h[i].posting.Less(h[c].posting) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
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
	sources []source // the shortest first
	leave   func() error
	reached index.Posting // no posting above it is left in the join
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

// A hit is a posting that matches, and where it stands in the answer.
type hit struct {
	posting index.Posting
	id      [32]byte
	view    packed.View // the event, in the run that has read it; else nil
}

// compare orders hits as they are sent: newest first, ties by lowest id. Those
// whose postings tell time and tie apart need no look at the ids.
func (h *hit) compare(g *hit) int {
	if h.posting.SameTie(g.posting) {
		return slices.Compare(h.id[:], g.id[:])
	}
	return cmp.Compare(g.posting.Hi, h.posting.Hi)
}
