package lmdbx

import (
	"fmt"

	"github.com/PowerDNS/lmdb-go/lmdb"
)

// A Peek is a look at a database before its tables are opened.
type Peek struct {
	Tables []string // names of the tables that exist, at least one
	txn    *lmdb.Txn
}

// Get returns the value of key in the table of that name, borrowed, and whether
// there is one.
func (p *Peek) Get(table string, key []byte) ([]byte, bool, error) {
	dbi, err := p.txn.OpenDBI(table, 0)
	if err != nil {
		return nil, false, fmt.Errorf("open table %s: %w", table, err)
	}
	val, err := p.txn.Get(dbi, key)
	if lmdb.IsNotFound(err) {
		return nil, false, nil
	}
	return val, err == nil, err
}

// tableNames lists the named tables, which LMDB keeps as the keys of its root.
func tableNames(txn *lmdb.Txn) ([]string, error) {
	root, err := txn.OpenRoot(0)
	if err != nil {
		return nil, err
	}
	cur, err := txn.OpenCursor(root)
	if err != nil {
		return nil, err
	}
	defer cur.Close()
	var names []string
	for {
		key, _, err := cur.Get(nil, nil, lmdb.Next)
		if lmdb.IsNotFound(err) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, string(key))
	}
}
