package lmdbx

import (
	"context"
	"fmt"
	"syscall"

	"github.com/PowerDNS/lmdb-go/lmdb"
)

// Read runs fn in a read transaction on the newest snapshot. It waits, until
// ctx ends, for one of the Options.Readers transactions to be free; fn must not
// wait for anything but the disk, and must not begin another transaction.
func (e *Env) Read(ctx context.Context, fn func(*Txn) error) error {
	var t *Txn
	select {
	case t = <-e.readers:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	e.gate.RLock()
	t, err := e.renew(t)
	if err == nil {
		defer func() {
			t.reset()
			e.gate.RUnlock()
			e.readers <- t
		}()
		return fn(t)
	}
	e.gate.RUnlock()
	e.readers <- t
	return err
}

// renew makes t, or a new transaction, read the newest snapshot. The gate is
// held for reading; on error the transaction to keep in the pool is returned.
func (e *Env) renew(t *Txn) (*Txn, error) {
	for range 3 {
		if e.dead != nil {
			return t, e.dead
		}
		var err error
		if t == nil {
			t, err = e.beginRead()
		} else {
			err = t.txn.Renew()
		}
		if err == nil {
			return t, nil
		}
		if isErrno(err, lmdb.ReadersFull) {
			if dead, errCheck := e.env.ReaderCheck(); errCheck == nil && dead > 0 {
				continue // their processes have ended without giving them back
			}
			return t, fmt.Errorf("begin read of %s: %w", e.dir, e.explainFull(err))
		}
		if !isErrno(err, lmdb.MapResized) {
			return t, fmt.Errorf("begin read of %s: %w", e.dir, err)
		}
		// Another process has written past the end of our map.
		size := e.mapSize
		e.gate.RUnlock()
		err = e.grow(size)
		e.gate.RLock()
		if err != nil {
			return t, err
		}
	}
	return t, fmt.Errorf("begin read of %s: the map keeps being resized", e.dir)
}

// Update runs fn in the one write transaction there is among all processes,
// then commits and syncs it to disk; a transaction that wrote nothing costs no
// sync. When the map turns out to be full it is grown and fn runs again from
// the start, so fn must begin by forgetting what an earlier run did. An error
// of fn undoes everything.
func (e *Env) Update(fn func(*Txn) error) error {
	for {
		size, err := e.updateOnce(fn)
		if !isErrno(err, lmdb.MapFull) && !isErrno(err, lmdb.MapResized) {
			return err
		}
		if err := e.grow(size); err != nil {
			return err
		}
	}
}

// updateOnce returns the size that the map had.
func (e *Env) updateOnce(fn func(*Txn) error) (size int64, err error) {
	e.gate.RLock()
	defer e.gate.RUnlock()
	if e.dead != nil {
		return e.mapSize, e.dead
	}
	var ferr error
	err = e.env.Update(func(txn *lmdb.Txn) error {
		txn.RawRead = true
		t := newTxn(e, txn)
		defer t.mangle()
		ferr = fn(t)
		return ferr
	})
	if err != nil && ferr == nil {
		err = fmt.Errorf("write to %s: %w", e.dir, err)
	}
	return e.mapSize, err
}

// nearlyNone is how few free bytes make a disk a full one.
const nearlyNone = 1 << 20

// NoSpace reports whether err is that of a write for which the disk, or the
// quota of the user, had no room. LMDB calls it an I/O error where the disk took
// the first part of a write, so what is left on the disk is asked too.
func (e *Env) NoSpace(err error) bool {
	if isErrno(err, syscall.ENOSPC) || isErrno(err, syscall.EDQUOT) {
		return true
	}
	if !isErrno(err, syscall.EIO) {
		return false
	}
	free, err := e.FreeBytes()
	return err == nil && free < nearlyNone
}
