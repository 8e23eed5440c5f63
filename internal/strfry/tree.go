package strfry

import (
	"errors"
	"fmt"
	"math"
)

// A tree is a table: pages whose leaves hold its rows.
type tree struct {
	depth   uint16
	entries uint64
	root    uint64
}

// treeSize is the size of a tree in the file, in bytes:
//
//	 0     4       6       8          16       24         32       40
//	+-----+-------+-------+----------+--------+----------+---------+------+
//	| pad | flags | depth | branches | leaves | overflow | entries | root |
//	+-----+-------+-------+----------+--------+----------+---------+------+
const treeSize = 48

// noPage is the root of an empty tree.
const noPage = math.MaxUint64

// maxDepth bounds the depth of a tree. Ten levels of the smallest pages hold
// more than a disk.
const maxDepth = 16

func readTree(b []byte) tree {
	return tree{depth: le.Uint16(b[6:]), entries: le.Uint64(b[32:]), root: le.Uint64(b[40:])}
}

// A span is a span of integer keys, both ends inclusive.
type span struct{ first, last uint64 }

var allKeys = span{0, math.MaxUint64}

// A walk goes through the leaves of a tree, in order.
type walk struct {
	s        *snapshot
	integers bool   // the keys are integers
	from     uint64 // the least of interest then
	// leaf is called with each leaf and the keys that it may have; an error
	// ends the walk.
	leaf func(p page, keys span) error
	// lost is called for a page that cannot be read, with the keys that it or
	// the pages below it may have.
	lost func(keys span, err error)
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// tree walks all of t.
func (w *walk) tree(t tree) error {
	switch {
	case t.root == noPage:
		return nil
	case t.depth == 0 || t.depth > maxDepth:
		w.lost(allKeys, fmt.Errorf("%w: a table of depth %d", ErrDamaged, t.depth))
		return nil
	}
	return w.below(t.root, int(t.depth), allKeys)
}

// below walks the page and what is below it, depth levels in all.
func (w *walk) below(number uint64, depth int, keys span) error {
	kind := uint16(pageBranch)
	if depth == 1 {
		kind = pageLeaf
	}
	p, err := w.s.page(number, kind)
	if err != nil {
		w.lost(keys, err)
		return nil
	}
	if depth == 1 {
		return w.leaf(p, keys)
	}
	starts := w.starts(p, keys)
	for i := range p.nodes() {
		in := span{starts[i], keys.last}
		if next, ok := above(starts[i:]); ok {
			in.last = next - 1
		}
		if in.last < w.from {
			continue
		}
		n, err := p.node(i)
		if err != nil {
			w.lost(in, fmt.Errorf("page %d: %w", number, err))
			continue
		}
		if err := w.below(n.child, depth-1, in); err != nil {
			return err
		}
	}
	return nil
}

// above returns the first that is larger than the first of all.
func above(starts []uint64) (uint64, bool) {
	for _, s := range starts {
		if s > starts[0] {
			return s, true
		}
	}
	return 0, false
}

// starts returns where the keys of each child of a branch begin. Keys on the
// page that are out of order are damaged: the child shares the keys of the one
// before it, and the children after it keep theirs.
func (w *walk) starts(p page, keys span) []uint64 {
	starts := make([]uint64, p.nodes())
	last := keys.first
	for i := range starts {
		if k, ok := w.start(p, i); ok && i > 0 && k > last && k <= keys.last && w.followed(p, i, k) {
			last = k
		}
		starts[i] = last
	}
	return starts
}

// start returns the key of a child; that of the first is never looked at.
func (w *walk) start(p page, i int) (uint64, bool) {
	if !w.integers {
		return 0, false
	}
	n, err := p.node(i)
	if err != nil {
		return 0, false
	}
	k, err := n.integer()
	return k, err == nil
}

// followed reports whether one of the next two children begins after k, or there
// is no next one: else it is k that is wrong, and not they.
func (w *walk) followed(p page, i int, k uint64) bool {
	if i+1 >= p.nodes() {
		return true
	}
	for j := i + 1; j < min(i+3, p.nodes()); j++ {
		if next, ok := w.start(p, j); ok && next > k {
			return true
		}
	}
	return false
}
