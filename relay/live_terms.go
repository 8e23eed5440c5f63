package relay

import (
	"encoding/binary"
	"hash/maphash"
	"sync"

	"wok/nostr"
	"wok/packed"
)

// A term is what a filter may ask for in one of its conditions, and an event
// may have: an id, an author, an author with a kind, a tag, a kind, or anything
// at all. It is a hash, since whatever a term leads to is confirmed by the
// filter itself; the seeds keep strangers from making terms collide.
type term = uint64

// A sort says what is in a term. Of two sorts that promise as few events the
// first is taken.
type sort uint8

const (
	sortID sort = iota
	sortAuthorKind
	sortAuthor
	sortTag
	sortKind
	sortAll
	sorts
)

// seeds make terms. They are not changed.
type seeds [sorts]maphash.Seed

func newSeeds() *seeds {
	s := new(seeds)
	for i := range s {
		s[i] = maphash.MakeSeed()
	}
	return s
}

func (s *seeds) of(t sort, value []byte) term { return maphash.Bytes(s[t], value) }

func (s *seeds) kind(kind uint16) term { return maphash.Comparable(s[sortKind], kind) }

func (s *seeds) all() term { return maphash.Comparable(s[sortAll], struct{}{}) }

func (s *seeds) authorKind(author []byte, kind uint16) term {
	var value [34]byte
	binary.BigEndian.PutUint16(value[copy(value[:], author):], kind)
	return maphash.Bytes(s[sortAuthorKind], value[:])
}

// ofEvent appends the terms that v has.
func (s *seeds) ofEvent(dst []term, v packed.View) []term {
	dst = append(dst, s.of(sortID, v.ID()), s.authorKind(v.Pubkey(), v.Kind()), s.of(sortAuthor, v.Pubkey()), s.kind(v.Kind()), s.all())
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		dst = append(dst, s.of(sortTag, t))
	}
	return dst
}

// A condition is one of those of a filter: a sort of term, and which tag.
type condition struct {
	sort sort
	tag  uint8 // in Filter.Tags
}

// ofFilter appends the terms of which an event must have one to meet the
// condition of f.
func (s *seeds) ofFilter(dst []term, f *nostr.Filter, c condition) []term {
	switch c.sort {
	case sortID:
		for i := range f.IDs {
			dst = append(dst, s.of(sortID, f.IDs[i][:]))
		}
	case sortAuthorKind:
		for i := range f.Authors {
			for _, kind := range f.Kinds {
				dst = append(dst, s.authorKind(f.Authors[i][:], kind))
			}
		}
	case sortAuthor:
		for i := range f.Authors {
			dst = append(dst, s.of(sortAuthor, f.Authors[i][:]))
		}
	case sortTag:
		for _, t := range f.Tags[c.tag].Values {
			dst = append(dst, s.of(sortTag, t))
		}
	case sortKind:
		for _, kind := range f.Kinds {
			dst = append(dst, s.kind(kind))
		}
	case sortAll:
		dst = append(dst, s.all())
	}
	return dst
}

// maxPairs bounds how many pairs of author and kind stand for the authors of a
// filter, unless it has one kind: each takes a place.
const maxPairs = 16

// conditions calls fn with every condition of f that it may stand under.
func conditions(f *nostr.Filter, fn func(condition)) {
	if f.IDs != nil { // nothing is narrower
		fn(condition{sort: sortID})
		return
	}
	if f.Authors != nil && f.Kinds != nil && (len(f.Kinds) == 1 || len(f.Authors)*len(f.Kinds) <= maxPairs) {
		fn(condition{sort: sortAuthorKind})
	}
	if f.Authors != nil {
		fn(condition{sort: sortAuthor})
	}
	for i := range f.Tags {
		fn(condition{sort: sortTag, tag: uint8(i)})
	}
	if f.Kinds != nil {
		fn(condition{sort: sortKind})
	} else if f.Authors == nil && len(f.Tags) == 0 {
		fn(condition{sort: sortAll})
	}
}

const (
	// rateSlots is how many counters all terms share, twice: 64 KiB in all.
	rateSlots = 1 << 13
	// rateWindow is over about how many events is counted.
	rateWindow = 1 << 12
)

// guesses are how many events of a window have a term of a sort, as long as
// nothing is known: without them a kind would seem as rare as an author.
var guesses = [sorts]float64{sortTag: 4, sortKind: rateWindow, sortAll: rateWindow}

// rates estimates how many of the latest events have a term. A term has two
// counters, each of which it shares with other terms, and the lower one counts.
// What others add to a counter on average is taken off, so that many rare terms
// together do not seem frequent.
type rates struct {
	mu     sync.Mutex
	counts [2][rateSlots]uint32
	total  uint64 // of the counts in one half
	events int    // since all counts were halved
	known  bool   // a window has been counted
}

// slots returns the numbers of the counters of a term.
func slots(t term) (a, b uint32) { return uint32(t) % rateSlots, uint32(t>>32) % rateSlots }

// note counts the terms of an event.
func (r *rates) note(terms []term) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range terms {
		a, b := slots(t)
		r.counts[0][a]++
		r.counts[1][b]++
	}
	r.total += uint64(len(terms))
	if r.events++; r.events == rateWindow {
		r.halve()
	}
}

func (r *rates) halve() {
	r.total = 0
	for i := range rateSlots {
		r.counts[0][i] /= 2
		r.counts[1][i] /= 2
		r.total += uint64(r.counts[0][i])
	}
	r.events, r.known = 0, true
}

// expect returns how many events of a window are expected to have one of some
// terms of a sort. Each term counts for one more, which is the price of its
// place in the index.
func (r *rates) expect(t sort, terms []term) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := float64(len(terms))
	sum := -n * float64(r.total) / rateSlots
	for _, t := range terms {
		a, b := slots(t)
		sum += float64(min(r.counts[0][a], r.counts[1][b]))
	}
	sum = max(0, sum)
	if !r.known {
		sum += n * guesses[t] * float64(rateWindow-r.events) / rateWindow
	}
	return sum + n
}
