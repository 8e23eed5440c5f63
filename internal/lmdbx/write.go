package lmdbx

import (
	"bytes"
	"slices"
	"sort"

	"github.com/PowerDNS/lmdb-go/lmdb"

	"wok/index"
)

// wrote notes that a write has been done, which moves pages, and so ends the
// life of what the transaction has lent.
func (t *Txn) wrote(what string, table int, err error) error {
	t.mangle()
	return t.fail(what, table, err)
}

// Put stores val under key: over the old value, or in a DupSort table beside
// the others.
func (t *Txn) Put(table int, key, val []byte) error {
	return t.wrote("put", table, t.txn.Put(t.env.tabs[table], key, val, 0))
}

// Append stores val under a key above all keys of the table, filling pages to
// the end.
func (t *Txn) Append(table int, key, val []byte) error {
	return t.wrote("append", table, t.txn.Put(t.env.tabs[table], key, val, lmdb.Append))
}

// PutReserve stores a value of n bytes under key and returns its memory to be
// written before the next call.
func (t *Txn) PutReserve(table int, key []byte, n int) ([]byte, error) {
	b, err := t.txn.PutReserve(t.env.tabs[table], key, n, 0)
	return b, t.wrote("put", table, err)
}

// AppendReserve makes room for a value of n bytes under a key above all keys of
// the table and returns its memory, to be written before the next call.
func (t *Txn) AppendReserve(table int, key []byte, n int) ([]byte, error) {
	b, err := t.txn.PutReserve(t.env.tabs[table], key, n, lmdb.Append)
	return b, t.wrote("append", table, err)
}

// Delete removes key, or in a DupSort table its value val (nil for all), and
// reports whether it was there.
func (t *Txn) Delete(table int, key, val []byte) (bool, error) {
	if val == nil && t.env.opts.Tables[table].DupSort {
		return t.deleteAll(table, key)
	}
	err := t.txn.Del(t.env.tabs[table], key, val)
	if lmdb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, t.wrote("delete", table, err)
}

// deleteAll removes all values of key: the binding cannot say so by a nil value.
func (t *Txn) deleteAll(table int, key []byte) (bool, error) {
	c, err := t.cursor(table)
	if err != nil {
		return false, err
	}
	c.at = 0
	if _, _, err := c.Get(key, nil, lmdb.Set); err != nil {
		if lmdb.IsNotFound(err) {
			return false, nil
		}
		return false, t.fail("find", table, err)
	}
	err = c.Del(lmdb.NoDupData)
	return err == nil, t.wrote("delete", table, err)
}

// Empty removes everything from a table.
func (t *Txn) Empty(table int) error {
	return t.wrote("empty", table, t.txn.Drop(t.env.tabs[table], false))
}

// PutPostings adds postings, ascending, to the list of key. Those that come
// after the list's last one are appended, which fills its pages to the end;
// LMDB would split them in halves, and most postings come last.
func (t *Txn) PutPostings(table int, key, postings []byte) error {
	if len(postings) == 0 {
		return nil
	}
	c, err := t.cursor(table)
	if err != nil {
		return err
	}
	c.at = 0
	err = c.putPostings(key, postings, lmdb.AppendDup)
	if lmdb.IsErrno(err, lmdb.KeyExist) {
		err = t.insertPostings(c, table, key, postings)
	}
	return t.wrote("put", table, err)
}

func (c *cursor) putPostings(key, postings []byte, flags uint) error {
	switch len(postings) {
	case 0:
		return nil
	case index.PostingSize:
		return c.Put(key, postings, flags)
	}
	return c.PutMulti(key, postings, index.PostingSize, flags)
}

const (
	// inlinePostings is how long a list can be, at most, before it gets pages
	// of its own, whose fill is worth some care.
	inlinePostings = 128
	// maxTail is how many postings are moved up to fill pages to the end.
	maxTail = 64
)

// insertPostings adds postings of which the first, at least, is not above the
// last one of the list. Most of them belong near its end all the same: they are
// a little older than some that are there. Those are taken out and appended
// again among the new ones, since LMDB fills pages only by appending. What
// belongs further down is inserted there.
func (t *Txn) insertPostings(c *cursor, table int, key, postings []byte) error {
	tail, err := c.tail(key)
	if err != nil {
		return err
	}
	if tail == nil {
		return c.putPostings(key, postings, 0)
	}
	first, tail := tail[:index.PostingSize], tail[index.PostingSize:]
	near := notBelow(postings, first)
	if bytes.HasPrefix(postings[near:], first) {
		near += index.PostingSize
	}
	if near < len(postings) {
		tail = tail[notBelow(tail, postings[near:]):]
	} else {
		tail = nil
	}
	for at := 0; at < len(tail); at += index.PostingSize {
		if err := t.txn.Del(t.env.tabs[table], key, tail[at:at+index.PostingSize]); err != nil {
			return err
		}
	}
	if err := c.putPostings(key, postings[:near], 0); err != nil {
		return err
	}
	return c.putPostings(key, merge(tail, postings[near:]), lmdb.AppendDup)
}

// tail returns a copy of the last postings of a long list, at least one, or nil
// where the list is short.
func (c *cursor) tail(key []byte) ([]byte, error) {
	if _, _, err := c.Get(key, nil, lmdb.Set); err != nil {
		return nil, err
	}
	if n, err := c.Count(); err != nil || n <= inlinePostings {
		return nil, err
	}
	page, err := c.lastPage(key)
	if err != nil {
		return nil, err
	}
	const most = maxTail * index.PostingSize
	last := page[max(0, len(page)-most):]
	if len(last) == most {
		return bytes.Clone(last), nil
	}
	_, page, err = c.Get(key, page[:index.PostingSize], opPrevMultiple)
	if err != nil && !lmdb.IsNotFound(err) {
		return nil, err
	}
	before := page[max(0, len(page)+len(last)-most):]
	return slices.Concat(before, last), nil
}

// notBelow returns where in postings those begin, in bytes, that are not below
// the first of bound.
func notBelow(postings, bound []byte) int {
	const size = index.PostingSize
	n := sort.Search(len(postings)/size, func(i int) bool {
		return bytes.Compare(postings[i*size:][:size], bound[:size]) >= 0
	})
	return n * size
}

// merge returns the postings of a and b, ascending, each once.
func merge(a, b []byte) []byte {
	const size = index.PostingSize
	dst := make([]byte, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := bytes.Compare(a[:size], b[:size]); {
		case order < 0:
			dst, a = append(dst, a[:size]...), a[size:]
		case order > 0:
			dst, b = append(dst, b[:size]...), b[size:]
		default:
			a = a[size:]
		}
	}
	return append(append(dst, a...), b...)
}
