package strfry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A file is an open LMDB file.
type file struct {
	f        *os.File
	pageSize int
}

const (
	dataFile = "data.mdb"

	metaMagic   = 0xbeefc0de
	metaVersion = 1   // of the format of LMDB 0.9, the only one there has been
	metaSize    = 136 // of what follows the header of the page

	minPageSize = 512
	maxPageSize = 64 << 10
)

// openFile opens the LMDB file at path, or in the directory of that name.
func openFile(path string) (*file, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, dataFile)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no database: %w", err)
	}
	if err != nil {
		return nil, err
	}
	db := &file{f: f}
	if err := db.findPageSize(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return db, nil
}

// findPageSize reads the size of a page in the first head, or guesses it where
// that is damaged, since the second one is a page behind.
func (f *file) findPageSize() error {
	err := f.knownMagic()
	if err != nil {
		return err
	}
	for size := minPageSize; size <= maxPageSize; size *= 2 {
		f.pageSize = size
		if _, err := f.snapshot(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s: %w: neither of the two heads of the file is readable", f.f.Name(), ErrDamaged)
}

// knownMagic refuses files of machines that write integers the other way round,
// and empty ones.
func (f *file) knownMagic() error {
	var b [pageHeader + 4]byte
	switch _, err := f.f.ReadAt(b[:], 0); {
	case err == io.EOF:
		return fmt.Errorf("%s: it is empty, or no LMDB database", f.f.Name())
	case err != nil:
		return err
	case bytes.Equal(b[pageHeader:], []byte{0xbe, 0xef, 0xc0, 0xde}):
		return fmt.Errorf("%s: it was written on a machine with another byte order: export it there", f.f.Name())
	}
	return nil
}

// A snapshot is the state of the database after one transaction.
type snapshot struct {
	*file
	main tree
	last uint64 // number of the last page
	txn  uint64
}

// snapshot returns the newest state, which one of the two heads points to.
func (f *file) snapshot() (snapshot, error) {
	var newest snapshot
	err := ErrDamaged
	for number := range uint64(2) {
		s, e := f.head(number)
		if e != nil {
			continue
		}
		if err != nil || s.txn > newest.txn {
			newest, err = s, nil
		}
	}
	return newest, err
}

// head reads one of the two heads. Behind the header of the page stand
//
//	 0       4         8         16        24     72     120         128
//	+-------+---------+---------+---------+------+------+-----------+-------------+
//	| magic | version | address | map size| free | main | last page | transaction |
//	+-------+---------+---------+---------+------+------+-----------+-------------+
//
// where free and main are trees; that of free pages has the page size in it.
func (f *file) head(number uint64) (snapshot, error) {
	p := make(page, pageHeader+metaSize)
	if _, err := f.f.ReadAt(p, int64(number)*int64(f.pageSize)); err != nil {
		return snapshot{}, err
	}
	if err := p.check(number, pageMeta); err != nil {
		return snapshot{}, err
	}
	b := p[pageHeader:]
	magic, version, pageSize := le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[24:])
	if magic != metaMagic || version != metaVersion || int(pageSize) != f.pageSize {
		return snapshot{}, fmt.Errorf("%w: head %d", ErrDamaged, number)
	}
	return snapshot{file: f, main: readTree(b[72:]), last: le.Uint64(b[120:]), txn: le.Uint64(b[128:])}, nil
}

// maxTries is how often a reading is begun again because of commits. Each try
// reads less, down to one page, so there is always a gap between commits that is
// long enough.
const maxTries = 10_000

// errOvertaken means that commits came faster than anything could be read.
var errOvertaken = errors.New("the database is being written to too fast to be read")

// read runs fn on the newest snapshot, again from the start until it has seen
// that snapshot and nothing else. try counts from 0.
//
// LMDB never writes over a page of the newest snapshot, nor of the one before:
// a transaction takes new pages, or some that were given up by the last but one
// or earlier. So what was read is right if the file's head is still the same
// afterwards, and else may be anything, errors too.
func (f *file) read(fn func(s *snapshot, try int) error) error {
	for try := range maxTries {
		before, err := f.snapshot()
		if err != nil {
			return fmt.Errorf("%s: %w", f.f.Name(), err)
		}
		err = fn(&before, try)
		after, e := f.snapshot()
		if e == nil && before == after {
			return err
		}
	}
	return errOvertaken
}

// page reads a page, which must be of the kind.
func (s *snapshot) page(number uint64, kind uint16) (page, error) {
	return s.pages(number, kind, s.pageSize)
}

// pages reads n bytes from the start of a page on.
func (s *snapshot) pages(number uint64, kind uint16, n int) (page, error) {
	if number > s.last {
		return nil, fmt.Errorf("page %d: %w: there are %d", number, ErrDamaged, s.last+1)
	}
	p := make(page, n)
	if _, err := s.f.ReadAt(p, int64(number)*int64(s.pageSize)); err == io.EOF {
		return nil, fmt.Errorf("page %d: %w: the file ends before", number, ErrDamaged)
	} else if err != nil {
		return nil, fmt.Errorf("page %d: %w", number, err)
	}
	if err := p.check(number, kind); err != nil {
		return nil, fmt.Errorf("page %d: %w", number, err)
	}
	return p, nil
}

// maxValue is the longest value that is read, in bytes. An event that passes
// relays has some kilobytes, and no dictionary a megabyte.
const maxValue = 32 << 20

// value returns the value of a node of a leaf.
func (s *snapshot) value(n *node) ([]byte, error) {
	if n.size > maxValue {
		return nil, fmt.Errorf("%w: a value of %d bytes", ErrDamaged, n.size)
	}
	size := int(n.size)
	if n.flags&nodeBig == 0 {
		if size > len(n.data) {
			return nil, fmt.Errorf("%w: a value of %d bytes, of which %d fit", ErrDamaged, size, len(n.data))
		}
		return n.data[:size:size], nil
	}
	if len(n.data) < 8 {
		return nil, fmt.Errorf("%w: the page of a value is not named", ErrDamaged)
	}
	number := le.Uint64(n.data)
	p, err := s.pages(number, pageOverflow, pageHeader+size)
	if err != nil {
		return nil, err
	}
	if count := uint64(le.Uint32(p[12:])); count*uint64(s.pageSize) < uint64(pageHeader+size) {
		return nil, fmt.Errorf("page %d: %w: a value of %d bytes on %d pages", number, ErrDamaged, size, count)
	}
	return p[pageHeader:], nil
}
