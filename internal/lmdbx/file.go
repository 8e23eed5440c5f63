package lmdbx

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"syscall"
)

// ErrBroken is what reading returns where a page cannot be right.
var ErrBroken = errors.New("broken page")

// Numbers of LMDB's own trees; those of tables begin at zero.
const (
	freeTree  = -2 // the free pages
	rootTable = -1 // the tables by name
)

// A Broken is a page that cannot be right.
type Broken struct {
	Page  uint64
	Table string // the table it belongs to
	Why   string
}

func (b Broken) String() string { return fmt.Sprintf("page %d: table %s: %s", b.Page, b.Table, b.Why) }

// A File reads one snapshot from the file itself, in Go, and trusts no byte of
// it. LMDB trusts every byte, and ends the process, or worse, where a page is
// not what it wrote. Each page is checked when it is first met; iterations go on
// behind a broken one, and look-ups that end at one return [ErrBroken].
//
// Bytes that it returns are those of the file and must not be written. They are
// valid until Close. A File is used by one goroutine at a time.
type File struct {
	data  []byte // the file, mapped for reading
	size  int    // of a page, in bytes
	count uint64 // pages
	meta  meta
	free  tree
	tabs  []tree // by table; those that are missing or out of reach are empty

	whole  bitset // pages that were checked
	seen   bitset // pages that a walk over all has met
	broken map[uint64]Broken
	order  []uint64 // the keys of broken as they came
	notes  []Broken // what is wrong and yet can be read

	// doubtful says that there may have been a newer state, of which this one
	// does not know.
	doubtful bool

	unpin func() error
}

// newPages maps the first pages of f and reads what m says of them.
func newFile(f *os.File, m meta, tables []Table) (*File, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &File{size: m.pageSize, meta: m, broken: map[uint64]Broken{}, unpin: func() error { return nil }}
	p.count = min(m.last+1, uint64(fi.Size())/uint64(m.pageSize))
	p.whole, p.seen = newBitset(p.count), newBitset(p.count)
	p.data, err = syscall.Mmap(int(f.Fd()), 0, int(p.count)*p.size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s for reading: %w", f.Name(), err)
	}
	p.free = m.free
	p.tabs = make([]tree, len(tables))
	for i, t := range tables {
		p.tabs[i] = tree{name: t.Name, table: i, root: noPage}
	}
	err = p.walk(&m.root, nil, func(n page) error {
		for i := range n.len() {
			p.setTable(n.node(i), tables)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// setTable takes what the root table says of a table.
func (p *File) setTable(n node, tables []Table) {
	if n.flags()&nodeSubData == 0 {
		return
	}
	for i, t := range tables {
		if t.Name == string(n.key()) {
			p.tabs[i] = tree{name: t.Name, table: i, known: true, integer: t.IntegerKey, dups: t.DupSort}.read(n.data())
		}
	}
}

// Close gives the snapshot and its memory back.
func (p *File) Close() error {
	err := syscall.Munmap(p.data)
	p.data = nil
	return errors.Join(err, p.unpin())
}

// HasTable reports whether a table exists within reach.
func (p *File) HasTable(table int) bool { return p.tabs[table].known }

// Entries returns how many values a table counts.
func (p *File) Entries(table int) uint64 { return p.tabs[table].entries }

// Broken returns the broken pages met so far.
func (p *File) Broken() []Broken {
	bs := make([]Broken, len(p.order))
	for i, no := range p.order {
		bs[i] = p.broken[no]
	}
	return append(bs, p.notes...)
}

// mark notes that a page is broken.
func (p *File) mark(t *tree, no uint64, why error) error {
	b, ok := p.broken[no]
	if !ok {
		b = Broken{no, t.name, why.Error()}
		p.broken[no] = b
		p.order = append(p.order, no)
	}
	return fmt.Errorf("%w: %s", ErrBroken, b)
}

// page returns a page of a tree, checked.
func (p *File) page(t *tree, no uint64) (page, error) {
	if b, ok := p.broken[no]; ok {
		return nil, fmt.Errorf("%w: %s", ErrBroken, b)
	}
	if no < metaPages || no >= p.count {
		return nil, p.mark(t, no, fmt.Errorf("it is past the end: there are %d pages", p.count))
	}
	b := page(p.data[no*uint64(p.size):][:p.size:p.size])
	if p.whole.has(no) {
		return b, nil
	}
	if err := Guard(func() error { return t.check(b, no) }); err != nil {
		return nil, p.mark(t, no, err)
	}
	p.whole.add(no)
	return b, nil
}

// Guard runs fn, which looks at the pages or at what they have lent. Where the
// disk does not give one the system sends a signal, which would end the process;
// here it is [ErrBroken]. Pages are guarded by themselves when first met, so
// this is for those that are lost afterwards.
func Guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if fault, ok := r.(interface{ Addr() uintptr }); ok && fault != nil {
			err = fmt.Errorf("%w: the disk does not give it", ErrBroken)
		} else if r != nil {
			panic(r)
		}
	}()
	return fn()
}

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

// A bitset is a set of pages.
type bitset []uint64

func newBitset(n uint64) bitset { return make(bitset, (n+63)/64) }

func (s bitset) has(n uint64) bool { return s[n/64]&(1<<(n%64)) != 0 }

// add adds n and reports whether it was not there.
func (s bitset) add(n uint64) bool {
	had := s.has(n)
	s[n/64] |= 1 << (n % 64)
	return !had
}

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
