package strfry

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrDamaged is what reading bytes that cannot be right returns, wrapped with
// where they are.
var ErrDamaged = errors.New("damaged")

// le is the byte order of the files that are read; others are refused.
var le = binary.LittleEndian

// A page is one page of an LMDB file (data version 1):
//
//	 0       8     10      12      14      16
//	+-------+-----+-------+-------+-------+--- - - - ------ - - - ---+
//	| number| pad | flags | lower | upper | slots -->     <-- nodes  |
//	+-------+-----+-------+-------+-------+--- - - - ------ - - - ---+
//
// The slots, two bytes each, end at lower; each is the offset of a node, and
// nodes begin at upper. In the first page of a long value, whose rest follows on
// the next pages, a uint32 in the place of lower and upper counts the pages.
type page []byte

const (
	pageHeader = 16
	slotSize   = 2

	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageOverflow = 0x04
	pageMeta     = 0x08
	pageKinds    = 0x6f // what a page is; other flags are about its being written
)

// check returns what is wrong with p as page number of the given kind.
func (p page) check(number uint64, kind uint16) error {
	if got := le.Uint64(p); got != number {
		return fmt.Errorf("%w: it says it is page %d", ErrDamaged, got)
	}
	if got := le.Uint16(p[10:]) & pageKinds; got != kind {
		return fmt.Errorf("%w: it is of kind %#x and not %#x", ErrDamaged, got, kind)
	}
	if kind != pageLeaf && kind != pageBranch {
		return nil
	}
	lower, upper := int(le.Uint16(p[12:])), int(le.Uint16(p[14:]))
	if lower < pageHeader || lower > upper || upper > len(p) || lower%slotSize != 0 {
		return fmt.Errorf("%w: nodes from %d, slots to %d", ErrDamaged, upper, lower)
	}
	return nil
}

// nodes returns how many nodes a checked page has.
func (p page) nodes() int { return (int(le.Uint16(p[12:])) - pageHeader) / slotSize }

// A node is an entry of a page:
//
//	 0      2      4       6         8
//	+------+------+-------+---------+-----+- - -
//	| low  | high | flags | key size| key | data
//	+------+------+-------+---------+-----+- - -
//
// In a leaf low and high are the size of the data. In a branch they and the
// flags are the number of the child, and there is no data.
type node struct {
	flags uint16 // of a leaf
	size  uint64 // of the data, which may be elsewhere
	child uint64 // of a branch
	key   []byte
	data  []byte // all that is left of the page
}

const (
	nodeHeader = 8
	nodeBig    = 0x01 // the data is the number of the page where the value begins
	nodeTable  = 0x02 // the data is the root of a table
)

// node returns entry i of a checked page.
func (p page) node(i int) (node, error) {
	at := int(le.Uint16(p[pageHeader+slotSize*i:]))
	if at < pageHeader || at+nodeHeader > len(p) {
		return node{}, fmt.Errorf("%w: node %d is at byte %d", ErrDamaged, i, at)
	}
	b := p[at:]
	low, high, flags := uint64(le.Uint16(b)), uint64(le.Uint16(b[2:])), le.Uint16(b[4:])
	keySize := int(le.Uint16(b[6:]))
	if nodeHeader+keySize > len(b) {
		return node{}, fmt.Errorf("%w: the key of node %d has %d bytes", ErrDamaged, i, keySize)
	}
	return node{
		flags: flags,
		size:  low | high<<16,
		child: low | high<<16 | uint64(flags)<<32,
		key:   b[nodeHeader : nodeHeader+keySize],
		data:  b[nodeHeader+keySize:],
	}, nil
}

// integer returns the key of a node in a table whose keys are integers.
func (n *node) integer() (uint64, error) {
	if len(n.key) != 8 {
		return 0, fmt.Errorf("%w: a key of %d bytes", ErrDamaged, len(n.key))
	}
	return le.Uint64(n.key), nil
}
