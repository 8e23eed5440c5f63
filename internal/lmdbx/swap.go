package lmdbx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

const (
	lockFile = "lock.mdb"
	partFile = "data.mdb.part" // of a compaction in place
)

// ErrInUse is what wants to be alone with a database returns while a process has
// it open.
var ErrInUse = errors.New("the database is in use")

// A Compaction says what compacting in place has come to.
type Compaction struct {
	Before, After int64 // bytes of the data file
}

// CompactInPlace puts a compacted copy of the database in dir into its place.
// Nobody may have it open, and whoever opens it meanwhile waits. Until the copy
// is whole and on disk the data file is the old one, from then on the new one,
// whenever the process is killed. The disk needs room for both.
func CompactInPlace(ctx context.Context, dir string) (c Compaction, err error) {
	// Environments that this process has open are not noticed: file locks are
	// between processes.
	lock, err := LockAlone(dir)
	if err != nil {
		return c, err
	}
	defer lock.Close()
	f, err := os.Open(filepath.Join(dir, dataFile))
	if err != nil {
		return c, err
	}
	defer f.Close()
	meta, err := newestMeta(f)
	if err != nil {
		return c, err
	}
	p, err := pagesOf(f, meta)
	if err != nil {
		return c, err
	}
	c.Before = p.Size()
	if c.After, err = p.CompactSize(); err != nil {
		return c, err
	}
	part := filepath.Join(dir, partFile)
	err = WriteFile(part, f, func(w io.Writer) error { return p.Compact(ctx, w) })
	if err == nil {
		err = os.Rename(part, filepath.Join(dir, dataFile))
	}
	if err != nil {
		return c, errors.Join(err, os.RemoveAll(part))
	}
	return c, SyncDir(dir)
}

// LockAlone takes for this process alone the lock that every process with the
// environment in dir open shares, and returns the file whose closing gives it
// back. LMDB keeps it on the first byte of its lock file, and waits for it when
// it opens an environment.
func LockAlone(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	first := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Len: 1}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &first)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		err = ErrInUse
		holder := first
		if syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &holder) == nil && holder.Type != syscall.F_UNLCK {
			err = fmt.Errorf("%w: process %d has it open", err, holder.Pid)
		}
	}
	f.Close()
	return nil, fmt.Errorf("lock %s: %w", dir, err)
}

// WriteFile makes the file at path, over what an earlier try has left there, and
// has all that write writes on disk when it returns. It belongs to whom the file
// like belongs, unless that is nil. On an error it is for the caller to remove.
func WriteFile(path string, like *os.File, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	err = func() error {
		if like != nil {
			if err := adopt(f, like); err != nil {
				return err
			}
		}
		if err := write(f); err != nil {
			return err
		}
		return f.Sync()
	}()
	return errors.Join(err, f.Close())
}

// adopt gives f the mode and the owner of like, where this user may: one who
// runs the command as root must not take the database away from the relay's.
func adopt(f, like *os.File) error {
	fi, err := like.Stat()
	if err != nil {
		return err
	}
	if err := f.Chmod(fi.Mode().Perm()); err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}

// SyncDir has the names in a directory on disk when it returns.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
