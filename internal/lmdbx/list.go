package lmdbx

import (
	"sort"
	"unsafe"

	"github.com/PowerDNS/lmdb-go/lmdb"

	"wok/index"
)

// opPrevMultiple is MDB_PREV_MULTIPLE, which the binding does not name.
const opPrevMultiple = 18

// A List walks one posting list downwards, newest posting first. It stands on
// a posting or, at the end, on none.
//
// It holds a page of the map and reads postings out of it without calling
// LMDB. All lists of a table share the transaction's one cursor, so a merge of
// thousands of lists costs no cursors: a list that is not the last one to have
// used it pays a descent, once a page, to find its place again.
//
// A list belongs to the run of its transaction. To pause, keep the last
// posting; to resume, open the list in the next transaction and [List.Seek].
// It may be moved in memory, but a copy must not be used beside the original.
type List struct {
	txn   *Txn
	id    uint64 // unlike every other list of the transaction
	table int
	key   []byte
	page  []byte // postings ascending; nil before the first seek
	at    int    // index in page of the posting the list stands on
	whole bool   // page is the whole list
	done  bool
}

// List returns the list of key in a table of postings, before its first
// posting. The key must stay unchanged while the list is used.
func (t *Txn) List(table int, key []byte) List {
	t.lists++
	return List{txn: t, id: t.lists, table: table, key: key}
}

// Length returns how many postings the list of key holds, in O(1) once the key
// is found.
func (t *Txn) Length(table int, key []byte) (uint64, error) {
	c, err := t.cursor(table)
	if err != nil {
		return 0, err
	}
	c.at = 0
	t.Work.Seeks++
	if _, _, err := c.Get(key, nil, lmdb.Set); err != nil {
		if lmdb.IsNotFound(err) {
			return 0, nil
		}
		return 0, t.fail("find", table, err)
	}
	n, err := c.Count()
	return n, t.fail("count", table, err)
}

// Key returns the key of the list.
func (l *List) Key() []byte { return l.key }

// Done reports whether the list has ended.
func (l *List) Done() bool { return l.done }

// Posting returns the posting the list stands on; only after Seek or Next
// returned true.
func (l *List) Posting() index.Posting { return index.ReadPosting(l.page[l.at*index.PostingSize:]) }

// Next moves down by one posting and reports whether there is one.
func (l *List) Next() (bool, error) {
	if l.at > 0 {
		l.at--
		return true, nil
	}
	return l.below()
}

// Page returns the postings from the lowest on the page that the list stands on
// up to the one it stands on, as they are stored and borrowed; only after Seek,
// Next or NextPage returned true.
func (l *List) Page() []byte { return l.page[:(l.at+1)*index.PostingSize] }

// NextPage moves down to the posting below those of Page and reports whether
// there is one.
func (l *List) NextPage() (bool, error) { return l.below() }

// Seek moves down to the largest posting that is at most p, and reports
// whether there is one. It never moves up: a p above where the list stands
// leaves it there.
func (l *List) Seek(p index.Posting) (bool, error) {
	switch {
	case l.done:
		return false, nil
	case l.page == nil:
		return l.first(p)
	case !p.Less(l.Posting()):
		return true, nil
	case l.within(p):
		return true, nil
	case l.whole:
		return l.end()
	}
	return l.descend(p)
}

// within moves down in the loaded page to the largest posting of at most p and
// reports whether there is one. It gallops, because most seeks are short.
func (l *List) within(p index.Posting) bool {
	if p.Less(l.posting(0)) {
		return false
	}
	lo, step := l.at, 1
	for lo > 0 && p.Less(l.posting(lo)) {
		lo = max(0, lo-step)
		step *= 2
	}
	// posting(lo) <= p, and the answer lies between lo and where we stand.
	n := l.at - lo
	l.at = lo + sort.Search(n, func(i int) bool { return p.Less(l.posting(lo + 1 + i)) })
	return true
}

// fillsPage reports whether postings, read from the map, have a page of their
// own: they begin right behind a page's header then. A short list stands
// inside the page of its key, and that begins with another header.
func (e *Env) fillsPage(postings []byte) bool {
	return len(postings) > 0 && uintptr(unsafe.Pointer(&postings[0]))%uintptr(e.pageSize) == pageHeader
}

func (l *List) posting(i int) index.Posting {
	return index.ReadPosting(l.page[i*index.PostingSize:])
}

