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
	lists uint64   // ids given to the users of cursors
	lent  [][]byte // copies handed out; only under the invariants tag
}

// A cursor is the one LMDB cursor of a table in a transaction, shared by all
// lists of the table.
type cursor struct {
	*lmdb.Cursor
	live bool   // belongs to the present run of the transaction
	at   uint64 // id of who moved it last, 0 for nobody who minds

	bound [index.PostingSize]byte // what is looked for
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

// mangle ends the life of what was lent.
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
	return t.lookUp(table, key)
}

// lookUp is Get without counting.
func (t *Txn) lookUp(table int, key []byte) ([]byte, bool, error) {
	val, err := t.txn.Get(t.env.tabs[table], key)
	if lmdb.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, t.fail("get", table, err)
	}
	return t.lend(val), true, nil
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
	for _, no := range []lmdb.Errno{lmdb.Corrupted, lmdb.PageNotFound, lmdb.BadTxn} {
		if isErrno(err, no) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
			break
		}
	}
	return fmt.Errorf("%s table %s: %w", what, t.env.opts.Tables[table].Name, err)
}

// ErrDamaged is what a transaction returns, wrapped, that has met a page which
// is none of its table. It returns it for all that is asked of it afterwards,
// too; the next transaction can read what lies elsewhere.
var ErrDamaged = errors.New("damaged page")

// AppendInt appends n as the key of an IntegerKey table.
func AppendInt(dst []byte, n uint64) []byte { return binary.NativeEndian.AppendUint64(dst, n) }

// Int reads the key of an IntegerKey table.
func Int(key []byte) uint64 { return binary.NativeEndian.Uint64(key) }
