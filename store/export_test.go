package store

import (
	"context"

	"wok/index"
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

// DecodeRaw decodes a stored payload within a transaction of UpdateRaw.
func (db *DB) DecodeRaw(x *lmdbx.Txn, b []byte) ([]byte, error) {
	tx := Txn{db: db, lx: x}
	json, err := tx.decode(b)
	json = append([]byte(nil), json...)
	tx.release()
	return json, err
}

// PagesOf returns the pages of each table, its root first, and how many events
// have their JSON on each page.
func PagesOf(dir string) (map[string][]uint64, map[uint64]int, error) {
	file, _, err := lmdbx.OpenFile(dir, tables(), true)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	byTable, events := map[string][]uint64{}, map[uint64]int{}
	for i, def := range index.Tables {
		file.EachPage(i, func(no uint64, rows int) {
			byTable[def.Name] = append(byTable[def.Name], no)
			if def.ID == index.TableEventPayload {
				events[no] += rows
			}
		})
	}
	return byTable, events, nil
}
