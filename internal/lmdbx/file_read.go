package lmdbx

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
)

// walk calls fn with the leaves of a tree in order. It passes over what is
// broken.
func (p *File) walk(t *tree, from []byte, fn func(page) error) error {
	if t.root == noPage || t.depth == 0 {
		return nil
	}
	return p.walkDown(t, t.root, t.depth, from, fn)
}

func (p *File) walkDown(t *tree, no uint64, depth int, from []byte, fn func(page) error) error {
	b, err := p.page(t, no)
	if err == nil && b.branch() != (depth > 1) {
		err = p.mark(t, no, fmt.Errorf("it stands %d levels above the leaves", depth-1))
	}
	if err != nil {
		return nil // marked
	}
	if depth == 1 {
		return fn(b)
	}
	i := 0
	if from != nil {
		i = t.childOf(b, from)
	}
	for ; i < b.len(); i++ {
		if err := p.walkDown(t, b.node(i).child(), depth-1, from, fn); err != nil {
			return err
		}
		from = nil
	}
	return nil
}

// childOf returns which child of a branch has the keys from key on.
func (t *tree) childOf(b page, key []byte) int {
	return sort.Search(b.len()-1, func(i int) bool { return t.compare(b.key(i+1), key) > 0 })
}

// notBelow returns the first key of a leaf that is not below key.
func (t *tree) notBelow(b page, key []byte) int {
	return sort.Search(b.len(), func(i int) bool { return t.compare(b.key(i), key) >= 0 })
}

// find returns the leaf that has key, and where.
func (p *File) find(t *tree, key []byte) (page, int, bool, error) {
	if !t.known {
		return nil, 0, false, fmt.Errorf("%w: table %s cannot be found", ErrBroken, t.name)
	}
	if t.root == noPage || t.integer && len(key) != 8 || t.fixed != 0 && len(key) != t.fixed {
		return nil, 0, false, nil
	}
	no := t.root
	for depth := t.depth; ; depth-- {
		b, err := p.page(t, no)
		if err == nil && b.branch() != (depth > 1) {
			err = p.mark(t, no, fmt.Errorf("it stands %d levels above the leaves", depth-1))
		}
		if err != nil {
			return nil, 0, false, err
		}
		if depth == 1 {
			i := t.notBelow(b, key)
			return b, i, i < b.len() && t.compare(b.key(i), key) == 0, nil
		}
		no = b.node(t.childOf(b, key)).child()
	}
}

// Get returns the value of key and whether there is one; the first one of a
// list.
func (p *File) Get(table int, key []byte) ([]byte, bool, error) {
	t := &p.tabs[table]
	b, i, ok, err := p.find(t, key)
	if err != nil || !ok {
		return nil, false, err
	}
	var val []byte
	found := false
	err = p.values(t, b.node(i), nil, func(v []byte) error {
		val, found = v, true
		return ErrStop
	})
	return val, found, ignoreStop(err)
}

// Has reports whether the list of key holds val.
func (p *File) Has(table int, key, val []byte) (bool, error) {
	t := &p.tabs[table]
	b, i, ok, err := p.find(t, key)
	if err != nil || !ok {
		return false, err
	}
	n := b.node(i)
	switch n.flags() {
	case nodeDupData:
		sub := page(n.data())
		if len(val) != sub.valueSize() {
			return false, nil
		}
		at := (&tree{}).notBelow(sub, val)
		return at < sub.len() && string(sub.fixed(at)) == string(val), nil
	case nodeSubData | nodeDupData:
		_, _, ok, err := p.find(t.list(n.data()), val)
		return ok, err
	}
	equal := false
	err = p.values(t, n, nil, func(v []byte) error {
		equal = bytes.Equal(v, val)
		return nil
	})
	return equal, err
}

// Each calls fn with every key and value of a table from key on (nil for all),
// and in the list of that key from val on. [ErrStop] ends it. What cannot be
// read is passed over, see Broken.
func (p *File) Each(table int, from, val []byte, fn func(key, val []byte) error) error {
	t := &p.tabs[table]
	err := p.walk(t, from, func(b page) error {
		i := 0
		if from != nil {
			i = t.notBelow(b, from)
		}
		for ; i < b.len(); i++ {
			n, begin := b.node(i), []byte(nil)
			if val != nil && t.compare(n.key(), from) == 0 {
				begin = val
			}
			err := p.values(t, n, begin, func(v []byte) error { return fn(n.key(), v) })
			if err != nil && !errors.Is(err, ErrBroken) {
				return err
			}
		}
		return nil
	})
	return ignoreStop(err)
}

func ignoreStop(err error) error {
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

// values calls fn with the values of a node from one on.
func (p *File) values(t *tree, n node, from []byte, fn func([]byte) error) error {
	switch f := n.flags(); {
	case f&nodeSubData != 0:
		return p.walk(t.list(n.data()), from, func(b page) error { return fixedFrom(b, from, fn) })
	case f&nodeDupData != 0:
		return fixedFrom(page(n.data()), from, fn)
	case f&nodeBigData != 0:
		v, err := p.long(t, n)
		if err != nil {
			return err
		}
		return fn(v)
	}
	return fn(n.data())
}

// fixedFrom calls fn with the values of a page from one on.
func fixedFrom(b page, from []byte, fn func([]byte) error) error {
	i := 0
	if from != nil {
		i = (&tree{}).notBelow(b, from)
	}
	for ; i < b.len(); i++ {
		if err := fn(b.fixed(i)); err != nil {
			return err
		}
	}
	return nil
}

// long returns a value that has pages of its own.
func (p *File) long(t *tree, n node) ([]byte, error) {
	no, size := order.Uint64(n.data()), n.size()
	if b, ok := p.broken[no]; ok {
		return nil, fmt.Errorf("%w: %s", ErrBroken, b)
	}
	pages := uint64((pageHeader + size + p.size - 1) / p.size)
	if no < metaPages || no >= p.count || pages > p.count-no {
		return nil, p.mark(t, no, fmt.Errorf("a value of %d bytes there is past the end: there are %d pages", size, p.count))
	}
	b := page(p.data[no*uint64(p.size):][:pageHeader+size])
	err := Guard(func() error {
		for at := 0; at < len(b); at += p.size {
			_ = b[at]
		}
		if b.number() != no || b.flags() != flagOverflow || uint64(order.Uint32(b[offPageCount:])) < pages {
			return fmt.Errorf("it is not that of a value of %d bytes", size)
		}
		return nil
	})
	if err != nil {
		return nil, p.mark(t, no, err)
	}
	return b[pageHeader:], nil
}
