package planner

import (
	"wok/index"
	"wok/store"
)

// A union merges the lists of a term: a binary heap with the newest posting on
// top. A posting that stands in several of them comes once.
//
// Of each list it keeps, from run to run, the posting it stands on. A list that
// has been found before is looked at again only when its turn comes: it may have
// lost that posting meanwhile, and what it has got above is not asked for. So a
// merge of very many lists is begun once, over as many runs as that takes.
type union struct {
	term  *Term
	begun int // how many lists have been sought; heap is one when all have
	heap  []head

	// Of the run: the lists that it has found, and the memory of their keys.
	run  *run
	open []store.List
	keys []byte
}

// A head is a list and the posting that it stands on.
type head struct {
	posting index.Posting
	list    uint32 // its number in the term
	open    uint32 // its place in open plus one; 0 in a run that has not found it
}

// maxOpen bounds the memory of a run: so many lists, of some 120 bytes with their
// keys, stand open.
const maxOpen = 1 << 14

func (u *union) begin(r *run, _ *watch) { u.run = r }

func (u *union) pause() {
	u.forget()
	u.run, u.open, u.keys = nil, nil, nil
}

func (u *union) Posting() index.Posting { return u.heap[0].posting }

func (u *union) Seek(p index.Posting) (bool, error) {
	if u.begun < u.term.Lists {
		if err := u.build(p); err != nil {
			return false, err
		}
	}
	return u.lower(p)
}

func (u *union) Next() (bool, error) {
	top := &u.heap[0]
	last := top.posting
	ok, err := u.open[top.open-1].Next()
	if err != nil {
		return false, err
	}
	u.settle(ok)
	return u.lower(last.Prev()) // the other lists that have it
}

// build seeks the lists that have not been sought yet and builds the heap.
func (u *union) build(p index.Posting) error {
	if u.heap == nil {
		u.heap = make([]head, 0, min(u.term.Lists, 1024))
	}
	for u.begun < u.term.Lists {
		if err := u.run.seek(); err != nil {
			return err
		}
		h := head{list: uint32(u.begun)}
		l := u.find(&h)
		ok, err := l.Seek(p)
		if err != nil {
			return err
		}
		u.begun++
		if ok {
			h.posting = l.Posting()
			u.heap = append(u.heap, h)
		} else {
			u.drop()
		}
	}
	for i := len(u.heap)/2 - 1; i >= 0; i-- {
		u.sink(i)
	}
	return nil
}

// lower moves down, by the lists whose turn it is, to the largest posting of at
// most p that is there in this run.
func (u *union) lower(p index.Posting) (bool, error) {
	for len(u.heap) > 0 {
		top := &u.heap[0]
		above := p.Less(top.posting)
		if !above && top.open != 0 {
			return true, nil
		}
		to := top.posting
		if above {
			to = p
			if err := u.run.seek(); err != nil {
				return false, err
			}
		}
		l := u.list(top)
		ok, err := l.Seek(to)
		if err != nil {
			return false, err
		}
		u.settle(ok)
	}
	return false, nil
}

// list returns the list of h, found in this run.
func (u *union) list(h *head) *store.List {
	if h.open != 0 {
		return &u.open[h.open-1]
	}
	return u.find(h)
}

// find opens the list of h in this run.
func (u *union) find(h *head) *store.List {
	if len(u.open) == maxOpen {
		u.forget()
	}
	at := len(u.keys)
	u.keys = u.term.appendKey(u.keys, int(h.list)) // where this grows, earlier keys keep the old bytes
	u.open = append(u.open, u.run.tx.List(u.term.def.ID, u.keys[at:len(u.keys):len(u.keys)]))
	h.open = uint32(len(u.open))
	return &u.open[h.open-1]
}

// drop closes the list that was opened last.
func (u *union) drop() {
	last := len(u.open) - 1
	u.keys = u.keys[:len(u.keys)-len(u.open[last].Key())]
	u.open = u.open[:last]
}

// forget closes all lists. Those that still have their turn are found again.
func (u *union) forget() {
	for i := range u.heap {
		u.heap[i].open = 0
	}
	u.open, u.keys = u.open[:0], u.keys[:0]
}

// settle puts the top where its list stands now, or takes it out.
func (u *union) settle(ok bool) {
	if top := &u.heap[0]; ok {
		top.posting = u.open[top.open-1].Posting()
	} else {
		n := len(u.heap) - 1
		u.heap[0] = u.heap[n]
		u.heap = u.heap[:n]
	}
	u.sink(0)
}

// sink moves head i down to where it belongs.
func (u *union) sink(i int) {
	h := u.heap
	for {
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
