package lmdbx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// A compactor writes the pages of a snapshot that are in use, in the order of
// the trees, under new numbers: each page after those below it, so that the root
// comes last.
type compactor struct {
	ctx  context.Context
	p    *Pages
	w    *bufio.Writer
	next uint64 // number of the next page written
	end  uint64 // how many there will be, the meta pages with them
}

// errLeak is that more or fewer pages are in use than the free list leaves. No
// data is lost by it.
var errLeak = errors.New("the free list does not agree with the pages in use, so no compacted copy can be made: export and import do the same")

// CompactSize returns how many bytes [Pages.Compact] writes.
func (p *Pages) CompactSize() (int64, error) {
	n, err := p.used()
	return int64(n) * int64(p.size), err
}

// used returns how many pages are not free.
func (p *Pages) used() (uint64, error) {
	r := freeReader{f: p.f, pageSize: p.size, pages: p.have, left: p.have}
	free := uint64(0)
	if err := r.readFrom(p.meta, func(uint64) { free++ }); err != nil {
		return 0, fmt.Errorf("read the list of free pages: %w", err)
	}
	for kind := range 3 {
		free += order.Uint64(p.meta[offMetaFree+offDBPages+8*kind:])
	}
	if free > p.count()-metaPages {
		return 0, errLeak
	}
	return p.count() - free, nil
}

// Compact writes a data file that holds the snapshot and has no free pages.
func (p *Pages) Compact(ctx context.Context, w io.Writer) error {
	end, err := p.used()
	if err != nil {
		return err
	}
	c := compactor{ctx: ctx, p: p, w: bufio.NewWriterSize(w, copyBlock), next: metaPages, end: end}
	meta := append([]byte(nil), p.meta...)
	order.PutUint16(meta[offMetaFree+offDBDepth:], 0)
	clear(meta[offMetaFree+offDBPages:][:offDBRoot-offDBPages])
	order.PutUint64(meta[offMetaFree+offDBRoot:], noPage)
	order.PutUint64(meta[offMetaLast:], end-1)
	root := order.Uint64(meta[offMetaMain+offDBRoot:])
	if root != noPage {
		order.PutUint64(meta[offMetaMain+offDBRoot:], end-1)
	}
	if err := p.writeMetas(c.w, meta); err != nil {
		return err
	}
	if root != noPage {
		if _, err := c.tree(root, false, maxTreeDepth); err != nil {
			return err
		}
	}
	if c.next != end {
		return errLeak
	}
	return c.w.Flush()
}

// tree writes the page with that number and all below it, and returns its new
// number. Inner trees, which hold the values of one key, have nothing below
// their leaves.
func (c *compactor) tree(no uint64, inner bool, depth int) (uint64, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	if depth == 0 {
		return 0, fmt.Errorf("page %d: a tree goes in circles", no)
	}
	page, err := c.p.page(no, 1)
	if err != nil {
		return 0, err
	}
	switch flags := order.Uint16(page[offPageFlags:]); {
	case flags&flagBranch != 0:
		err = c.nodes(no, page, func(node []byte) error { return c.branch(node, inner, depth-1) })
	case flags&flagLeaf == 0:
		err = fmt.Errorf("page %d is in no tree", no)
	case flags&flagLeaf2 == 0 && !inner:
		err = c.nodes(no, page, func(node []byte) error { return c.leaf(node, depth-1) })
	}
	if err != nil {
		return 0, err
	}
	return c.write(page, 1)
}

// nodes calls fn with each node of a page, from its header on.
func (c *compactor) nodes(no uint64, page []byte, fn func(node []byte) error) error {
	lower, upper := int(order.Uint16(page[offPageLower:])), int(order.Uint16(page[offPageUpper:]))
	if lower < pageHeader || lower > upper || upper > len(page) {
		return fmt.Errorf("page %d is broken", no)
	}
	clear(page[lower:upper]) // what was there once need not be kept
	for at := pageHeader; at+2 <= lower; at += 2 {
		node := int(order.Uint16(page[at:]))
		if node+nodeHeader > len(page) {
			return fmt.Errorf("page %d is broken", no)
		}
		if err := fn(page[node:]); err != nil {
			return err
		}
	}
	return nil
}

// branch writes what a branch's node points to.
func (c *compactor) branch(node []byte, inner bool, depth int) error {
	no, err := c.tree(child(node), inner, depth)
	if err != nil {
		return err
	}
	order.PutUint32(node, uint32(no))
	order.PutUint16(node[4:], uint16(no>>32))
	return nil
}

// leaf writes what a leaf's node points to, if anything: the pages of a large
// value, or the tree of another table or of the values of a key.
func (c *compactor) leaf(node []byte, depth int) error {
	flags, key := order.Uint16(node[4:]), int(order.Uint16(node[6:]))
	if flags&(nodeBigData|nodeSubData) == 0 {
		return nil
	}
	data := node[min(len(node), nodeHeader+key):]
	switch {
	case flags&nodeBigData != 0 && len(data) >= pageNumberLen:
		no, err := c.overflow(order.Uint64(data))
		order.PutUint64(data, no)
		return err
	case flags&nodeSubData != 0 && len(data) >= dbSize:
		root := order.Uint64(data[offDBRoot:])
		if root == noPage {
			return nil
		}
		no, err := c.tree(root, flags&nodeDupData != 0, depth)
		order.PutUint64(data[offDBRoot:], no)
		return err
	}
	return errors.New("a leaf is broken")
}

// overflow writes the pages of a large value.
func (c *compactor) overflow(no uint64) (uint64, error) {
	first, err := c.p.page(no, 1)
	if err != nil {
		return 0, err
	}
	n := order.Uint32(first[offPageCount:])
	if order.Uint16(first[offPageFlags:])&flagOverflow == 0 || n == 0 || uint64(n) > c.end {
		return 0, fmt.Errorf("page %d holds no large value", no)
	}
	pages := first
	if n > 1 {
		if pages, err = c.p.page(no, int(n)); err != nil {
			return 0, err
		}
	}
	return c.write(pages, uint64(n))
}

// write writes pages under the next number, which it returns.
func (c *compactor) write(pages []byte, n uint64) (uint64, error) {
	if c.end-c.next < n {
		return 0, errLeak
	}
	no := c.next
	c.next += n
	order.PutUint64(pages[offPageNo:], no)
	_, err := c.w.Write(pages)
	return no, err
}
