package lmdbx_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"wok/internal/lmdbx"
)

// TestBrokenFile: a file that is not what LMDB wrote is an error, never a crash.
func TestBrokenFile(t *testing.T) {
	dir := t.TempDir()
	env := open(t, lmdbx.Options{Dir: dir})
	for i := 0; i < 300; i += 50 {
		if err := fill(env, i, 50); err != nil {
			t.Fatal(err)
		}
	}
	env.Close()
	whole, err := os.ReadFile(filepath.Join(dir, "data.mdb"))
	if err != nil {
		t.Fatal(err)
	}
	size := len(whole)
	for name, data := range map[string][]byte{
		"cut in the first page":  whole[:100],
		"cut behind the first":   whole[:4096],
		"cut behind the metas":   whole[:8192],
		"cut in the middle":      whole[:size/2],
		"cut at a page":          whole[:size/8192*4096],
		"cut by three pages":     whole[:size-3*4096],
		"cut by a byte":          whole[:size-1],
		"text":                   []byte("hello\n"),
		"long text":              bytes.Repeat([]byte("hello world\n"), 10_000),
		"zeros":                  make([]byte, 64<<10),
		"a page of another kind": append(bytes.Repeat([]byte{7}, 4096), whole[4096:]...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "data.mdb"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables}, accept, create)
			if err == nil {
				env.Close()
				t.Fatal("it was opened")
			}
			t.Log(err)
		})
	}
}

// TestShortFile: a file may lack pages at its end that are free, since LMDB does
// not write those that a transaction takes and gives back. It is made here by
// cutting them off.
func TestShortFile(t *testing.T) {
	dir := t.TempDir()
	env := open(t, lmdbx.Options{Dir: dir})
	if err := fill(env, 0, 600); err != nil {
		t.Fatal(err)
	}
	update(t, env, func(x *lmdbx.Txn) error {
		for i := 300; i < 600; i++ {
			if _, err := x.Delete(numbers, lmdbx.AppendInt(nil, uint64(i)), nil); err != nil {
				return err
			}
		}
		return nil
	})
	for range 10 { // what stands at the end moves to pages that are free by now
		if err := fill(env, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	info, err := env.Info()
	if err != nil {
		t.Fatal(err)
	}
	env.Close()
	for _, test := range []struct {
		cut    int64 // pages
		opened bool
	}{{0, true}, {1, true}, {7, true}, {700, false}, {1000, false}} {
		if err := os.Truncate(filepath.Join(dir, "data.mdb"), info.FileSize-test.cut*4096); err != nil {
			t.Fatal(err)
		}
		env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables}, accept, create)
		if (err == nil) != test.opened {
			t.Fatalf("cut by %d pages: %v", test.cut, err)
		}
		if err != nil {
			t.Logf("cut by %d pages: %v", test.cut, err)
			continue
		}
		if n, err := blocks(t.Context(), env); n != 300 || err != nil {
			t.Errorf("cut by %d pages: %d blocks (%v)", test.cut, n, err)
		}
		env.Close()
	}
}
