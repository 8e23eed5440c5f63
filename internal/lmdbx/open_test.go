package lmdbx_test

import (
	"errors"
	"slices"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
)

// The tables of the databases here.
const (
	values   = iota // key -> value
	numbers         // integer -> value
	postings        // key -> postings
)

var tables = []lmdbx.Table{
	{Name: "values"},
	{Name: "numbers", IntegerKey: true},
	{Name: "postings", DupSort: true, DupFixed: true},
}

func accept(*lmdbx.Peek) error { return nil }

func create(*lmdbx.Txn) error { return nil }

// open opens the environment in dir until the test ends.
func open(t testing.TB, opts lmdbx.Options) *lmdbx.Env {
	t.Helper()
	opts.Tables = tables
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	env, err := lmdbx.Open(opts, accept, create)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Close(); err != nil && !errors.Is(err, lmdbx.ErrClosed) {
			t.Error(err)
		}
	})
	return env
}

func update(t testing.TB, env *lmdbx.Env, fn func(*lmdbx.Txn) error) {
	t.Helper()
	if err := env.Update(fn); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, env *lmdbx.Env, fn func(*lmdbx.Txn) error) {
	t.Helper()
	if err := env.Read(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// stored returns postings as they are stored.
func stored(ps []index.Posting) []byte {
	var b []byte
	for _, p := range ps {
		b = p.Append(b)
	}
	return b
}

// posting returns the i-th of a row of postings that have gaps between them.
func posting(i int) index.Posting {
	return index.Posting{Hi: uint64(i / 3), Lo: uint64(i%3)*10 + 10}
}

// ascending returns n postings.
func ascending(n int) []index.Posting {
	ps := make([]index.Posting, n)
	for i := range ps {
		ps[i] = posting(i)
	}
	return ps
}

// putList stores postings, in batches of up to batch of them.
func putList(t testing.TB, env *lmdbx.Env, key []byte, ps []index.Posting, batch int) {
	t.Helper()
	update(t, env, func(x *lmdbx.Txn) error {
		for part := range slices.Chunk(ps, batch) {
			if err := x.PutPostings(postings, key, stored(part)); err != nil {
				return err
			}
		}
		return nil
	})
}

// walk returns what is left of a list from its next posting on.
func walk(l *lmdbx.List) (ps []index.Posting, err error) {
	for {
		ok, err := l.Next()
		if !ok || err != nil {
			return ps, err
		}
		ps = append(ps, l.Posting())
	}
}

// descending returns ps in the order of a walk.
func descending(ps []index.Posting) []index.Posting {
	ps = slices.Clone(ps)
	slices.Reverse(ps)
	return ps
}
