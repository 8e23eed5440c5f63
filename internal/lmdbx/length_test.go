package lmdbx_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"wok/internal/lmdbx"
)

// free returns what LMDB says of the free pages of env, and the transaction it
// says it for.
func free(t testing.TB, env *lmdbx.Env) (pages, txn uint64) {
	t.Helper()
	err := env.Read(t.Context(), func(x *lmdbx.Txn) (err error) {
		txn = x.ID()
		pages, err = x.FreePages()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages, txn
}

// TestFreePages: the free list read from the file is the one LMDB reads, from
// none to one with pages of its own.
func TestFreePages(t *testing.T) {
	env := open(t, lmdbx.Options{})
	most := uint64(0)
	for i := range 12 {
		if err := fill(env, 0, 1<<i); err != nil {
			t.Fatal(err)
		}
		want, txn := free(t, env)
		most = max(most, want)
		data, err := os.ReadFile(filepath.Join(env.Dir(), "data.mdb"))
		if err != nil {
			t.Fatal(err)
		}
		all := uint64(len(data) / 4096)
		got, err := lmdbx.FreePagesFrom(bytes.NewReader(data), 4096, txn, all)
		if err != nil || got != 0 {
			t.Errorf("%d free pages behind the end (%v)", got, err)
		}
		if got, err := lmdbx.CountFree(bytes.NewReader(data), 4096, txn, all); got != want || err != nil {
			t.Errorf("after %d blocks: %d free pages, want %d (%v)", 1<<i, got, want, err)
		}
	}
	if most < 1000 {
		t.Errorf("at most %d free pages: the list never had pages of its own", most)
	}
}

// FuzzFreePages: whatever a file holds, reading its free list ends. The seed is
// a file with small pages: two metas, a branch, two leaves, and two pages of one
// long list.
func FuzzFreePages(f *testing.F) {
	const size, txn = 256, 7
	n := binary.NativeEndian
	file := make([]byte, 7*size)
	meta := file[size:]
	n.PutUint16(meta[16+24+6:], 2)  // depth of the free list
	n.PutUint64(meta[16+24+40:], 2) // its root
	n.PutUint64(meta[16+24+96+8:], txn)
	page := func(no int, flags uint16, nodes ...[]byte) {
		p, end := file[no*size:][:size], size
		n.PutUint16(p[10:], flags)
		n.PutUint16(p[12:], uint16(16+2*len(nodes)))
		for i, node := range nodes {
			end -= len(node)
			copy(p[end:], node)
			n.PutUint16(p[16+2*i:], uint16(end))
		}
	}
	node := func(lo uint32, flags uint16, words ...uint64) []byte {
		b := n.AppendUint16(n.AppendUint16(n.AppendUint32(nil, lo), flags), 8)
		for _, w := range words {
			b = n.AppendUint64(b, w)
		}
		return b
	}
	page(2, 1, node(3, 0), node(4, 0, 5))
	page(3, 2, node(3*8, 0, 1, 2, 101, 100))
	page(4, 2, node(31*8, 1, 5, 5))
	n.PutUint64(file[5*size+16:], 30)
	if free, err := lmdbx.CountFree(bytes.NewReader(file), size, txn, 7); free != 32 || err != nil {
		f.Fatalf("%d free pages (%v)", free, err)
	}
	f.Add(file)
	f.Add(file[:3*size])
	f.Fuzz(func(t *testing.T, data []byte) {
		free, err := lmdbx.CountFree(bytes.NewReader(data), size, txn, uint64(len(data)/size))
		if err == nil && free > uint64(len(data)) {
			t.Errorf("%d free pages in %d bytes", free, len(data))
		}
	})
}
