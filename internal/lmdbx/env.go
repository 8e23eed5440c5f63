package lmdbx

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"github.com/PowerDNS/lmdb-go/lmdb"
)

const (
	// DefaultMapSize is how much address space a map takes if it can be had.
	// The file is as long as the data, whatever the size of the map.
	DefaultMapSize = 8 << 40
	// minMapSize is where falling back ends: less is no relay.
	minMapSize = 64 << 20

	defaultMaxReaders = 256
	dataFile          = "data.mdb"
	dirMode           = 0o750
	fileMode          = 0o640
)

// A Table declares one named table. Its number is its index in Options.Tables.
type Table struct {
	Name       string
	IntegerKey bool // keys are uint64 in the machine's own order
	DupSort    bool // many values a key, sorted
	DupFixed   bool // values of one size; needs DupSort
}

func (t Table) flags() (f uint) {
	if t.IntegerKey {
		f |= lmdb.IntegerKey
	}
	if t.DupSort {
		f |= lmdb.DupSort
	}
	if t.DupFixed {
		f |= lmdb.DupFixed
	}
	return f
}

// Options say how an environment is opened. The zero value of a field asks for
// its default.
type Options struct {
	Dir         string
	Tables      []Table
	MapSize     int64 // bytes; less is taken where the system gives no more
	MaxReaders  int   // slots for readers, all processes together
	Readers     int   // read transactions this process holds at most at once
	NoReadAhead bool  // for databases much larger than memory
	ReadOnly    bool  // never write; the database must exist
}

// An Env is an open environment.
type Env struct {
	env  *lmdb.Env
	dir  string
	tabs []lmdb.DBI
	opts Options

	// gate is shared by transactions and taken alone to resize the map.
	gate sync.RWMutex

	// readers hands out read transactions: a nil one is yet to be begun.
	readers chan *Txn
}

// A Peek is a look at a database before its tables are opened.
type Peek struct {
	Tables []string // names of the tables that exist; none in a new database
	txn    *lmdb.Txn
}

// Get returns the value of key in the table of that name, borrowed, and whether
// there is one.
func (p *Peek) Get(table string, key []byte) ([]byte, bool, error) {
	dbi, err := p.txn.OpenDBI(table, 0)
	if err != nil {
		return nil, false, fmt.Errorf("open table %s: %w", table, err)
	}
	val, err := p.txn.Get(dbi, key)
	if lmdb.IsNotFound(err) {
		return nil, false, nil
	}
	return val, err == nil, err
}

// Open opens the environment in opts.Dir. A database that exists is first
// shown to accept, which may refuse it. Missing tables are made unless
// opts.ReadOnly, and a new database is begun by create in the same
// transaction, so that there is never one with tables but without beginning.
func Open(opts Options, accept func(*Peek) error, create func(*Txn) error) (*Env, error) {
	if opts.MapSize == 0 {
		opts.MapSize = DefaultMapSize
	}
	if opts.MaxReaders == 0 {
		opts.MaxReaders = defaultMaxReaders
	}
	if opts.Readers == 0 {
		opts.Readers = 4 * runtime.NumCPU()
	}
	opts.Readers = min(opts.Readers, max(1, opts.MaxReaders/4))
	if !opts.ReadOnly {
		if err := os.MkdirAll(opts.Dir, dirMode); err != nil {
			return nil, fmt.Errorf("make database directory: %w", err)
		}
	}
	e := &Env{dir: opts.Dir, opts: opts, readers: make(chan *Txn, opts.Readers)}
	if err := e.openMap(); err != nil {
		return nil, err
	}
	for range opts.Readers {
		e.readers <- nil
	}
	if err := e.openTables(accept, create); err != nil {
		e.env.Close()
		return nil, fmt.Errorf("open database %s: %w", opts.Dir, err)
	}
	return e, nil
}

