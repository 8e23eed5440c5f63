package lmdbx

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"github.com/PowerDNS/lmdb-go/lmdb"
)

// headroom is the address space, in bytes, that a map leaves to the rest of the
// process: the heap and its bookkeeping, the pages of a transaction, the stacks
// of threads. A Go program that finds none dies.
const headroom = 512 << 20

// openMap opens the environment with the largest map that the address space
// holds: under ulimit -v, or on small machines, the default is not to be had.
func (e *Env) openMap() error {
	size, least := e.opts.MapSize, int64(minMapSize)
	if fi, err := os.Stat(filepath.Join(e.dir, dataFile)); err == nil {
		if e.opts.ReadOnly && fi.Size() == 0 {
			return fmt.Errorf("open database %s: %w", e.dir, ErrEmpty)
		}
		size, least = max(size, fi.Size()), max(least, fi.Size())
	}
	for {
		err := error(syscall.ENOMEM)
		if addressable(size) {
			err = e.openSized(size)
		}
		if err == nil {
			return nil
		}
		if errors.Is(err, errSwapped) {
			continue
		}
		if !isErrno(err, syscall.ENOMEM) || size <= least {
			return e.explainOpen(err, least)
		}
		size = max(size/2, least)
	}
}

func (e *Env) openSized(size int64) error {
	env, err := lmdb.NewEnv()
	if err != nil {
		return err
	}
	flags := uint(0)
	if e.opts.NoReadAhead {
		flags |= lmdb.NoReadahead
	}
	if e.opts.ReadOnly {
		flags |= lmdb.Readonly
	}
	err = errors.Join(env.SetMapSize(size), env.SetMaxDBs(len(e.opts.Tables)+8), env.SetMaxReaders(e.opts.MaxReaders),
		reserveLock(e.dir, e.opts.MaxReaders))
	if err == nil {
		err = env.Open(e.dir, flags, fileMode)
	}
	if err == nil {
		err = e.checkPlace(env)
	}
	if err != nil {
		env.Close()
		return err
	}
	e.env, e.mapSize = env, size
	return nil
}

// errSwapped is that the data file was exchanged while it was being opened.
var errSwapped = errors.New("data.mdb was exchanged")

// checkPlace returns errSwapped where a compaction has put another file into the
// place of the one that env has opened. LMDB opens the data file before it waits
// for the lock when it is to read only.
func (e *Env) checkPlace(env *lmdb.Env) error {
	fd, err := env.FD()
	if err != nil {
		return err
	}
	var opened, there syscall.Stat_t
	if err := errors.Join(syscall.Fstat(int(fd), &opened), syscall.Stat(filepath.Join(e.dir, dataFile), &there)); err != nil {
		return err
	}
	if opened.Ino != there.Ino || opened.Dev != there.Dev {
		return errSwapped
	}
	return nil
}

// explainOpen adds what an operator can do about an error of opening.
func (e *Env) explainOpen(err error, least int64) error {
	what := ""
	switch {
	case isErrno(err, syscall.EACCES), isErrno(err, syscall.EPERM):
		what = " (is it another user's?)"
	case isErrno(err, lmdb.Invalid):
		what = " (data.mdb is no LMDB file, or was cut)"
	case isErrno(err, lmdb.VersionMismatch):
		what = " (data.mdb was written by another version of LMDB)"
	case isErrno(err, syscall.ENOMEM):
		what = fmt.Sprintf(" (no %d MiB of address space for the map and %d MiB for the rest: raise ulimit -v)", least>>20, headroom>>20)
	}
	if op := (*lmdb.OpError)(nil); errors.As(err, &op) {
		err = op.Errno // the binding's error does not unwrap
	}
	return fmt.Errorf("open database %s%s: %w", e.dir, what, err)
}

// grow makes the map larger than tooSmall bytes, which it was when a
// transaction found no room in it: twice as large, and large enough for what
// another process may have filled. It waits until no transaction of this
// process is open.
func (e *Env) grow(tooSmall int64) error {
	e.gate.Lock()
	defer e.gate.Unlock()
	if e.dead != nil {
		return e.dead
	}
	if e.mapSize > tooSmall {
		return nil // somebody else was faster
	}
	info, err := e.info()
	if err != nil {
		return err
	}
	size, err := e.larger(max(e.mapSize, info.FileSize))
	if err != nil {
		return err
	}
	if err := e.env.SetMapSize(size); err != nil {
		// LMDB has given up the old map by now, and touching it kills.
		e.dead = fmt.Errorf("resize map of %s to %d bytes: %w", e.dir, size, err)
		return e.dead
	}
	e.mapSize = size
	return nil
}

// growStep is the least that growing must gain, in bytes, to be worth it.
const growStep = 16 << 20

// larger returns twice the size given or, where the address space has no room
// for that, as much as it has.
func (e *Env) larger(size int64) (int64, error) {
	if size > math.MaxInt64/2 {
		return 0, fmt.Errorf("map of %s cannot grow past %d bytes", e.dir, size)
	}
	for gain := size; ; gain = max(gain/2, growStep) {
		if addressable(size + gain - e.mapSize) {
			return size + gain, nil
		}
		if gain <= growStep {
			return 0, fmt.Errorf("map of %s cannot grow past %d MiB (no address space is left: raise ulimit -v): %w",
				e.dir, e.mapSize>>20, syscall.ENOMEM)
		}
	}
}

// addressable reports whether the address space has room for n more bytes of
// map, and the headroom. LMDB gives up the old map before it asks for the new
// one, so asking must not fail.
func addressable(n int64) bool {
	b, err := syscall.Mmap(-1, 0, int(n+headroom), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return false
	}
	return syscall.Munmap(b) == nil
}

// isErrno reports whether err comes from LMDB or the system with that number,
// however it is wrapped.
func isErrno(err, errno error) bool {
	var op *lmdb.OpError
	return errors.As(err, &op) && op.Errno == errno || errors.Is(err, errno)
}
