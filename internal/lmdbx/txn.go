package lmdbx

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/PowerDNS/lmdb-go/lmdb"

	"wok/index"
	"wok/internal/invariants"
)

// Work counts what a transaction has asked of LMDB. The numbers are exact, so
// tests may assert them.
type Work struct {
	Seeks uint64 // descents from the root of a table
	Pages uint64 // pages of postings read
}

// A Txn is a read or write transaction. Bytes that it returns are borrowed:
// they are valid until the transaction ends and, in a write transaction, until
// the next write.
type Txn struct {
	Work Work

	env   *Env
	txn   *lmdb.Txn
	curs  []cursor // by table, opened when first needed
	lists uint64   // ids given to lists
	lent  [][]byte // copies handed out; only under the invariants tag
}

// A cursor is the one LMDB cursor of a table in a transaction, shared by all
// lists of the table.
type cursor struct {
	*lmdb.Cursor
	live bool   // belongs to the present run of the transaction
	at   uint64 // id of the list whose page it stands on, 0 for none
}

func newTxn(e *Env, txn *lmdb.Txn) *Txn {
	return &Txn{env: e, txn: txn, curs: make([]cursor, len(e.opts.Tables))}
}

func (e *Env) beginRead() (*Txn, error) {
	txn, err := e.env.BeginTxn(nil, lmdb.Readonly)
	if err != nil {
		return nil, err
	}
	txn.RawRead = true
	return newTxn(e, txn), nil
}

// reset ends the snapshot and keeps the transaction's slot and cursors.
func (t *Txn) reset() {
	t.mangle()
	t.txn.Reset()
	t.Work = Work{}
	for i := range t.curs {
		t.curs[i].live, t.curs[i].at = false, 0
	}
}

func (t *Txn) abort() {
	for _, c := range t.curs {
		if c.Cursor != nil {
			c.Close()
		}
	}
	t.txn.Abort()
}

// lend returns b, memory of the map, to the caller. Under the invariants tag
// it is a copy that is overwritten when the transaction ends, so that a view
// that outlives its transaction is seen at once.
func (t *Txn) lend(b []byte) []byte {
	if !invariants.Enabled {
		return b
	}
	c := append([]byte(nil), b...)
	t.lent = append(t.lent, c)
	return c
}

func (t *Txn) mangle() {
	for _, b := range t.lent {
		invariants.Mangle(b)
	}
	t.lent = nil
}

// ID returns the number of the snapshot that a read transaction sees.
func (t *Txn) ID() uint64 { return uint64(t.txn.ID()) }

// Get returns the value of key, borrowed, and whether there is one; in a
// DupSort table the first value.
func (t *Txn) Get(table int, key []byte) ([]byte, bool, error) {
	t.Work.Seeks++
	val, err := t.txn.Get(t.env.tabs[table], key)
	if lmdb.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, t.fail("get", table, err)
	}
	return t.lend(val), true, nil
}

// Put stores val under key: over the old value, or in a DupSort table beside
// the others.
func (t *Txn) Put(table int, key, val []byte) error {
	return t.fail("put", table, t.txn.Put(t.env.tabs[table], key, val, 0))
}

// Append stores val under a key above all keys of the table, filling pages to
// the end.
func (t *Txn) Append(table int, key, val []byte) error {
	return t.fail("append", table, t.txn.Put(t.env.tabs[table], key, val, lmdb.Append))
}

// PutReserve stores a value of n bytes under key and returns its memory to be
// written before the next call.
func (t *Txn) PutReserve(table int, key []byte, n int) ([]byte, error) {
	b, err := t.txn.PutReserve(t.env.tabs[table], key, n, 0)
	return b, t.fail("put", table, err)
}

// Delete removes key, or in a DupSort table its value val (nil for all), and
// reports whether it was there.
func (t *Txn) Delete(table int, key, val []byte) (bool, error) {
	err := t.txn.Del(t.env.tabs[table], key, val)
	if lmdb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, t.fail("delete", table, err)
}

// Entries returns how many values the table holds.
func (t *Txn) Entries(table int) (uint64, error) {
	st, err := t.txn.Stat(t.env.tabs[table])
	if err != nil {
		return 0, t.fail("stat", table, err)
	}
	return st.Entries, nil
}

