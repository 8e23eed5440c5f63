package lmdbx

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
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

// Missing returns how many pages the file ends before the last one that was ever
// given out. Pages that were never written may be among them, so that a sound
// file can lack some; where pages are broken as well, the file was cut.
func (p *File) Missing() uint64 { return p.meta.last + 1 - p.count }

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