// load takes page on and stands on its last posting.
func (l *List) load(page []byte) {
	l.txn.Work.Pages++
	l.page = l.txn.lend(page)
	l.at = len(page)/index.PostingSize - 1
}

// end notes that nothing is left below.
func (l *List) end() (bool, error) {
	l.done, l.at = true, 0
	return false, nil
}

// first finds the list and, where one page holds all of it, keeps that page:
// most lists are short and then need no other call.
func (l *List) first(p index.Posting) (bool, error) {
	c, err := l.txn.cursor(l.table)
	if err != nil {
		return false, err
	}
	c.at = l.id
	l.txn.Work.Seeks++
	_, val, err := c.Get(l.key, nil, lmdb.SetKey)
	if lmdb.IsNotFound(err) {
		return l.end()
	}
	if err != nil {
		return false, l.txn.fail("find", l.table, err)
	}
	n, err := c.Count()
	if err != nil {
		return false, l.txn.fail("count", l.table, err)
	}
	page, err := l.current(c, val)
	if err != nil {
		return false, err
	}
	if n*index.PostingSize != uint64(len(page)) {
		if p == index.Newest {
			l.txn.Work.Seeks++
			return l.last(c)
		}
		return l.descend(p)
	}
	l.whole = true
	l.load(page)
	if !l.within(p) {
		return l.end()
	}
	return true, nil
}

// current returns the page the cursor stands on. A key with one posting has no
// page of its own and LMDB leaves the value as it was given: val.
func (l *List) current(c *cursor, val []byte) ([]byte, error) {
	_, page, err := c.Get(l.key, val, lmdb.GetMultiple)
	return page, l.txn.fail("read page", l.table, err)
}

// descend finds the largest posting of at most p from the root.
func (l *List) descend(p index.Posting) (bool, error) {
	c, err := l.txn.cursor(l.table)
	if err != nil {
		return false, err
	}
	c.at = l.id
	l.txn.Work.Seeks++
	_, val, err := c.Get(l.key, p.Append(c.bound[:0]), lmdb.GetBothRange)
	if lmdb.IsNotFound(err) { // all postings are below
		if _, _, err := c.Get(l.key, nil, lmdb.Set); err != nil {
			return false, l.txn.fail("find", l.table, err)
		}
		return l.last(c)
	}
	if err != nil {
		return false, l.txn.fail("seek", l.table, err)
	}
	page, err := l.current(c, val)
	if err != nil {
		return false, err
	}
	l.load(page)
	if l.within(p) {
		return true, nil
	}
	return l.prevPage(c)
}

// last moves to the list's last posting, from a cursor that stands on its key.
func (l *List) last(c *cursor) (bool, error) {
	page, err := c.lastPage(l.key)
	if err != nil {
		return false, l.txn.fail("seek last", l.table, err)
	}
	l.load(page)
	return true, nil
}

// lastPage moves a cursor that stands on key to the last page of its list.
// LAST_DUP leaves it past the end, where it gives no page, so the last value is
// looked up once more.
func (c *cursor) lastPage(key []byte) ([]byte, error) {
	_, val, err := c.Get(key, nil, lmdb.LastDup)
	if err != nil {
		return nil, err
	}
	if _, val, err = c.Get(key, append(c.bound[:0], val...), lmdb.GetBothRange); err != nil {
		return nil, err
	}
	_, page, err := c.Get(key, val, lmdb.GetMultiple)
	return page, err
}

// below moves to the page below the loaded one.
func (l *List) below() (bool, error) {
	if l.done || l.whole {
		return l.end()
	}
	if l.page == nil {
		return l.first(index.Newest)
	}
	c, err := l.txn.cursor(l.table)
	if err != nil {
		return false, err
	}
	if c.at == l.id {
		return l.prevPage(c)
	}
	lowest := l.posting(0)
	if lowest == index.Oldest {
		return l.end()
	}
	return l.descend(lowest.Prev())
}

func (l *List) prevPage(c *cursor) (bool, error) {
	_, page, err := c.Get(l.key, l.page[:index.PostingSize], opPrevMultiple)
	if lmdb.IsNotFound(err) {
		return l.end()
	}
	if err != nil {
		return false, l.txn.fail("read page below", l.table, err)
	}
	l.load(page)
	return true, nil
}