// openMap opens the environment with the largest map that the address space
// holds: under ulimit -v, or on small machines, the default is not to be had.
func (e *Env) openMap() error {
	size := e.opts.MapSize
	if fi, err := os.Stat(filepath.Join(e.dir, dataFile)); err == nil {
		size = max(size, fi.Size())
	}
	for {
		err := e.openSized(size)
		if err == nil {
			return nil
		}
		if !isErrno(err, syscall.ENOMEM) || size/2 < minMapSize {
			return e.explainOpen(err)
		}
		size /= 2
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
	err = errors.Join(env.SetMapSize(size), env.SetMaxDBs(len(e.opts.Tables)+8), env.SetMaxReaders(e.opts.MaxReaders))
	if err == nil {
		err = env.Open(e.dir, flags, fileMode)
	}
	if err != nil {
		env.Close()
		return err
	}
	e.env = env
	return nil
}

// explainOpen adds what an operator can do about an error of opening.
func (e *Env) explainOpen(err error) error {
	what := ""
	switch {
	case isErrno(err, syscall.EACCES), isErrno(err, syscall.EPERM):
		what = " (is it another user's?)"
	case isErrno(err, lmdb.Invalid):
		what = " (data.mdb is no LMDB file, or was cut)"
	case isErrno(err, lmdb.VersionMismatch):
		what = " (data.mdb was written by another version of LMDB)"
	case isErrno(err, syscall.ENOMEM):
		what = fmt.Sprintf(" (not even %d MiB of address space for the map: raise ulimit -v)", minMapSize>>20)
	}
	return fmt.Errorf("open database %s%s: %w", e.dir, what, err)
}

func (e *Env) openTables(accept func(*Peek) error, create func(*Txn) error) error {
	if _, err := e.env.ReaderCheck(); err != nil {
		return fmt.Errorf("clear stale readers: %w", err)
	}
	if e.opts.ReadOnly {
		return e.env.View(func(txn *lmdb.Txn) error { return e.openIn(txn, accept) })
	}
	return e.env.Update(func(txn *lmdb.Txn) error {
		names, err := tableNames(txn)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return e.openIn(txn, accept)
		}
		if err := e.openIn(txn, nil); err != nil {
			return err
		}
		txn.RawRead = true
		return create(newTxn(e, txn))
	})
}

