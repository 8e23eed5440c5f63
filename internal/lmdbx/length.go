package lmdbx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/PowerDNS/lmdb-go/lmdb"
)

// checkLength refuses a data file that was cut: LMDB would not notice, and the
// first look at a page that is missing kills the process.
//
// A file may rightly be shorter than the pages it counts. LMDB does not write
// pages that were taken and given back in one transaction, so the missing
// pages may all be free ones. That is seen in the list of free pages, which is
// read here from the file and not through the map.
func (e *Env) checkLength() error {
	st, err := e.env.Stat()
	if err != nil {
		return fmt.Errorf("read environment stat: %w", err)
	}
	e.pageSize = int(st.PSize)
	return e.env.View(func(txn *lmdb.Txn) error { // pins the free list
		info, err := e.env.Info()
		if err != nil {
			return fmt.Errorf("read environment info: %w", err)
		}
		f, err := os.Open(filepath.Join(e.dir, dataFile))
		if err != nil {
			return err
		}
		defer f.Close()
		fi, err := f.Stat()
		if err != nil {
			return err
		}
		have, want := uint64(fi.Size()/int64(e.pageSize)), uint64(info.LastPNO+1)
		if have >= want {
			return nil
		}
		free, err := freePagesFrom(f, e.pageSize, uint64(txn.ID()), have)
		if err != nil {
			return fmt.Errorf("%s was cut: it has %d of %d pages and no list of free ones: %w", dataFile, have, want, err)
		}
		if free < want-have {
			return fmt.Errorf("%s was cut: it has %d of %d pages, and only %d of the missing ones are free", dataFile, have, want, free)
		}
		return nil
	})
}

// What is needed of LMDB's file format, version 1. A page begins with 16 bytes
// of header; the header of the two meta pages is followed by magic, version,
// an address, the map size, and 48 bytes each for the free list and the root
// table. All integers are in the machine's order.
const (
	pageHeader    = 16
	offPageFlags  = 10 // uint16
	offPageLower  = 12 // uint16: end of the node offsets, which follow the header
	flagBranch    = 0x01
	flagLeaf      = 0x02
	nodeHeader    = 8
	nodeBigData   = 0x01
	offMetaDepth  = pageHeader + 24 + 6  // of the free list: uint16
	offMetaRoot   = pageHeader + 24 + 40 // uint64
	offMetaTxn    = pageHeader + 24 + 2*48 + 8
	maxTreeDepth  = 32
	noPage        = ^uint64(0)
	pageNumberLen = 8
)

var order = binary.NativeEndian

// freePagesFrom counts the free pages with numbers of at least from, as the
// transaction numbered txn knows them. The file has the pages below that.
func freePagesFrom(f io.ReaderAt, pageSize int, txn, from uint64) (uint64, error) {
	r := freeReader{f: f, pageSize: pageSize, pages: from, left: from}
	err := r.read(txn, func(no uint64) {
		if no >= from {
			r.count++
		}
	})
	return r.count, err
}

// A freeReader walks the tree of free pages.
type freeReader struct {
	f        io.ReaderAt
	pageSize int
	pages    uint64 // that the file has
	left     uint64 // pages that may still be read: a tree has each but once
	visit    func(no uint64)
	count    uint64
}

// read calls visit with every free page.
func (r *freeReader) read(txn uint64, visit func(no uint64)) error {
	for no := range uint64(2) {
		meta, err := r.page(no, 1)
		if err != nil {
			return err
		}
		if order.Uint64(meta[offMetaTxn:]) != txn {
			continue
		}
		return r.readFrom(meta, visit)
	}
	return fmt.Errorf("transaction %d has no meta page", txn)
}

// readFrom is read for who has the meta page of the transaction.
func (r *freeReader) readFrom(meta []byte, visit func(no uint64)) error {
	r.visit = visit
	root, depth := order.Uint64(meta[offMetaRoot:]), order.Uint16(meta[offMetaDepth:])
	if root == noPage {
		return nil
	}
	return r.walk(root, min(int(depth), maxTreeDepth))
}

// page reads n pages from number no on.
func (r *freeReader) page(no uint64, n int) ([]byte, error) {
	if no >= r.pages || uint64(n) > r.pages-no {
		return nil, fmt.Errorf("page %d is missing", no)
	}
	if uint64(n) > r.left {
		return nil, errors.New("the free list goes in circles")
	}
	r.left -= uint64(n)
	b := make([]byte, n*r.pageSize)
	if _, err := r.f.ReadAt(b, int64(no)*int64(r.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", no, err)
	}
	return b, nil
}

// walk reads the page with that number and all below it.
func (r *freeReader) walk(no uint64, depth int) error {
	page, err := r.page(no, 1)
	if err != nil {
		return err
	}
	flags, lower := order.Uint16(page[offPageFlags:]), int(order.Uint16(page[offPageLower:]))
	if depth == 0 || flags&(flagBranch|flagLeaf) == 0 || lower < pageHeader || lower > len(page) {
		return fmt.Errorf("page %d is no page of the free list", no)
	}
	for at := pageHeader; at+2 <= lower; at += 2 {
		node := int(order.Uint16(page[at:]))
		switch {
		case node+nodeHeader > len(page):
			err = fmt.Errorf("page %d is broken", no)
		case flags&flagBranch != 0:
			err = r.walk(child(page[node:]), depth-1)
		default:
			err = r.list(page[node:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// child returns the page that a branch's node points to: 48 bits in its first
// three uint16.
func child(node []byte) uint64 {
	return uint64(order.Uint32(node)) | uint64(order.Uint16(node[4:]))<<32
}

// list counts the pages in a leaf's node: a key of 8 bytes, and how many
// numbers follow before the numbers themselves, in the node or on pages of
// their own.
func (r *freeReader) list(node []byte) error {
	if len(node) < nodeHeader+2*pageNumberLen {
		return errors.New("a list of free pages is broken")
	}
	data, size := node[nodeHeader+pageNumberLen:], int(order.Uint32(node))
	if order.Uint16(node[4:])&nodeBigData != 0 {
		no := order.Uint64(data)
		n := (pageHeader + size + r.pageSize - 1) / r.pageSize
		page, err := r.page(no, n)
		if err != nil {
			return err
		}
		data = page[pageHeader:]
	}
	if size < pageNumberLen || size > len(data) {
		return errors.New("a list of free pages is broken")
	}
	n := order.Uint64(data)
	for data = data[pageNumberLen:size]; n > 0 && len(data) >= pageNumberLen; n, data = n-1, data[pageNumberLen:] {
		r.visit(order.Uint64(data))
	}
	return nil
}
