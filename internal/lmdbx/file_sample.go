package lmdbx

// Any returns a row of a table, found by choosing one of n ways at each fork,
// and whether it came upon one.
func (p *File) Any(table int, choose func(n int) int) (key, val []byte, ok bool) {
	t := &p.tabs[table]
	b, ok := p.anyLeaf(t, choose)
	if !ok {
		return nil, nil, false
	}
	n := b.node(choose(b.len()))
	switch f := n.flags(); {
	case f&nodeSubData != 0:
		if b, ok = p.anyLeaf(t.list(n.data()), choose); !ok {
			return nil, nil, false
		}
		return n.key(), b.fixed(choose(b.len())), true
	case f&nodeDupData != 0:
		list := page(n.data())
		return n.key(), list.fixed(choose(list.len())), true
	}
	err := p.values(t, n, nil, func(v []byte) error {
		val = v
		return nil
	})
	return n.key(), val, err == nil
}

// anyLeaf returns a leaf of a tree that has keys.
func (p *File) anyLeaf(t *tree, choose func(n int) int) (page, bool) {
	if t.root == noPage || t.depth == 0 {
		return nil, false
	}
	no := t.root
	for depth := t.depth; ; depth-- {
		b, err := p.page(t, no)
		if err != nil || b.branch() != (depth > 1) || b.len() == 0 {
			return nil, false
		}
		if depth == 1 {
			return b, true
		}
		no = b.node(choose(b.len())).child()
	}
}

// EachPage calls fn with the pages of a table, its root first, and how many of
// its rows stand on each, long values among them; those of long lists are left
// out.
func (p *File) EachPage(table int, fn func(no uint64, rows int)) {
	t := &p.tabs[table]
	if t.depth > 0 {
		p.eachPage(t, t.root, t.depth, fn)
	}
}

func (p *File) eachPage(t *tree, no uint64, depth int, fn func(no uint64, rows int)) {
	b, err := p.page(t, no)
	if err != nil {
		return
	}
	if depth > 1 {
		fn(no, 0)
		for i := range b.len() {
			p.eachPage(t, b.node(i).child(), depth-1, fn)
		}
		return
	}
	fn(no, b.len())
	for i := range b.len() {
		n := b.node(i)
		if n.flags()&nodeBigData == 0 {
			continue
		}
		if v, err := p.long(t, n); err == nil {
			for at := range uint64(pageHeader+len(v)+p.size-1) / uint64(p.size) {
				fn(order.Uint64(n.data())+at, 1)
			}
		}
	}
}