// openIn opens all tables in txn, after accept, unless nil, has had its look.
func (e *Env) openIn(txn *lmdb.Txn, accept func(*Peek) error) error {
	if accept != nil {
		names, err := tableNames(txn)
		if err != nil {
			return err
		}
		if err := accept(&Peek{Tables: names, txn: txn}); err != nil {
			return err
		}
	}
	e.tabs = make([]lmdb.DBI, len(e.opts.Tables))
	for i, t := range e.opts.Tables {
		flags := t.flags()
		if !e.opts.ReadOnly {
			flags |= lmdb.Create
		}
		var err error
		if e.tabs[i], err = txn.OpenDBI(t.Name, flags); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

// tableNames lists the named tables, which LMDB keeps as the keys of its root.
func tableNames(txn *lmdb.Txn) ([]string, error) {
	root, err := txn.OpenRoot(0)
	if err != nil {
		return nil, err
	}
	cur, err := txn.OpenCursor(root)
	if err != nil {
		return nil, err
	}
	defer cur.Close()
	var names []string
	for {
		key, _, err := cur.Get(nil, nil, lmdb.Next)
		if lmdb.IsNotFound(err) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, string(key))
	}
}

// Close ends all idle read transactions and the environment. Transactions must
// not be in use.
func (e *Env) Close() error {
	for range e.opts.Readers {
		if t := <-e.readers; t != nil {
			t.abort()
		}
	}
	return e.env.Close()
}

// Dir returns the directory of the environment.
func (e *Env) Dir() string { return e.dir }

// LastTxnID returns the number of the newest committed transaction, by any
// process. It reads shared memory and is cheap enough to be asked often.
func (e *Env) LastTxnID() (uint64, error) {
	info, err := e.env.Info()
	if err != nil {
		return 0, fmt.Errorf("read environment info: %w", err)
	}
	return uint64(info.LastTxnID), nil
}

// Info says how the environment stands.
type Info struct {
	MapSize    int64
	FileSize   int64 // bytes up to the last page in use
	PageSize   int
	LastTxnID  uint64
	MaxReaders int
	NumReaders int // slots ever used at once
}

// Info returns the state of the environment.
func (e *Env) Info() (Info, error) {
	in, err := e.env.Info()
	if err != nil {
		return Info{}, fmt.Errorf("read environment info: %w", err)
	}
	st, err := e.env.Stat()
	if err != nil {
		return Info{}, fmt.Errorf("read environment stat: %w", err)
	}
	return Info{
		MapSize:    in.MapSize,
		FileSize:   (in.LastPNO + 1) * int64(st.PSize),
		PageSize:   int(st.PSize),
		LastTxnID:  uint64(in.LastTxnID),
		MaxReaders: int(in.MaxReaders),
		NumReaders: int(in.NumReaders),
	}, nil
}

// FreeBytes returns how many bytes the file system of the database still has
// for this user.
func (e *Env) FreeBytes() (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(e.dir, &st); err != nil {
		return 0, fmt.Errorf("statfs %s: %w", e.dir, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// resize gives the map a new size, at least size bytes, or what another
// process has made of it. It waits until no transaction of this process is
// open.
func (e *Env) resize(size int64) error {
	e.gate.Lock()
	defer e.gate.Unlock()
	if info, err := e.env.Info(); err == nil && size > 0 && info.MapSize >= size {
		return nil // somebody else was faster
	}
	if err := e.env.SetMapSize(size); err != nil {
		return fmt.Errorf("resize map of %s to %d bytes: %w", e.dir, size, err)
	}
	return nil
}

// grow makes room after the map was found full.
func (e *Env) grow() error {
	info, err := e.env.Info()
	if err != nil {
		return fmt.Errorf("read environment info: %w", err)
	}
	if info.MapSize > math.MaxInt64/2 {
		return fmt.Errorf("map of %s cannot grow past %d bytes", e.dir, info.MapSize)
	}
	return e.resize(2 * info.MapSize)
}

// Read runs fn in a read transaction on the newest snapshot. It waits, until
// ctx ends, for one of the Options.Readers transactions to be free; fn must not
// wait for anything but the disk.
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
		var err error
		if t == nil {
			t, err = e.beginRead()
		} else {
			err = t.txn.Renew()
		}
		if err == nil {
			return t, nil
		}
		if !isErrno(err, lmdb.MapResized) {
			return t, fmt.Errorf("begin read of %s: %w", e.dir, err)
		}
		// Another process made the map larger: take its size on.
		e.gate.RUnlock()
		err = e.resize(0)
		e.gate.RLock()
		if err != nil {
			return t, err
		}
	}
	return t, fmt.Errorf("begin read of %s: the map keeps being resized", e.dir)
}

// Update runs fn in the one write transaction there is among all processes,
// then commits and syncs it to disk. When the map turns out to be full it is
// grown and fn runs again from the start, so fn must begin by forgetting what
// an earlier run did. An error of fn undoes everything.
func (e *Env) Update(fn func(*Txn) error) error {
	for {
		err := e.updateOnce(fn)
		switch {
		case isErrno(err, lmdb.MapFull):
			err = e.grow()
		case isErrno(err, lmdb.MapResized):
			err = e.resize(0)
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
}

func (e *Env) updateOnce(fn func(*Txn) error) error {
	e.gate.RLock()
	defer e.gate.RUnlock()
	var ferr error
	err := e.env.Update(func(txn *lmdb.Txn) error {
		txn.RawRead = true
		t := newTxn(e, txn)
		defer t.mangle()
		ferr = fn(t)
		return ferr
	})
	if err != nil && ferr == nil {
		return fmt.Errorf("commit to %s: %w", e.dir, err)
	}
	return err
}

// isErrno reports whether err comes from LMDB or the system with that number,
// however it is wrapped.
func isErrno(err, errno error) bool {
	var op *lmdb.OpError
	return errors.As(err, &op) && op.Errno == errno
}
