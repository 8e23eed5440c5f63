package ingest

import (
	"encoding/binary"
	"sync"

	"wok/nostr"
)

const (
	verdictSets = 4096
	verdictWays = 4 // of a set, whose oldest verdict makes room for a new one
)

// verdicts remember of the events verified last whether their signatures were
// right, so that the same event costs no second verification: a forged one that
// is sent again and again, or one that many send and nobody stores.
//
// A verdict holds for an id and a signature together. The id is the hash of the
// event, its author included, and was computed and not believed; so where both
// are the same bytes, all is. An id alone says nothing: the signature could be
// any.
//
// It is a table of fixed size, 1.7 MB, whose pages are touched when used. Who
// picks ids to fall into one set makes that set forget, which costs what there
// is without a table.
type verdicts [verdictSets]verdictSet

type verdictSet struct {
	mu   sync.Mutex
	next uint8 // the place written next
	of   [verdictWays]verdict
}

type verdict struct {
	id    [32]byte
	sig   [64]byte
	right bool
	known bool // the rest means something
}

// verify returns what ev.Verify does, and whether it was remembered.
func (v *verdicts) verify(ev *nostr.Event) (err error, remembered bool) {
	want := verdict{id: [32]byte(ev.Packed.ID()), sig: ev.Sig(), known: true}
	set := &v[binary.LittleEndian.Uint64(want.id[:])%verdictSets]
	right, known := set.find(&want)
	if !known {
		right = ev.Verify() == nil
		want.right = right
		set.add(&want)
	}
	if !right {
		return nostr.BadSignature, known
	}
	return nil, known
}

// find returns the verdict on the id and the signature of want, if it is known.
func (s *verdictSet) find(want *verdict) (right, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.of {
		if e := &s.of[i]; e.known && e.id == want.id && e.sig == want.sig {
			return e.right, true
		}
	}
	return false, false
}

// add notes a verdict. Two workers that checked one event at once may note it
// twice, which costs a place for a while.
func (s *verdictSet) add(e *verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[s.next] = *e
	s.next = (s.next + 1) % verdictWays
}
