//go:build invariants

package lmdbx_test

import (
	"testing"

	"wok/internal/lmdbx"
)

// TestMangled: what was borrowed from a transaction is gone after it, and what
// was borrowed from a writing one after its next write.
func TestMangled(t *testing.T) {
	env := open(t, lmdbx.Options{})
	put(t, env, "k", "value")
	putList(t, env, key(2), ascending(2), 2)
	mangled := func(what string, b []byte) {
		t.Helper()
		for _, c := range b {
			if c != 0xdb {
				t.Errorf("%s is still readable: %x", what, b)
				return
			}
		}
	}
	var val []byte
	var list lmdbx.List
	var keys [][]byte
	read(t, env, func(x *lmdbx.Txn) (err error) {
		val, _, err = x.Get(values, []byte("k"))
		list = x.List(postings, key(2))
		list.Next()
		x.Each(values, nil, func(key, val []byte) error { keys = append(keys, key, val); return nil })
		return err
	})
	mangled("a value", val)
	mangled("a posting", list.Posting().Append(nil))
	for _, b := range keys {
		mangled("a row", b)
	}
	update(t, env, func(x *lmdbx.Txn) (err error) {
		val, _, err = x.Get(values, []byte("k"))
		if string(val) != "value" {
			t.Errorf("got %q", val)
		}
		x.Put(values, []byte("other"), []byte("v"))
		mangled("a value after a write", val)
		val, _, err = x.Get(values, []byte("k"))
		return err
	})
	mangled("a value after an update", val)
}
