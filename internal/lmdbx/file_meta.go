package lmdbx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/PowerDNS/lmdb-go/lmdb"
)

// The two meta pages begin the file. A commit writes the one of the older
// transaction, so that the other one names a whole state at any time.

// metaVersion is that of LMDB's file format.
const metaVersion = 1

// A meta is what a meta page says.
type meta struct {
	page       uint64 // 0 or 1
	txn        uint64
	last       uint64 // number of the last page
	pageSize   int
	free, root tree
}

// parseMeta reads a meta page and refuses one that cannot be right.
func parseMeta(b []byte, no uint64) (meta, error) {
	if len(b) < metaEnd {
		return meta{}, errors.New("it is cut off")
	}
	m := meta{page: no, last: order.Uint64(b[offMetaLast:]), txn: order.Uint64(b[offMetaTxn:])}
	m.free = tree{name: "of free pages", table: freeTree, integer: true}.read(b[offMetaFree:])
	m.root = tree{name: "of tables", table: rootTable}.read(b[offMetaMain:])
	m.pageSize = int(order.Uint32(b[offMetaFree:]))
	switch p := page(b); {
	case p.number() != no || p.flags() != flagMeta:
		return m, errors.New("it is no meta page")
	case order.Uint32(b[pageHeader:]) != metaMagic:
		return m, errors.New("it is not LMDB's")
	case order.Uint32(b[pageHeader+4:]) != metaVersion:
		return m, fmt.Errorf("it is of version %d of LMDB's format and not %d", order.Uint32(b[pageHeader+4:]), metaVersion)
	case m.pageSize < 512 || m.pageSize > 64<<10 || m.pageSize&(m.pageSize-1) != 0:
		return m, fmt.Errorf("it has pages of %d bytes", m.pageSize)
	case m.last < metaPages-1:
		return m, fmt.Errorf("its last page is %d", m.last)
	}
	for _, t := range []tree{m.free, m.root} {
		if t.root != noPage && (t.root < metaPages || t.root > m.last || t.depth == 0 || t.depth > maxTreeDepth) {
			return m, fmt.Errorf("its table %s begins at page %d, %d levels high", t.name, t.root, t.depth)
		}
	}
	return m, nil
}

// readMetas returns the meta pages that can be right, the newest first, and
// what is wrong with the others.
func readMetas(f io.ReaderAt) (ms []meta, wrong error, err error) {
	size := int64(os.Getpagesize())
	var errs []error
	for no := range uint64(metaPages) {
		b := make([]byte, metaEnd)
		n, err := f.ReadAt(b, int64(no)*size)
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		m, err := parseMeta(b[:n], no)
		if err != nil {
			errs = append(errs, fmt.Errorf("meta page %d: %w", no, err))
			continue
		}
		if no == 0 {
			size = int64(m.pageSize)
		}
		ms = append(ms, m)
	}
	if len(ms) == 2 && ms[1].txn > ms[0].txn {
		ms[0], ms[1] = ms[1], ms[0]
	}
	return ms, errors.Join(errs...), nil
}

// ReadFile is [Env.Read] for who trusts no page of the snapshot.
func (e *Env) ReadFile(ctx context.Context, fn func(*Txn, *File) error) error {
	return e.readBeside(ctx, func(t *Txn, f *os.File) error {
		file, err := fileOf(f, e.pageSize, t.ID(), e.opts.Tables)
		if err != nil {
			return err
		}
		return errors.Join(fn(t, file), file.Close())
	})
}

// fileOf maps the snapshot of a transaction that somebody holds open. See
// newPages for the order in which the meta pages are read.
func fileOf(f *os.File, pageSize int, txn uint64, tables []Table) (*File, error) {
	var ms [metaPages]meta
	for i := range uint64(metaPages) {
		no := (txn + i) % metaPages
		b := make([]byte, metaEnd)
		if _, err := f.ReadAt(b, int64(no)*int64(pageSize)); err != nil {
			return nil, fmt.Errorf("read meta page %d: %w", no, err)
		}
		m, err := parseMeta(b, no)
		if err != nil {
			return nil, fmt.Errorf("meta page %d: %w", no, err)
		}
		ms[i] = m
	}
	if ms[0].txn != txn || ms[1].txn > txn {
		return nil, errOvertaken
	}
	return newFile(f, ms[0], tables)
}

// OpenFile opens the newest state in dir that can be read, page by page and
// without opening its tables, and returns what speaks against a newer one.
//
// Where LMDB can open the file, the snapshot is pinned, so that others may go on
// writing. Where it cannot, or the caller is alone with the database (see
// [LockAlone]), nobody may write until it is closed.
func OpenFile(dir string, tables []Table, alone bool) (p *File, wrong error, err error) {
	f, err := os.Open(filepath.Join(dir, dataFile))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	ms, wrong, err := readMetas(f)
	switch {
	case err != nil:
		return nil, nil, err
	case len(ms) == 0:
		p, err = blindFile(f, tables)
	case wrong != nil:
		m := ms[0]
		m.last = noPage - 1 // what a newer state has written, if it is still there
		p, err = newFile(f, m, tables)
	case alone:
		p, err = newFile(f, ms[0], tables)
	default:
		p, err = pinnedFile(dir, f, ms[0].pageSize, tables)
	}
	if err != nil {
		return nil, nil, errors.Join(err, wrong)
	}
	p.doubtful = wrong != nil
	return p, wrong, nil
}

// blindFile maps a file that no meta page tells of: all that is known of a page
// is its form.
func blindFile(f *os.File, tables []Table) (*File, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size() == 0 {
		return nil, ErrEmpty
	}
	m := meta{last: noPage - 1, pageSize: os.Getpagesize(), free: tree{root: noPage}, root: tree{root: noPage}}
	if fi.Size() < int64(metaPages*m.pageSize) {
		return nil, errors.New("it was cut within its meta pages")
	}
	return newFile(f, m, tables)
}

// pinnedFile maps the newest snapshot and holds a reader on it.
func pinnedFile(dir string, f *os.File, pageSize int, tables []Table) (*File, error) {
	e := &Env{dir: dir, opts: Options{Dir: dir, Tables: tables, ReadOnly: true, MapSize: DefaultMapSize, MaxReaders: defaultMaxReaders}}
	if err := e.openMap(); err != nil {
		return nil, err
	}
	if err := e.clearReaders(); err != nil {
		return nil, errors.Join(err, e.env.Close())
	}
	for try := range snapshotTries { // commits may come faster than a page is read, but not for ever
		txn, err := e.env.BeginTxn(nil, lmdb.Readonly)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("begin read of %s: %w", dir, e.explainFull(err)), e.env.Close())
		}
		p, err := fileOf(f, pageSize, uint64(txn.ID()), tables)
		if err == nil {
			p.unpin = func() error {
				txn.Abort()
				return e.env.Close()
			}
			return p, nil
		}
		txn.Abort()
		if !errors.Is(err, errOvertaken) {
			return nil, errors.Join(err, e.env.Close())
		}
		giveWay(try)
	}
	return nil, errors.Join(errOvertaken, e.env.Close())
}
