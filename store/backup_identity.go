package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"wok/index"
	"wok/internal/lmdbx"
)

// metaIdentity is the key of a database's identity, 16 random bytes that it got
// when it was made, restored, repaired, or first backed up by a version that knew
// of them.
// Copies of the file are the same database until they are restored ones.
var metaIdentity = []byte("identity")

const identitySize = 16

// newIdentity gives the database an identity that no other has.
func newIdentity(t *lmdbx.Txn) error {
	id := make([]byte, identitySize)
	rand.Read(id) // never fails
	return t.Put(int(index.TableMeta), metaIdentity, id)
}

// identity returns the database's identity in hex, "" where it has none yet.
func (tx *Txn) identity() (string, error) {
	id, _, err := tx.lx.Get(int(index.TableMeta), metaIdentity)
	return hex.EncodeToString(id), err
}

// Identity returns the database's identity, 32 hex digits, or "" where it was
// made by a version that gave none and has not been backed up yet.
func (db *DB) Identity(ctx context.Context) (id string, err error) {
	err = db.View(ctx, func(tx *Txn) (err error) {
		id, err = tx.identity()
		return err
	})
	return id, err
}

// Identify gives the database an identity if it has none.
func (db *DB) Identify() error {
	return db.env.Update(func(lx *lmdbx.Txn) error {
		if _, ok, err := lx.Get(int(index.TableMeta), metaIdentity); err != nil || ok {
			return err
		}
		return newIdentity(lx)
	})
}
