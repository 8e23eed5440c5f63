package lmdbx

import (
	"errors"
	"fmt"
)

// Verify looks at every page of every tree, LMDB's own among them, and marks
// those that cannot be right: in themselves, in the tree, where a page belongs
// to two trees, or to one and the free ones; see Broken. It returns how many
// pages belong to nothing, which is a loss of space and no damage. Progress,
// unless nil, is told how many pages it has seen; an error of it ends the walk.
func (p *File) Verify(progress func(done, all uint64) error) (lost uint64, err error) {
	v := verifier{File: p, progress: progress}
	trees := []*tree{&p.meta.root}
	for i := range p.tabs {
		trees = append(trees, &p.tabs[i])
	}
	for _, t := range append(trees, &p.free) {
		if err := v.tree(t); err != nil {
			return 0, err
		}
	}
	if p.doubtful { // what is free here may not be
		return 0, nil
	}
	if err := v.freePages(); err != nil {
		return 0, err
	}
	for no := uint64(metaPages); no < p.count; no++ {
		if !p.seen.has(no) {
			lost++
		}
	}
	return lost, nil
}

// A verifier is one Verify under way.
type verifier struct {
	*File
	progress func(done, all uint64) error
	done     uint64
	counted  tree // pages and entries of the tree in hand, its long lists among them
}

// tree walks a tree and compares what it has with what it counts.
func (v *verifier) tree(t *tree) error {
	if t.root == noPage || t.depth == 0 {
		return nil
	}
	outer, broken := v.counted, len(v.order)+len(v.notes)
	v.counted = tree{}
	if err := v.down(t, t.root, t.depth, nil, nil); err != nil {
		return err
	}
	got := v.counted
	v.counted = outer
	if len(v.order)+len(v.notes) == broken && (got.entries != t.entries || got.branch != t.branch || got.leaf != t.leaf || got.overflow != t.overflow) {
		v.notes = append(v.notes, Broken{t.root, t.name, fmt.Sprintf(
			"below it are %d values on %d, %d and %d pages, and it counts %d on %d, %d and %d",
			got.entries, got.branch, got.leaf, got.overflow, t.entries, t.branch, t.leaf, t.overflow)})
	}
	return nil
}

// down walks a page whose keys are to lie from low on and below high.
func (v *verifier) down(t *tree, no uint64, depth int, low, high []byte) error {
	b, err := v.page(t, no)
	if err != nil {
		return nil
	}
	if err := v.take(t, no, 1); err != nil {
		return ignoreBroken(err)
	}
	if err := v.fits(t, b, depth, low, high); err != nil {
		v.mark(t, no, err)
		return nil
	}
	if depth == 1 {
		v.counted.leaf++
		return v.leaf(t, b)
	}
	v.counted.branch++
	for i := range b.len() {
		l, h := low, high
		if i > 0 {
			l = b.key(i)
		}
		if i+1 < b.len() {
			h = b.key(i + 1)
		}
		if err := v.down(t, b.node(i).child(), depth-1, l, h); err != nil {
			return err
		}
	}
	return nil
}

// fits returns why a page cannot stand where it stands.
func (v *verifier) fits(t *tree, b page, depth int, low, high []byte) error {
	first := 0
	if b.branch() {
		first = 1
	}
	switch {
	case b.branch() != (depth > 1):
		return fmt.Errorf("it stands %d levels above the leaves", depth-1)
	case b.branch() && b.len() < 2 && t.table != freeTree, b.len() == 0:
		return fmt.Errorf("it has %d keys", b.len())
	case b.len() > first && low != nil && t.compare(b.key(first), low) < 0,
		b.len() > first && high != nil && t.compare(b.key(b.len()-1), high) >= 0:
		return errors.New("it has keys that belong on another page")
	}
	return nil
}

// take notes that n pages belong to a tree.
func (v *verifier) take(t *tree, no uint64, n uint64) error {
	for i := range n {
		if !v.seen.add(no + i) {
			return v.mark(t, no+i, errors.New("it belongs to something else as well"))
		}
	}
	v.done += n
	if v.progress != nil && v.done%256 < n {
		return v.progress(v.done, v.count)
	}
	return nil
}

