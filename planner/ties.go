package planner

import (
	"bytes"
	"cmp"
	"slices"

	"wok/index"
	"wok/packed"
)

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
		return bytes.Compare(h.id[:], g.id[:])
	}
	return cmp.Compare(g.posting.Hi, h.posting.Hi)
}

// maxTies is how many hits of one second and id prefix are held. Nobody has more
// by chance, but events can be made so, by trying, in any number. Then those with
// the lowest ids are held, and when they have been sent the postings are walked
// again for the next ones.
const maxTies = 256

// Ties are the hits that come next: those of one second and id prefix, in the
// order of their ids once complete. A posting tells only two bytes of the id, so
// where several events share them the ids decide.
type ties struct {
	hits     []hit
	room     [1]hit // what hits mostly takes
	complete bool   // no more hits belong to them

	// Where there are more than are held:
	from  index.Posting // the first posting of a hit
	cut   bool          // hits with higher ids have been let go
	again bool          // ids up to after have been sent
	after [32]byte
}

// has reports whether p belongs to the ties that are held.
func (t *ties) has(p index.Posting) bool { return t.hits[0].posting.SameTie(p) }

// add takes one more hit.
func (t *ties) add(h hit) {
	t.again = t.again && t.from.SameTie(h.posting)
	if t.again && bytes.Compare(h.id[:], t.after[:]) <= 0 {
		return
	}
	if len(t.hits) == 0 {
		t.hits, t.from = t.room[:0], h.posting
	}
	t.hits = append(t.hits, h)
	if len(t.hits) >= 2*maxTies {
		t.trim()
	}
}

// finish notes that all hits were added.
func (t *ties) finish() {
	t.complete = len(t.hits) > 0
	if len(t.hits) > 1 {
		t.trim()
	}
}

// trim sorts the hits and lets those go that are too many.
func (t *ties) trim() {
	slices.SortFunc(t.hits, func(a, b hit) int { return a.compare(&b) })
	if len(t.hits) > maxTies {
		clear(t.hits[maxTies:])
		t.hits, t.cut = t.hits[:maxTies], true
	}
}

// pop removes the first hit, and reports whether the postings from t.from on are
// to be walked again.
func (t *ties) pop() (again bool) {
	last := t.hits[0].id
	if t.hits = t.hits[1:]; len(t.hits) > 0 {
		return false
	}
	t.hits, t.complete = nil, false
	t.again, t.cut, t.after = t.cut, false, last
	return t.again
}

// pause lets go of the events.
func (t *ties) pause() {
	for i := range t.hits {
		t.hits[i].view = nil
	}
}