// TableSize says how large a table is. Pages do not count the inner trees of
// long lists, which LMDB keeps no sum of.
type TableSize struct {
	Entries uint64
	Pages   uint64
}

// Size returns the size of a table.
func (t *Txn) Size(table int) (TableSize, error) {
	st, err := t.txn.Stat(t.env.tabs[table])
	if err != nil {
		return TableSize{}, t.fail("stat", table, err)
	}
	return TableSize{st.Entries, st.BranchPages + st.LeafPages + st.OverflowPages}, nil
}

// ErrStop, returned by a callback, ends an iteration without an error.
var ErrStop = errors.New("stop")

// Each calls fn with every key and value of the table from the first key of at
// least from (nil for all), in order, until fn fails. In a read transaction
// only; fn may use the transaction but not iterate the same table.
func (t *Txn) Each(table int, from []byte, fn func(key, val []byte) error) error {
	c, err := t.cursor(table)
	if err != nil {
		return err
	}
	c.at = 0
	op := uint(lmdb.First)
	if from != nil {
		op = lmdb.SetRange
	}
	t.Work.Seeks++
	for {
		key, val, err := c.Get(from, nil, op)
		if lmdb.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return t.fail("read", table, err)
		}
		if err := fn(t.lend(key), t.lend(val)); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
		from, op = nil, lmdb.Next
	}
}

// Last returns the largest key of the table and its value, borrowed.
func (t *Txn) Last(table int) (key, val []byte, ok bool, err error) {
	c, err := t.cursor(table)
	if err != nil {
		return nil, nil, false, err
	}
	c.at = 0
	t.Work.Seeks++
	key, val, err = c.Get(nil, nil, lmdb.Last)
	if lmdb.IsNotFound(err) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, t.fail("read", table, err)
	}
	return t.lend(key), t.lend(val), true, nil
}

// cursor returns the cursor of a table, opened or renewed for this run.
func (t *Txn) cursor(table int) (*cursor, error) {
	c := &t.curs[table]
	if c.live {
		return c, nil
	}
	var err error
	if c.Cursor == nil {
		c.Cursor, err = t.txn.OpenCursor(t.env.tabs[table])
	} else {
		err = c.Renew(t.txn)
	}
	if err != nil {
		return nil, t.fail("open cursor", table, err)
	}
	c.live = true
	return c, nil
}

func (t *Txn) fail(what string, table int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s table %s: %w", what, t.env.opts.Tables[table].Name, err)
}

// AppendInt appends n as the key of an IntegerKey table.
func AppendInt(dst []byte, n uint64) []byte { return binary.NativeEndian.AppendUint64(dst, n) }

// Int reads the key of an IntegerKey table.
func Int(key []byte) uint64 { return binary.NativeEndian.Uint64(key) }

// EachKey calls fn with every distinct key of a DupSort table, in order, and
// how many values it has, until fn fails.
func (t *Txn) EachKey(table int, fn func(key []byte, n uint64) error) error {
	c, err := t.cursor(table)
	if err != nil {
		return err
	}
	c.at = 0
	for op := uint(lmdb.First); ; op = lmdb.NextNoDup {
		t.Work.Seeks++
		key, _, err := c.Get(nil, nil, op)
		if lmdb.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return t.fail("read", table, err)
		}
		n, err := c.Count()
		if err != nil {
			return t.fail("count", table, err)
		}
		if err := fn(t.lend(key), n); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
}

// AppendReserve makes room for a value of n bytes under a key above all keys of
// the table and returns its memory, to be written before the next call.
func (t *Txn) AppendReserve(table int, key []byte, n int) ([]byte, error) {
	b, err := t.txn.PutReserve(t.env.tabs[table], key, n, lmdb.Append)
	return b, t.fail("append", table, err)
}

// PutPostings adds postings, ascending, to the list of key. Where all of them
// come after the list's last one they are appended, which fills pages to the
// end instead of splitting them in halves.
func (t *Txn) PutPostings(table int, key, postings []byte) error {
	if len(postings) == 0 {
		return nil
	}
	if len(postings) == index.PostingSize {
		return t.Put(table, key, postings)
	}
	c, err := t.cursor(table)
	if err != nil {
		return err
	}
	c.at = 0
	return t.fail("put", table, c.PutMulti(key, postings, index.PostingSize, 0))
}
