package store

import (
	"context"

	"wok/internal/lmdbx"
)

// UpdateRaw is Update without rules, for tests that write what no batch would.
func (db *DB) UpdateRaw(fn func(*lmdbx.Txn) error) error { return db.env.Update(fn) }

// AllIndexes is the list of indexes of a whole database.
func AllIndexes() string { return string(allIndexes()) }

// Writes tells of writes to the files in a directory, where the system does.
var Writes = writes

// WatchUntold is Watch on a system that tells of no writes.
func (db *DB) WatchUntold(ctx context.Context) (<-chan struct{}, error) {
	seen, err := db.readable(ctx)
	return db.watch(ctx, seen, nil), err
}

// DecodePayload decodes a stored payload on a snapshot, and returns a copy.
func (db *DB) DecodePayload(b []byte) (json []byte, err error) {
	err = db.View(context.Background(), func(tx *Txn) error {
		j, err := tx.decode(b)
		json = append([]byte(nil), j...)
		return err
	})
	return json, err
}

// UsedBytes is the size that rules of retention go by.
func (tx *Txn) UsedBytes() (uint64, error) { return tx.lx.UsedBytes() }
