package store

import "wok/internal/lmdbx"

// UpdateRaw is Update without rules, for tests that write what no batch would.
func (db *DB) UpdateRaw(fn func(*lmdbx.Txn) error) error { return db.env.Update(fn) }

// AllIndexes is the list of indexes of a whole database.
func AllIndexes() string { return string(allIndexes()) }
