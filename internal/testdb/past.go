package testdb

import "math/rand/v2"

// A ref is what later events need to know of an earlier one.
type ref struct {
	id, pubkey string
	author     int // number of the author
	createdAt  int64
	kind       int
	address    string // "" where the kind has none
	root       *ref   // the thread it answers in; nil for the first of a thread
	line       []byte // its JSON, kept for notes only
}

// thread returns the ref that begins the thread of r.
func (r *ref) thread() *ref {
	if r.root != nil {
		return r.root
	}
	return r
}

const (
	pastLen = 4096 // events of each sort that can be answered
	hotLen  = 256  // notes that everybody answers
	recent  = 256  // where most other answers go
)

// past remembers events that others can point at. Its size is bounded.
type past struct {
	notes     ring // kinds that start or carry threads
	addresses ring // replaceable and addressable events
	hot       []*ref
	hotRank   chooser
}

func newPast() *past { return &past{hotRank: newZipf(hotLen, 1)} }

// addNote remembers a note; one in a hundred turns hot, in the place of an
// older one. The first places draw so many answers that a note which stays
// there for long collects thousands.
func (p *past) addNote(rng *rand.Rand, r *ref) {
	p.notes.add(r)
	switch {
	case len(p.hot) < hotLen:
		p.hot = append(p.hot, r)
	case oneIn(rng, 100):
		p.hot[rng.IntN(hotLen)] = r
	}
}

// any reports whether there is a note.
func (p *past) any() bool { return len(p.notes.refs) > 0 }

// note picks a note to answer, or nil while there is none.
func (p *past) note(rng *rand.Rand) *ref {
	if len(p.hot) == hotLen && oneIn(rng, 2) {
		return p.hot[p.hotRank.pick(rng)]
	}
	if oneIn(rng, 4) {
		return p.notes.pick(rng, pastLen)
	}
	return p.notes.pick(rng, recent)
}

// A ring keeps the last pastLen refs.
type ring struct {
	refs []*ref
	next int // where the oldest stands, once full
}

func (r *ring) add(x *ref) {
	if len(r.refs) < pastLen {
		r.refs = append(r.refs, x)
		return
	}
	r.refs[r.next] = x
	r.next = (r.next + 1) % pastLen
}

// pick returns one of the newest n, or nil of an empty ring.
func (r *ring) pick(rng *rand.Rand, n int) *ref {
	if len(r.refs) == 0 {
		return nil
	}
	age := 1 + rng.IntN(min(n, len(r.refs)))
	return r.refs[(r.next+len(r.refs)-age)%len(r.refs)]
}
