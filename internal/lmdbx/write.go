package lmdbx

import (
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
	err := t.txn.Del(t.env.tabs[table], key, val)
	if lmdb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, t.wrote("delete", table, err)
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
	return t.wrote("put", table, c.PutMulti(key, postings, index.PostingSize, 0))
}
