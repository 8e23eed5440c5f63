package lmdbx

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
)

// What more is needed of LMDB's file format than file.go knows. A page holds
// its number, in uint64, before its flags. A branch or leaf then has nodes at
// the offsets that follow its header; a page of fixed values (LEAF2) has the
// values themselves there, and their size in the header. A node is two uint16
// of size (or three of a page's number), flags, the length of its key, the key
// and the data.
const (
	offValueSize  = 8 // uint16: of the values of a page of fixed ones
	flagSub       = 0x40
	flagKinds     = flagBranch | flagLeaf | flagOverflow | flagMeta | flagLeaf2 | flagSub
	offNodeFlags  = 4
	offNodeKeyLen = 6
	maxKey        = 511
)

// A page is the bytes of one page, or of the values of a key that stand in a
// node like a small page. Its methods may be used once it has been checked.
type page []byte

func (p page) number() uint64 { return order.Uint64(p) }
func (p page) flags() uint16  { return order.Uint16(p[offPageFlags:]) & flagKinds }
func (p page) branch() bool   { return p.flags()&flagBranch != 0 }
func (p page) lower() int     { return int(order.Uint16(p[offPageLower:])) }
func (p page) upper() int     { return int(order.Uint16(p[offPageUpper:])) }
func (p page) len() int       { return (p.lower() - pageHeader) / 2 }

// valueSize returns the size of the values of a page of fixed ones.
func (p page) valueSize() int { return int(order.Uint16(p[offValueSize:])) }

// fixed returns the i-th value of a page of fixed ones.
func (p page) fixed(i int) []byte {
	n := p.valueSize()
	return p[pageHeader+i*n:][:n:n]
}

func (p page) node(i int) node { return node(p[order.Uint16(p[pageHeader+2*i:]):]) }

// key returns the i-th key of any page. The first of a branch means nothing.
func (p page) key(i int) []byte {
	if p.flags()&flagLeaf2 != 0 {
		return p.fixed(i)
	}
	return p.node(i).key()
}

// A node is an entry of a page and the bytes behind it.
type node []byte

func (n node) flags() uint16 { return order.Uint16(n[offNodeFlags:]) }
func (n node) keyLen() int   { return int(order.Uint16(n[offNodeKeyLen:])) }
func (n node) key() []byte   { return n[nodeHeader:][:n.keyLen():n.keyLen()] }

// size returns the size of a leaf's data, which may stand elsewhere.
func (n node) size() int { return int(order.Uint32(n)) }

// inline returns how many bytes of data stand in the node.
func (n node) inline() int {
	if n.flags()&nodeBigData != 0 {
		return pageNumberLen
	}
	return n.size()
}

// data returns the bytes of data that stand in the node.
func (n node) data() []byte {
	at := nodeHeader + n.keyLen()
	return n[at:][:n.inline():n.inline()]
}

// child returns the page that the node of a branch points to.
func (n node) child() uint64 { return child(n) }

// A tree says where the pages of a table are, or those of a long list.
type tree struct {
	name    string
	table   int  // its number, negative for LMDB's own
	known   bool // it was found
	loose   bool // of keys and values of any form, in any order
	integer bool
	dups    bool // keys may hold lists
	fixed   int  // size of the values where the tree is that of a list

	depth                  int
	branch, leaf, overflow uint64 // pages
	entries                uint64
	root                   uint64
}

// read reads what LMDB keeps of a tree.
func (t tree) read(b []byte) tree {
	t.depth = int(order.Uint16(b[6:]))
	t.branch, t.leaf, t.overflow = order.Uint64(b[8:]), order.Uint64(b[16:]), order.Uint64(b[24:])
	t.entries, t.root = order.Uint64(b[32:]), order.Uint64(b[40:])
	return t
}

// list returns the tree of a long list of t, kept in data.
func (t *tree) list(data []byte) *tree {
	l := tree{name: t.name, table: t.table, known: true, fixed: int(order.Uint32(data))}.read(data)
	return &l
}

func (t *tree) compare(a, b []byte) int {
	if t.integer {
		return cmp.Compare(order.Uint64(a), order.Uint64(b))
	}
	return bytes.Compare(a, b)
}

