package lmdbx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Pages are the pages of a snapshot, to be copied while others write. LMDB never
// writes to a page that a snapshot in use can reach, so they can be read from the
// file one after another; what the others hold meanwhile is of no account.
//
// LMDB has functions for this (mdb_env_copyfd), which open a snapshot of their
// own. Here it is the reader's, so that what the copy says of itself is true of
// it, its size is known in advance, and it can be broken off.
type Pages struct {
	f    io.ReaderAt
	size int    // bytes a page
	meta []byte // the meta page of the snapshot
	have uint64 // pages of the snapshot in the file: the last ones may be free and missing
}

// More of LMDB's file format, beside what length.go needs.
const (
	offPageNo     = 0  // uint64
	offPageUpper  = 14 // uint16: end of the hole in the middle, where nodes begin
	offPageCount  = 12 // uint32, in the first of several overflow pages
	flagOverflow  = 0x04
	flagMeta      = 0x08
	flagLeaf2     = 0x20 // holds values of one size and no nodes
	nodeSubData   = 0x02
	nodeDupData   = 0x04
	dbSize        = 48
	offDBDepth    = 6  // uint16
	offDBPages    = 8  // uint64 each: branch, leaf, overflow
	offDBRoot     = 40 // uint64
	offMetaMagic  = pageHeader
	offMetaFree   = pageHeader + 24
	offMetaMain   = offMetaFree + dbSize
	offMetaLast   = offMetaMain + dbSize // uint64: number of the last page
	metaEnd       = offMetaTxn + 8
	metaPages     = 2
	metaMagic     = 0xBEEFC0DE
	copyBlock     = 1 << 20 // bytes
	snapshotTries = 100
)

// errOvertaken is that commits came faster than the meta page could be read.
var errOvertaken = errors.New("two commits came while a snapshot was begun")

// ReadPages is [Env.Read] for who wants the pages of the snapshot as well. The
// snapshot may be held for long: no page that is freed meanwhile is used again.
func (e *Env) ReadPages(ctx context.Context, fn func(*Txn, *Pages) error) error {
	return e.readBeside(ctx, func(t *Txn, f *os.File) error {
		p, err := newPages(f, e.pageSize, t.ID())
		if err != nil {
			return err
		}
		return fn(t, p)
	})
}

// readBeside runs fn with a snapshot and the data file, again as long as it comes
// too late to read the meta page of that snapshot.
func (e *Env) readBeside(ctx context.Context, fn func(*Txn, *os.File) error) error {
	f, err := os.Open(filepath.Join(e.dir, dataFile))
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	for try := range snapshotTries {
		err = e.Read(ctx, func(t *Txn) error { return fn(t, f) })
		if !errors.Is(err, errOvertaken) {
			break
		}
		giveWay(try)
	}
	return err
}

// giveWay waits for a commit that is under way, longer after many tries: half of
// its time goes by between the writing of its meta page and the end.
func giveWay(try int) { time.Sleep(time.Duration(try) * 50 * time.Microsecond) }

// newPages returns the pages of the snapshot of transaction txn, which is held.
//
// Its meta page is written over by transaction txn+2. That one begins when txn+1
// has written the other meta page. So if, after the one has been read, the other
// is still older, what was read is whole.
func newPages(f *os.File, size int, txn uint64) (*Pages, error) {
	own, err := readMeta(f, size, txn%metaPages)
	if err != nil {
		return nil, err
	}
	other, err := readMeta(f, size, (txn+1)%metaPages)
	if err != nil {
		return nil, err
	}
	if order.Uint64(own[offMetaTxn:]) != txn || order.Uint64(other[offMetaTxn:]) > txn {
		return nil, errOvertaken
	}
	return pagesOf(f, own)
}

// pagesOf returns the pages of the snapshot that a meta page tells of.
func pagesOf(f *os.File, meta []byte) (*Pages, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &Pages{f: f, size: len(meta), meta: meta}
	p.have = min(p.count(), uint64(fi.Size())/uint64(p.size))
	return p, nil
}

func readMeta(f io.ReaderAt, size int, no uint64) ([]byte, error) {
	b := make([]byte, size)
	if _, err := f.ReadAt(b, int64(no)*int64(size)); err != nil {
		return nil, fmt.Errorf("read meta page %d: %w", no, err)
	}
	if order.Uint16(b[offPageFlags:])&flagMeta == 0 || order.Uint32(b[offMetaMagic:]) != metaMagic {
		return nil, fmt.Errorf("page %d is no meta page", no)
	}
	return b, nil
}

// count returns how many pages the snapshot counts, free ones with them.
func (p *Pages) count() uint64 { return order.Uint64(p.meta[offMetaLast:]) + 1 }

// Size returns how many bytes [Pages.Copy] writes.
func (p *Pages) Size() int64 { return int64(p.have) * int64(p.size) }

// Copy writes a data file that holds the snapshot, with its free pages.
func (p *Pages) Copy(ctx context.Context, w io.Writer) error {
	if err := p.writeMetas(w, p.meta); err != nil {
		return err
	}
	block := make([]byte, copyBlock)
	for at, end := int64(metaPages*p.size), p.Size(); at < end; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := p.f.ReadAt(block[:min(int64(len(block)), end-at)], at)
		if n == 0 {
			return fmt.Errorf("read %s at %d: %w", dataFile, at, err)
		}
		if _, err := w.Write(block[:n]); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// writeMetas writes both meta pages. The one that is not of the snapshot's own
// transaction tells of the same pages, by the number before.
func (p *Pages) writeMetas(w io.Writer, meta []byte) error {
	txn := order.Uint64(meta[offMetaTxn:])
	for no := range uint64(metaPages) {
		b := make([]byte, p.size)
		copy(b, meta[:metaEnd])
		order.PutUint64(b[offPageNo:], no)
		if no != txn%metaPages {
			order.PutUint64(b[offMetaTxn:], txn-1)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// page reads n pages from number no on.
func (p *Pages) page(no uint64, n int) ([]byte, error) {
	if no < metaPages || no >= p.have || uint64(n) > p.have-no {
		return nil, fmt.Errorf("page %d is missing", no)
	}
	b := make([]byte, n*p.size)
	if _, err := p.f.ReadAt(b, int64(no)*int64(p.size)); err != nil {
		return nil, fmt.Errorf("page %d: %w", no, err)
	}
	return b, nil
}

// newestMeta returns the meta page of the last commit to a file at rest.
func newestMeta(f io.ReaderAt) ([]byte, error) {
	head := make([]byte, metaEnd)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read meta page: %w", err)
	}
	size := int(order.Uint32(head[offMetaFree:])) // the free list's record begins with it
	if size < 256 || size > 1<<16 || size&(size-1) != 0 {
		return nil, fmt.Errorf("pages of %d bytes: it is no LMDB file", size)
	}
	a, err := readMeta(f, size, 0)
	if err != nil {
		return nil, err
	}
	b, err := readMeta(f, size, 1)
	if err != nil {
		return nil, err
	}
	if order.Uint64(b[offMetaTxn:]) > order.Uint64(a[offMetaTxn:]) {
		a = b
	}
	return bytes.Clone(a), nil
}
