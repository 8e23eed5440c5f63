package lmdbx_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"wok/internal/lmdbx"
)

// dump returns all rows of all tables as text.
func dump(t testing.TB, x *lmdbx.Txn) []string {
	t.Helper()
	var rows []string
	for i := range tables {
		err := x.Each(i, nil, func(key, val []byte) error {
			rows = append(rows, fmt.Sprintf("%d %x %x", i, key, val))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// variety writes rows of all shapes: inline and large values, lists from one
// posting to many pages, and then takes some away, so that there are free pages.
func variety(t testing.TB, env *lmdbx.Env) {
	t.Helper()
	for _, n := range []int{1, 2, 100, 5000} {
		putList(t, env, key(n), ascending(n), 5000)
	}
	update(t, env, func(x *lmdbx.Txn) error {
		for i := range 300 {
			if err := x.Put(values, fmt.Appendf(nil, "key %d", i), bytes.Repeat([]byte{byte(i)}, i*20)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := fill(env, 0, 300); err != nil {
		t.Fatal(err)
	}
	update(t, env, func(x *lmdbx.Txn) error {
		for i := range 200 {
			if _, err := x.Delete(numbers, lmdbx.AppendInt(nil, uint64(i)), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// A busyWriter commits once for each block that is written.
type busyWriter struct {
	bytes.Buffer
	commit func()
}

func (w *busyWriter) Write(b []byte) (int, error) {
	w.commit()
	return w.Buffer.Write(b)
}

// TestCopy: a copy, plain or compacted, holds the rows of its snapshot, whatever
// is written meanwhile, is as long as it said, and can be written on.
func TestCopy(t *testing.T) {
	for _, compact := range []bool{false, true} {
		t.Run(fmt.Sprint("compact=", compact), func(t *testing.T) {
			env := open(t, lmdbx.Options{})
			variety(t, env)
			n := 0
			w := busyWriter{commit: func() {
				done := make(chan struct{})
				go func() {
					defer close(done)
					n++
					if err := fill(env, n%400, 50); err != nil {
						t.Error(err)
					}
				}()
				<-done
			}}
			var rows []string
			err := env.ReadPages(t.Context(), func(x *lmdbx.Txn, p *lmdbx.Pages) error {
				rows = dump(t, x)
				size, write := p.Size(), p.Copy
				if compact {
					var err error
					if size, err = p.CompactSize(); err != nil {
						return err
					}
					write = p.Compact
				}
				if err := write(t.Context(), &w); err != nil {
					return err
				}
				if int64(w.Len()) != size {
					t.Errorf("%d bytes, of %d announced", w.Len(), size)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if n < 3 {
				t.Errorf("%d commits during the copy", n)
			}
			restored(t, w.Bytes(), rows, compact)
		})
	}
}

// restored opens a copy, compares its rows, and writes to it.
func restored(t *testing.T, data []byte, rows []string, compact bool) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data.mdb"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	env := open(t, lmdbx.Options{Dir: dir})
	if got, _ := free(t, env); compact && got != 0 {
		t.Errorf("%d free pages", got)
	}
	read(t, env, func(x *lmdbx.Txn) error {
		if got := dump(t, x); !slices.Equal(got, rows) {
			t.Errorf("%d rows and not the %d of the snapshot", len(got), len(rows))
		}
		return nil
	})
	variety(t, env)
	read(t, env, func(x *lmdbx.Txn) error {
		if got := dump(t, x); len(got) < 5000 {
			t.Errorf("%d rows after writing on", len(got))
		}
		return nil
	})
	env.Close()
	open(t, lmdbx.Options{Dir: dir})
}

// An empty environment can be copied too.
func TestCopyEmpty(t *testing.T) {
	env := open(t, lmdbx.Options{})
	var b bytes.Buffer
	err := env.ReadPages(t.Context(), func(_ *lmdbx.Txn, p *lmdbx.Pages) error { return p.Compact(t.Context(), &b) })
	if err != nil {
		t.Fatal(err)
	}
	restored(t, b.Bytes(), nil, true)
}

// TestCopyEnds: a copy that is broken off says why.
func TestCopyEnds(t *testing.T) {
	env := open(t, lmdbx.Options{})
	variety(t, env)
	stop := errors.New("stop")
	for _, write := range []func(*lmdbx.Pages, context.Context, io.Writer) error{(*lmdbx.Pages).Copy, (*lmdbx.Pages).Compact} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		err := env.ReadPages(t.Context(), func(_ *lmdbx.Txn, p *lmdbx.Pages) error { return write(p, ctx, io.Discard) })
		if !errors.Is(err, stop) {
			t.Errorf("ended with %v", err)
		}
	}
}

// TestCompactInPlace: afterwards the file is small, the rows are the same, and
// nothing else is left.
func TestCompactInPlace(t *testing.T) {
	dir := t.TempDir()
	env := open(t, lmdbx.Options{Dir: dir})
	variety(t, env)
	var rows []string
	read(t, env, func(x *lmdbx.Txn) error {
		rows = dump(t, x)
		return nil
	})
	env.Close()
	c, err := lmdbx.CompactInPlace(t.Context(), dir)
	if err != nil || c.After >= c.Before {
		t.Errorf("%+v (%v)", c, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "data.mdb"))
	if err != nil || int64(len(data)) != c.After {
		t.Errorf("%d bytes of %d (%v)", len(data), c.After, err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(names) != 2 {
		t.Errorf("left are %q", names)
	}
	env = open(t, lmdbx.Options{Dir: dir})
	read(t, env, func(x *lmdbx.Txn) error {
		if got := dump(t, x); !slices.Equal(got, rows) {
			t.Errorf("%d rows of %d", len(got), len(rows))
		}
		return nil
	})
}

// TestCompactInUse: another process that has the database open keeps it from
// being exchanged, idle though it is.
func TestCompactInUse(t *testing.T) {
	dir := t.TempDir()
	other := start(t, "serve", dir, "")
	if got := other.ask(""); got != "ready" {
		t.Fatal(got)
	}
	_, err := lmdbx.CompactInPlace(t.Context(), dir)
	if want := fmt.Sprintf("process %d has it open", other.cmd.Process.Pid); !errors.Is(err, lmdbx.ErrInUse) || !bytes.Contains([]byte(err.Error()), []byte(want)) {
		t.Errorf("got %v", err)
	}
	if got := other.ask("10"); got != "filled <nil>" {
		t.Errorf("the other then says %q", got)
	}
	other.in.Close()
	other.cmd.Wait()
	if _, err := lmdbx.CompactInPlace(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

// TestCompactWaits: who opens the database while it is being exchanged finds the
// new file, and writes to that.
func TestCompactWaits(t *testing.T) {
	dir := t.TempDir()
	env := open(t, lmdbx.Options{Dir: dir})
	if err := fill(env, 0, 300); err != nil {
		t.Fatal(err)
	}
	env.Close()
	for i := range 5 {
		lock, err := os.OpenFile(filepath.Join(dir, "lock.mdb"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		first := syscall.Flock_t{Type: syscall.F_WRLCK, Len: 1}
		if err := syscall.FcntlFlock(lock.Fd(), syscall.F_SETLK, &first); err != nil {
			t.Fatal(err)
		}
		other := start(t, "serve", dir, "")
		// It gives up the lock at its end, as that belongs to the process.
		if _, err := lmdbx.CompactInPlace(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		lock.Close()
		if got := other.ask(""); got != "ready" {
			t.Fatal(got)
		}
		if got := other.ask(fmt.Sprint(300 + 100*i)); got != "filled <nil>" {
			t.Fatal(got)
		}
		other.in.Close()
		other.cmd.Wait()
		env := open(t, lmdbx.Options{Dir: dir})
		if n, err := blocks(t.Context(), env); n != 400+100*i || err != nil {
			t.Errorf("%d blocks (%v)", n, err)
		}
		env.Close()
	}
}

// FuzzCompact: whatever a file holds, compacting it ends, in an error if
// need be.
func FuzzCompact(f *testing.F) {
	dir := f.TempDir()
	env := open(f, lmdbx.Options{Dir: dir})
	for i := range 40 {
		put(f, env, fmt.Sprintf("key %d", i), string(make([]byte, i*100)))
	}
	putList(f, env, key(600), ascending(600), 600)
	env.Close()
	data, err := os.ReadFile(filepath.Join(dir, "data.mdb"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), uint64(0))
	f.Add(uint32(4096+40), uint64(1)<<40)
	f.Fuzz(func(t *testing.T, at uint32, word uint64) {
		dir := t.TempDir()
		b := bytes.Clone(data)
		binary.NativeEndian.PutUint64(b[int(at)%(len(b)-8):], word)
		if err := os.WriteFile(filepath.Join(dir, "data.mdb"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		lmdbx.CompactInPlace(t.Context(), dir)
	})
}
