package lmdbx_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"wok/internal/lmdbx"
)

// TestReadPool: no more readers at once than Options.Readers, whoever waits.
func TestReadPool(t *testing.T) {
	const readers = 3
	env := open(t, lmdbx.Options{Readers: readers})
	var now, most atomic.Int32
	var full, all sync.WaitGroup
	full.Add(readers)
	release := make(chan struct{})
	for i := range 20 * readers {
		all.Go(func() {
			read(t, env, func(*lmdbx.Txn) error {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if i < readers {
					full.Done()
				}
				<-release
				now.Add(-1)
				return nil
			})
		})
		if i == readers-1 {
			full.Wait() // the pool is empty, and the rest waits
		}
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	all.Go(func() { cancel(stop) })
	err := env.Read(ctx, func(*lmdbx.Txn) error { t.Error("a reader too many"); return nil })
	if !errors.Is(err, stop) {
		t.Errorf("waiting for a reader ends with %v", err)
	}
	close(release)
	all.Wait()
	if n := most.Load(); n != readers {
		t.Errorf("%d readers at once", n)
	}
	info, err := env.Info()
	if err != nil || info.NumReaders > readers+1 {
		t.Errorf("%d reader slots were used (%v)", info.NumReaders, err)
	}
}

// TestReadErrors: an error or a panic of a reader gives its transaction back.
func TestReadErrors(t *testing.T) {
	env := open(t, lmdbx.Options{Readers: 1})
	bad := errors.New("bad")
	for range 3 {
		if err := env.Read(t.Context(), func(*lmdbx.Txn) error { return bad }); err != bad {
			t.Errorf("got %v", err)
		}
		func() {
			defer func() { recover() }()
			env.Read(t.Context(), func(*lmdbx.Txn) error { panic("oops") })
		}()
		if err := env.Update(func(*lmdbx.Txn) error { return bad }); !errors.Is(err, bad) {
			t.Errorf("got %v", err)
		}
		func() {
			defer func() { recover() }()
			env.Update(func(*lmdbx.Txn) error { panic("oops") })
		}()
	}
	put(t, env, "k", "v")
	if got := get(t, env, "k"); got != "v" {
		t.Errorf("got %q", got)
	}
}

func put(t testing.TB, env *lmdbx.Env, key, val string) {
	t.Helper()
	update(t, env, func(x *lmdbx.Txn) error { return x.Put(values, []byte(key), []byte(val)) })
}

func get(t testing.TB, env *lmdbx.Env, key string) (val string) {
	t.Helper()
	read(t, env, func(x *lmdbx.Txn) error {
		b, _, err := x.Get(values, []byte(key))
		val = string(b)
		return err
	})
	return val
}

// TestSnapshot: a reader sees one state, whatever is written meanwhile, and an
// update that fails leaves none.
func TestSnapshot(t *testing.T) {
	env := open(t, lmdbx.Options{})
	put(t, env, "k", "old")
	read(t, env, func(x *lmdbx.Txn) error {
		for _, next := range []string{"new", "newer"} {
			done := make(chan struct{})
			go func() { defer close(done); put(t, env, "k", next) }()
			<-done
			if b, _, err := x.Get(values, []byte("k")); string(b) != "old" || err != nil {
				t.Errorf("got %q (%v)", b, err)
			}
		}
		return nil
	})
	env.Update(func(x *lmdbx.Txn) error {
		x.Put(values, []byte("k"), []byte("never"))
		return errors.New("no")
	})
	if got := get(t, env, "k"); got != "newer" {
		t.Errorf("got %q", got)
	}
}

// TestCommitCounts: what wrote nothing is no commit.
func TestCommitCounts(t *testing.T) {
	env := open(t, lmdbx.Options{})
	last := func() uint64 {
		n, err := env.LastTxnID()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := last()
	update(t, env, func(x *lmdbx.Txn) error { _, _, err := x.Get(values, []byte("k")); return err })
	if n := last(); n != before {
		t.Errorf("an empty update made transaction %d of %d", n, before)
	}
	put(t, env, "k", "v")
	if n := last(); n != before+1 {
		t.Errorf("an update made transaction %d of %d", n, before)
	}
}

// block is a value that takes a page and more.
func block(i int) []byte {
	return bytes.Repeat(binary.BigEndian.AppendUint32(nil, uint32(i)), 1500)
}

// fill puts n blocks from number from on, in one update.
func fill(env *lmdbx.Env, from, n int) error {
	return env.Update(func(x *lmdbx.Txn) error {
		for i := from; i < from+n; i++ {
			if err := x.Put(numbers, lmdbx.AppendInt(nil, uint64(i)), block(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// blocks counts the blocks and checks each.
func blocks(ctx context.Context, env *lmdbx.Env) (n int, err error) {
	err = env.Read(ctx, func(x *lmdbx.Txn) error {
		n = 0
		return x.Each(numbers, nil, func(key, val []byte) error {
			if i := lmdbx.Int(key); i != uint64(n) || !bytes.Equal(val, block(n)) {
				return fmt.Errorf("block %d has key %d", n, i)
			}
			n++
			return nil
		})
	})
	return n, err
}

// TestGrow fills a tiny map until it has grown several times, while others
// read and look at the environment.
func TestGrow(t *testing.T) {
	env := open(t, lmdbx.Options{MapSize: 1 << 20, Readers: 2})
	before, err := env.Info()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for seen := 0; ctx.Err() == nil; {
				n, err := blocks(t.Context(), env)
				if _, infoErr := env.Info(); err != nil || infoErr != nil || n < seen || n%100 != 0 {
					t.Errorf("%d blocks after %d (%v, %v)", n, seen, err, infoErr)
					return
				}
				seen = n
			}
		})
	}
	for i := 0; i < 1500; i += 100 {
		if err := fill(env, i, 100); err != nil {
			t.Error(err)
		}
	}
	stop()
	all.Wait()
	after, err := env.Info()
	if err != nil || before.MapSize > 1<<20 || after.MapSize < 8<<20 || after.FileSize > after.MapSize {
		t.Errorf("before %+v, after %+v (%v)", before, after, err)
	}
	if n, err := blocks(t.Context(), env); n != 1500 || err != nil {
		t.Errorf("%d blocks (%v)", n, err)
	}
}

// TestClosed: a closed environment answers with an error, and closing waits
// for those who read.
func TestClosed(t *testing.T) {
	env := open(t, lmdbx.Options{})
	started, closed := make(chan struct{}), make(chan error, 1)
	var all sync.WaitGroup
	all.Go(func() {
		read(t, env, func(x *lmdbx.Txn) error {
			close(started)
			for range 100 {
				if _, _, err := x.Get(values, []byte("k")); err != nil {
					t.Error(err)
				}
			}
			select {
			case err := <-closed:
				t.Errorf("closed under a reader (%v)", err)
			default:
			}
			return nil
		})
	})
	<-started
	closed <- env.Close()
	all.Wait()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"read":   env.Read(t.Context(), func(*lmdbx.Txn) error { return nil }),
		"update": env.Update(func(*lmdbx.Txn) error { return nil }),
		"close":  env.Close(),
		"txn id": func() error { _, err := env.LastTxnID(); return err }(),
	} {
		if !errors.Is(err, lmdbx.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadOnly: a database that is opened to be read cannot be written, and
// must be there.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables, ReadOnly: true}, accept, create); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a database: %v", err)
	}
	env := open(t, lmdbx.Options{Dir: dir})
	put(t, env, "k", "v")
	if err := env.Close(); err != nil {
		t.Fatal(err)
	}
	env = open(t, lmdbx.Options{Dir: dir, ReadOnly: true})
	if got := get(t, env, "k"); got != "v" {
		t.Errorf("got %q", got)
	}
	if err := env.Update(func(x *lmdbx.Txn) error { return x.Put(values, []byte("k"), []byte("w")) }); err == nil {
		t.Error("a read-only database was written")
	}
}

// TestRefuse: who is shown a database may refuse it, and nothing is written.
func TestRefuse(t *testing.T) {
	dir := t.TempDir()
	env := open(t, lmdbx.Options{Dir: dir})
	put(t, env, "k", "v")
	env.Close()
	file := filepath.Join(dir, "data.mdb")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	more := append(tables[:len(tables):len(tables)], lmdbx.Table{Name: "more"})
	_, err = lmdbx.Open(lmdbx.Options{Dir: dir, Tables: more}, func(p *lmdbx.Peek) error {
		if val, ok, err := p.Get("values", []byte("k")); len(p.Tables) != 3 || string(val) != "v" || !ok || err != nil {
			t.Errorf("shown %q, with %q (%v)", p.Tables, val, err)
		}
		if _, ok, err := p.Get("values", []byte("x")); ok || err != nil {
			t.Errorf("shown what is not there (%v)", err)
		}
		if _, _, err := p.Get("other", []byte("k")); err == nil {
			t.Error("shown a table that is not there")
		}
		return no
	}, create)
	if !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("data.mdb has changed (%v)", err)
	}
}

// TestCreate: what begins a database is written with its tables or not at all.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	no := errors.New("no")
	never := func(*lmdbx.Peek) error { t.Error("an empty database was shown"); return nil }
	opts := lmdbx.Options{Dir: dir, Tables: tables}
	if _, err := lmdbx.Open(opts, never, func(*lmdbx.Txn) error { return no }); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	env, err := lmdbx.Open(opts, never, func(x *lmdbx.Txn) error { return x.Put(values, []byte("k"), []byte("v")) })
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	if got := get(t, env, "k"); got != "v" {
		t.Errorf("got %q", got)
	}
}

// TestDeleteAll: a nil value stands for all values of a key.
func TestDeleteAll(t *testing.T) {
	env := open(t, lmdbx.Options{})
	for _, n := range []int{1, 2, 1000} {
		putList(t, env, key(n), ascending(n), n)
		for _, want := range []bool{true, false} {
			update(t, env, func(x *lmdbx.Txn) error {
				if ok, err := x.Delete(postings, key(n), nil); ok != want || err != nil {
					t.Errorf("%d: deleted %v (%v)", n, ok, err)
				}
				return nil
			})
		}
	}
	read(t, env, func(x *lmdbx.Txn) error {
		if n, err := x.Entries(postings); n != 0 || err != nil {
			t.Errorf("%d entries are left (%v)", n, err)
		}
		return nil
	})
}

// TestEach: iterations see every row once, can be ended, and notice when their
// cursor is moved under them.
func TestEach(t *testing.T) {
	env := open(t, lmdbx.Options{})
	for _, n := range []int{1, 2, 1000} {
		putList(t, env, key(n), ascending(n), n)
	}
	read(t, env, func(x *lmdbx.Txn) error {
		rows := 0
		if err := x.Each(postings, nil, func(_, _ []byte) error { rows++; return nil }); err != nil || rows != 1003 {
			t.Errorf("%d rows (%v)", rows, err)
		}
		keys := 0
		err := x.EachKey(postings, func(key []byte, n uint64) error {
			keys++
			if want := fmt.Sprintf("list of %d", n); string(key) != want {
				t.Errorf("%d postings under %q", n, key)
			}
			return nil
		})
		if err != nil || keys != 3 {
			t.Errorf("%d keys (%v)", keys, err)
		}
		rows = 0
		if err := x.Each(postings, key(2), func(_, _ []byte) error { rows++; return lmdbx.ErrStop }); err != nil || rows != 1 {
			t.Errorf("%d rows after the stop (%v)", rows, err)
		}
		err = x.Each(postings, nil, func(_, _ []byte) error { _, err := x.Length(postings, key(1)); return err })
		if err == nil {
			t.Error("an iteration went on from another place")
		}
		return nil
	})
}