// leaf looks at what the nodes of a leaf point to.
func (v *verifier) leaf(t *tree, b page) error {
	if b.flags()&flagLeaf2 != 0 {
		v.counted.entries += uint64(b.len())
		return nil
	}
	for i := range b.len() {
		n := b.node(i)
		switch f := n.flags(); {
		case f&nodeDupData != 0 && f&nodeSubData != 0:
			l := t.list(n.data())
			if err := v.tree(l); err != nil {
				return err
			}
			v.counted.entries += l.entries
		case f&nodeDupData != 0:
			v.counted.entries += uint64(page(n.data()).len())
		case f&nodeBigData != 0:
			v.counted.entries++
			if err := v.long(t, n); err != nil {
				return err
			}
		default:
			v.counted.entries++
		}
	}
	return nil
}

// long looks at the pages of a long value.
func (v *verifier) long(t *tree, n node) error {
	if _, err := v.File.long(t, n); err != nil {
		return nil
	}
	no := order.Uint64(n.data())
	pages := uint64(order.Uint32(v.data[no*uint64(v.size)+offPageCount:]))
	if pages > v.count-no {
		v.mark(t, no, fmt.Errorf("it takes %d pages, past the end", pages))
		return nil
	}
	v.counted.overflow += pages
	return ignoreBroken(v.take(t, no, pages))
}

func ignoreBroken(err error) error {
	if errors.Is(err, ErrBroken) {
		return nil
	}
	return err
}

// freePages notes the pages that the free list names.
func (v *verifier) freePages() error {
	t := &v.free
	return v.walk(t, nil, func(b page) error {
		for i := range b.len() {
			err := v.values(t, b.node(i), nil, func(list []byte) error {
				for no := range freeIn(list) {
					if no >= metaPages && no < v.count {
						if err := v.take(t, no, 1); err != nil && !errors.Is(err, ErrBroken) {
							return err
						}
					}
				}
				return nil
			})
			if err := ignoreBroken(err); err != nil {
				return err
			}
		}
		return nil
	})
}

// freeIn yields the numbers in a value of the free list: how many, and each.
func freeIn(list []byte) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for at := pageNumberLen; at+pageNumberLen <= len(list); at += pageNumberLen {
			if uint64(at/pageNumberLen) > order.Uint64(list) || !yield(order.Uint64(list[at:])) {
				return
			}
		}
	}
}

// Lost calls fn with the keys and values that can be read on broken pages and,
// after Verify, on those that belong to nothing: where a page above them is
// broken they are those of its table, which only their form can tell. Certain
// says that the page is none of the free ones, whose rows were removed: the list
// of those may be broken itself, or older than the page. Lists are left out, as
// they follow from events.
func (p *File) Lost(fn func(certain bool, key, val []byte) error) error {
	freeKnown := !p.doubtful
	for _, b := range p.Broken() {
		freeKnown = freeKnown && b.Table != p.free.name
	}
	for no := uint64(metaPages); no < p.count; no++ {
		_, broken := p.broken[no]
		if p.seen.has(no) && !broken {
			continue
		}
		if err := p.lostOn(no, func(key, val []byte) error { return fn(broken || freeKnown, key, val) }); err != nil {
			return ignoreStop(err)
		}
	}
	return nil
}

// lostOn calls fn with what can be read on a page that may be broken.
func (p *File) lostOn(no uint64, fn func(key, val []byte) error) error {
	t := &tree{name: "unknown", loose: true}
	b := page(p.data[no*uint64(p.size):][:p.size:p.size])
	n := 0
	err := Guard(func() error {
		if b.flags() == flagLeaf && b.lower() <= len(b) {
			n = b.len()
		}
		return nil
	})
	if err != nil {
		return nil
	}
	for i := range n {
		if _, err := t.checkNode(b, i); err != nil || b.node(i).flags()&^nodeBigData != 0 {
			continue
		}
		err := p.values(t, b.node(i), nil, func(val []byte) error { return fn(b.node(i).key(), val) })
		if err != nil && !errors.Is(err, ErrBroken) {
			return err
		}
	}
	return nil
}
