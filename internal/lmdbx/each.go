package lmdbx

import (
	"errors"
	"fmt"
	"math"

	"github.com/PowerDNS/lmdb-go/lmdb"

	"wok/index"
)

// ErrStop, returned by a callback, ends an iteration without an error.
var ErrStop = errors.New("stop")

var errMoved = errors.New("the callback of an iteration moved its cursor")

// Each calls fn with every key and value of the table from the first key of at
// least from (nil for all), in order, until fn fails. In a read transaction
// only; fn may use the transaction, but not what moves the cursor of the same
// table: lists, [Txn.Length], [Txn.Has] and other iterations.
func (t *Txn) Each(table int, from []byte, fn func(key, val []byte) error) error {
	if def := &t.env.opts.Tables[table]; def.IntegerKey && !def.DupSort {
		return t.eachNumber(table, from, fn)
	}
	op := uint(lmdb.First)
	if from != nil {
		op = lmdb.SetRange
	}
	t.Work.Seeks++
	return t.iterate(table, from, op, lmdb.Next, func(_ *cursor, key, val []byte) error {
		return fn(t.lend(key), t.lend(val))
	})
}

// maxGap is how many numbers in a row are looked up in vain before the next one
// that is there is sought.
const maxGap = 64

// eachNumber is Each for a table of numbers in a row, most of which are there.
// It looks up each of them: a look-up tells of a damaged page, where LMDB's step
// to the next page, which it trusts, ends the process.
func (t *Txn) eachNumber(table int, from []byte, fn func(key, val []byte) error) error {
	last, _, ok, err := t.Last(table) // the seek that is counted
	if err != nil || !ok {
		return err
	}
	end, n := Int(last), uint64(0)
	if from != nil {
		n = Int(from)
	}
	var buf [8]byte
	for gap, more := 0, n <= end; more; more, n = n < end, n+1 {
		key := AppendInt(buf[:0], n)
		val, ok, err := t.lookUp(table, key)
		if err == nil && !ok {
			if gap++; gap < maxGap {
				continue
			}
			if key, val, ok, err = t.find(table, key, lmdb.SetRange); ok {
				n = Int(key)
			}
		}
		if err != nil || !ok {
			return err
		}
		gap = 0
		if err := fn(key, val); errors.Is(err, ErrStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// A KeyInfo says how long the list of a key is.
type KeyInfo struct {
	Postings uint64
	// Pages is how many pages of its own the list has for its postings: none
	// where they stand beside the key. LMDB keeps no count of the branch pages
	// above them, one for some 150 below.
	Pages uint64
}

// EachKey calls fn with every distinct key of a DupSort table, in order, and
// how many values it has, until fn fails. The rules are those of [Txn.Each].
func (t *Txn) EachKey(table int, fn func(key []byte, n uint64) error) error {
	return t.EachKeyFrom(table, nil, fn)
}

// EachKeyFrom is [Txn.EachKey] from the first key of at least from on.
func (t *Txn) EachKeyFrom(table int, from []byte, fn func(key []byte, n uint64) error) error {
	op := uint(lmdb.First)
	if len(from) > 0 {
		op = lmdb.SetRange
	}
	return t.iterate(table, from, op, lmdb.NextNoDup, func(c *cursor, key, _ []byte) error {
		t.Work.Seeks++
		n, err := c.Count()
		if err != nil {
			return t.fail("count", table, err)
		}
		return fn(t.lend(key), n)
	})
}

// EachKeyInfo is [Txn.EachKey] with all there is to know. It reads every page
// of a table of postings.
func (t *Txn) EachKeyInfo(table int, fn func(key []byte, info KeyInfo) error) error {
	return t.iterate(table, nil, lmdb.First, lmdb.NextNoDup, func(c *cursor, key, val []byte) error {
		t.Work.Seeks++
		n, err := c.Count()
		if err != nil {
			return t.fail("count", table, err)
		}
		info := KeyInfo{Postings: n}
		for op := uint(lmdb.GetMultiple); ; op = lmdb.NextMultiple {
			_, page, err := c.Get(key, val, op)
			if lmdb.IsNotFound(err) {
				return fn(t.lend(key), info)
			}
			if err != nil {
				return t.fail("read page", table, err)
			}
			t.Work.Pages++
			if !t.env.fillsPage(page) {
				return fn(t.lend(key), info)
			}
			info.Pages++
		}
	})
}

// EachPosting calls fn with the postings of a list upwards, oldest first, from
// the first one of at least from on, until fn fails. A step costs some five times
// that of a [List], which goes downwards. The rules are those of [Txn.Each].
func (t *Txn) EachPosting(table int, key []byte, from index.Posting, fn func(index.Posting) error) error {
	c, err := t.cursor(table)
	if err != nil {
		return err
	}
	t.lists++
	id := t.lists
	c.at = id
	t.Work.Seeks++
	_, val, err := c.Get(key, from.Append(c.bound[:0]), lmdb.GetBothRange)
	for ; err == nil; _, val, err = c.Get(key, nil, lmdb.NextDup) {
		if err := fn(index.ReadPosting(val)); errors.Is(err, ErrStop) {
			return nil
		} else if err != nil {
			return err
		}
		if c.at != id {
			return t.fail("read", table, errMoved)
		}
	}
	if lmdb.IsNotFound(err) {
		return nil
	}
	return t.fail("read", table, err)
}

// iterate moves the cursor of a table by op first and by next then.
func (t *Txn) iterate(table int, from []byte, op, next uint, fn func(c *cursor, key, val []byte) error) error {
	c, err := t.cursor(table)
	if err != nil {
		return err
	}
	t.lists++
	id := t.lists
	c.at = id
	for {
		key, val, err := c.Get(from, nil, op)
		if lmdb.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return t.fail("read", table, err)
		}
		if err := fn(c, key, val); errors.Is(err, ErrStop) {
			return nil
		} else if err != nil {
			return err
		}
		if c.at != id {
			return t.fail("read", table, errMoved)
		}
		from, op = nil, next
	}
}

// Last returns the largest key of the table and its value, borrowed.
func (t *Txn) Last(table int) (key, val []byte, ok bool, err error) {
	return t.find(table, nil, lmdb.Last)
}

// find moves the cursor of a table to where op says for key, and returns the row
// that is there, if one is.
func (t *Txn) find(table int, key []byte, op uint) (found, val []byte, ok bool, err error) {
	c, err := t.cursor(table)
	if err != nil {
		return nil, nil, false, err
	}
	c.at = 0
	t.Work.Seeks++
	found, val, err = c.Get(key, nil, op)
	if lmdb.IsNotFound(err) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, t.fail("read", table, err)
	}
	return t.lend(found), t.lend(val), true, nil
}

// Has reports whether a DupSort table holds val under key.
func (t *Txn) Has(table int, key, val []byte) (bool, error) {
	c, err := t.cursor(table)
	if err != nil {
		return false, err
	}
	c.at = 0
	t.Work.Seeks++
	_, _, err = c.Get(key, val, lmdb.GetBoth)
	if lmdb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, t.fail("find", table, err)
}

// FreePages returns how many pages of the file are free: those that can be
// used again, and those that wait for readers of older snapshots. In a read
// transaction only.
func (t *Txn) FreePages() (uint64, error) { return t.freePages(math.MaxUint64) }

// freePages counts the pages freed by transactions before txn.
func (t *Txn) freePages(txn uint64) (uint64, error) {
	const freeList = lmdb.DBI(0)
	c, err := t.txn.OpenCursor(freeList)
	if err != nil {
		return 0, fmt.Errorf("open free list: %w", err)
	}
	defer c.Close()
	for n := uint64(0); ; {
		key, val, err := c.Get(nil, nil, lmdb.Next)
		if lmdb.IsNotFound(err) {
			return n, nil
		}
		if err != nil {
			return 0, fmt.Errorf("read free list: %w", err)
		}
		if len(key) >= pageNumberLen && order.Uint64(key) >= txn {
			return n, nil
		}
		if len(val) >= pageNumberLen {
			n += order.Uint64(val)
		}
	}
}

// UsedBytes returns how many bytes of the file are in use: all but its free
// pages, which are written to before the file grows. In a read transaction only.
func (t *Txn) UsedBytes() (uint64, error) {
	info, err := t.env.info()
	if err != nil {
		return 0, err
	}
	free, err := t.FreePages()
	return uint64(info.FileSize) - free*uint64(info.PageSize), err
}