// check returns what is wrong with a page by itself, as one of the tree. After
// it no method of the page, or of its nodes, leaves its bytes.
func (t *tree) check(p page, no uint64) error {
	if p.number() != no {
		return fmt.Errorf("it says to be page %d", p.number())
	}
	switch p.flags() {
	case flagLeaf | flagLeaf2:
		if t.fixed == 0 {
			return errors.New("it belongs to a list")
		}
		return p.checkFixed(t.fixed)
	case flagLeaf:
		if t.fixed != 0 {
			return errors.New("it is no page of a list")
		}
	case flagBranch:
	default:
		return fmt.Errorf("it is no page of a table: its flags are %#x", p.flags())
	}
	return t.checkNodes(p)
}

// checkFixed checks a page of fixed values, or what stands in a node like one.
func (p page) checkFixed(size int) error {
	if p.valueSize() != size || p.lower() < pageHeader || p.lower()%2 != 0 || pageHeader+p.len()*size > len(p) {
		return fmt.Errorf("it has no room for %d values of %d bytes", p.len(), p.valueSize())
	}
	for i := 1; i < p.len(); i++ {
		if bytes.Compare(p.fixed(i-1), p.fixed(i)) >= 0 {
			return fmt.Errorf("its values %d and %d are out of order", i-1, i)
		}
	}
	return nil
}

// checkNodes checks a branch or leaf: that each node lies within, the nodes
// fill their part of the page, and keys ascend.
func (t *tree) checkNodes(p page) error {
	if p.lower() < pageHeader || p.lower()%2 != 0 || p.lower() > p.upper() || p.upper() > len(p) {
		return fmt.Errorf("its nodes are said to lie between %d and %d", p.lower(), p.upper())
	}
	used := 0
	for i := range p.len() {
		n, err := t.checkNode(p, i)
		if err != nil {
			return fmt.Errorf("its node %d %w", i, err)
		}
		used += (n + 1) &^ 1
		first := 0
		if p.branch() {
			first = 1
		}
		if i > first && t.compare(p.key(i-1), p.key(i)) >= 0 {
			return fmt.Errorf("its keys %d and %d are out of order", i-1, i)
		}
	}
	if used != len(p)-p.upper() {
		return fmt.Errorf("its nodes take %d bytes and not %d", used, len(p)-p.upper())
	}
	return nil
}

// checkNode checks one node and returns its size.
func (t *tree) checkNode(p page, i int) (int, error) {
	at := int(order.Uint16(p[pageHeader+2*i:]))
	if at < p.upper() && !t.loose || at+nodeHeader > len(p) {
		return 0, errors.New("lies outside of it")
	}
	n := node(p[at:])
	size := nodeHeader + n.keyLen()
	keyless := p.branch() && i == 0
	switch {
	case size > len(n):
		return 0, errors.New("has a key that ends outside of it")
	case !keyless && n.keyLen() == 0, n.keyLen() > maxKey,
		!keyless && t.integer && n.keyLen() != 8, !keyless && t.fixed != 0 && n.keyLen() != t.fixed:
		return 0, fmt.Errorf("has a key of %d bytes", n.keyLen())
	case p.branch():
		return size, nil
	}
	if n.size() > len(p) && n.flags()&nodeBigData == 0 || size+n.inline() > len(n) {
		return 0, fmt.Errorf("has %d bytes that end outside of it", n.size())
	}
	return size + n.inline(), t.checkData(n)
}

// checkData checks the form of a leaf's data by the flags of its node.
func (t *tree) checkData(n node) error {
	switch f := n.flags(); {
	case f == 0, f == nodeBigData && !t.dups, t.loose:
		return nil
	case f == nodeSubData && t.table == rootTable, f == nodeSubData|nodeDupData && t.dups:
		if n.size() != dbSize {
			return fmt.Errorf("has a tree of %d bytes", n.size())
		}
		return nil
	case f == nodeDupData && t.dups:
		p := page(n.data())
		if len(p) < pageHeader || p.flags() != flagLeaf|flagLeaf2|flagSub || p.len() == 0 {
			return errors.New("has no list")
		}
		if err := p.checkFixed(p.valueSize()); err != nil {
			return fmt.Errorf("has a broken list: %w", err)
		}
		return nil
	default:
		return fmt.Errorf("has flags %#x", f)
	}
}
