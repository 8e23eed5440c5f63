package lmdbx_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
)

// mixed makes a database with values short and long, lists short and long, and
// free pages, and returns its directory.
func mixed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	env := open(t, lmdbx.Options{Dir: dir})
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 8 {
		update(t, env, func(x *lmdbx.Txn) error {
			var errs []error
			for i := range 200 {
				n := round*200 + i
				errs = append(errs,
					x.Put(values, fmt.Appendf(nil, "key %d", rng.IntN(5000)), bytes.Repeat([]byte{byte(n)}, rng.IntN(300))),
					x.Put(numbers, lmdbx.AppendInt(nil, uint64(n)), bytes.Repeat([]byte{byte(n)}, rng.IntN(6000))))
				if n%5 == 0 {
					_, err := x.Delete(numbers, lmdbx.AppendInt(nil, uint64(n/2)), nil)
					errs = append(errs, err)
				}
			}
			return errors.Join(errs...)
		})
		for i, n := range []int{1, 2, 20, 500, 5000} {
			putList(t, env, []byte{byte(round), byte(i)}, ascending(n), 400)
		}
	}
	if err := env.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// rows returns all rows of a table as LMDB has them.
func rows(t *testing.T, dir string, table int) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	read(t, open(t, lmdbx.Options{Dir: dir}), func(x *lmdbx.Txn) error {
		return x.Each(table, nil, func(key, val []byte) error {
			all[string(key)+"\x00"+string(val)] = true
			return nil
		})
	})
	return all
}

func openPages(t *testing.T, dir string) *lmdbx.File {
	t.Helper()
	p, wrong, err := lmdbx.OpenFile(dir, tables, false)
	if err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestPages: what is read page by page is what LMDB reads.
func TestPages(t *testing.T) {
	dir := mixed(t)
	p := openPages(t, dir)
	lost, err := p.Verify(nil)
	if err != nil || lost != 0 || len(p.Broken()) > 0 {
		t.Fatalf("%d pages are lost (%v), broken: %v", lost, err, p.Broken())
	}
	for table := range tables {
		got, last := map[string]bool{}, ""
		err := p.Each(table, nil, nil, func(key, val []byte) error {
			got[string(key)+"\x00"+string(val)] = true
			if ok, err := p.Has(table, key, val); !ok || err != nil {
				t.Errorf("table %d has no %x: %v", table, key, err)
			}
			if v, ok, err := p.Get(table, key); !ok || err != nil || last != string(key) && !bytes.Equal(v, val) {
				t.Errorf("table %d: %x is %x: %v", table, key, v, err)
			}
			last = string(key)
			return nil
		})
		if want := rows(t, dir, table); !maps.Equal(got, want) || err != nil || p.Entries(table) != uint64(len(want)) {
			t.Errorf("table %d: %d rows of %d, %v", table, len(got), len(want), err)
		}
	}
	if _, ok, err := p.Get(values, []byte("key nine")); ok || err != nil {
		t.Error("a key that is not there:", ok, err)
	}
	if ok, err := p.Has(postings, []byte{7, 4}, make([]byte, 16)); ok || err != nil {
		t.Error("a posting that is not there:", ok, err)
	}
	// From the middle of a list on.
	all := stored(ascending(5000))
	n := 0
	err = p.Each(postings, []byte{3, 4}, all[2000*index.PostingSize:][:index.PostingSize], func(key, val []byte) error {
		if !bytes.Equal(key, []byte{3, 4}) {
			return lmdbx.ErrStop
		}
		n++
		return nil
	})
	if n != 3000 || err != nil {
		t.Errorf("%d postings from the middle on, %v", n, err)
	}
}

// damagedCopy copies a database, lets fn damage it, and returns its directory.
func damagedCopy(t *testing.T, whole []byte, fn func(b []byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data.mdb"), fn(bytes.Clone(whole)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// walkAll reads all there is to read, and returns how many rows it has met.
func walkAll(p *lmdbx.File) (n int, err error) {
	count := func(key, val []byte) error { n += len(key)*0 + len(val)*0 + 1; return nil }
	for table := range tables {
		err = errors.Join(err, p.Each(table, nil, nil, func(key, val []byte) error {
			_, errGet := p.Has(table, key, val)
			if errGet != nil && !errors.Is(errGet, lmdbx.ErrBroken) {
				return errGet
			}
			return count(key, val)
		}))
	}
	return n, errors.Join(err, p.Lost(func(_ bool, key, val []byte) error { return count(key, val) }))
}

// TestPagesDamaged: each page zeroed in turn is noticed, whatever it held but
// free ones, and reading ends at none.
func TestPagesDamaged(t *testing.T) {
	dir := mixed(t)
	whole, err := os.ReadFile(filepath.Join(dir, "data.mdb"))
	if err != nil {
		t.Fatal(err)
	}
	noticed, pages := 0, len(whole)/4096
	for no := 2; no < pages; no += 41 {
		p, wrong, err := lmdbx.OpenFile(damagedCopy(t, whole, func(b []byte) []byte {
			clear(b[no*4096:][:4096])
			return b
		}), tables, false)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		if _, err := p.Verify(nil); err != nil {
			t.Error(err)
		}
		if _, err := walkAll(p); err != nil {
			t.Error(err)
		}
		if len(p.Broken()) > 0 {
			noticed++
		}
		p.Close()
	}
	t.Logf("%d of %d pages were missed", noticed, pages/41)
	if noticed < pages/120 {
		t.Errorf("only %d of %d pages were missed", noticed, pages/41)
	}
}

// TestPagesFlipped: whatever bytes are changed, reading comes to an end without
// a fault.
func TestPagesFlipped(t *testing.T) {
	dir := mixed(t)
	whole, err := os.ReadFile(filepath.Join(dir, "data.mdb"))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		dir := damagedCopy(t, whole, func(b []byte) []byte {
			for range 1 + rng.IntN(40) {
				at := rng.IntN(len(b))
				if rng.IntN(3) > 0 {
					at = at/4096*4096 + rng.IntN(64) // headers and offsets
				}
				b[at] ^= byte(1 + rng.IntN(255))
			}
			if rng.IntN(4) == 0 {
				b = b[:rng.IntN(len(b))]
			}
			return b
		})
		p, _, err := lmdbx.OpenFile(dir, tables, false)
		if err != nil {
			continue
		}
		if _, err := p.Verify(nil); err != nil {
			t.Error(err)
		}
		if _, err := walkAll(p); err != nil {
			t.Error(err)
		}
		p.Close()
	}
}

// TestPagesCut: pages that the disk does not give, here since the file was cut
// while it was read, are broken ones and no fault.
func TestPagesCut(t *testing.T) {
	dir := mixed(t)
	p := openPages(t, dir)
	if err := os.Truncate(filepath.Join(dir, "data.mdb"), 20*4096); err != nil {
		t.Fatal(err)
	}
	err := lmdbx.Guard(func() error {
		_, err := p.Verify(nil)
		return err
	})
	if !errors.Is(err, lmdbx.ErrBroken) && len(p.Broken()) == 0 {
		t.Errorf("%v, broken: %v", err, p.Broken())
	}
}
