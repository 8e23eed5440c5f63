package lmdbx

import (
	"errors"
	"fmt"
	"os"
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

// ErrClosed is returned by the methods of an Env that was closed.
var ErrClosed = errors.New("database is closed")

// ErrEmpty is returned by [Open] for reading where a database was never begun:
// the process that was to make it ended first, or is at it now.
var ErrEmpty = errors.New("it is empty: nothing was ever written to it")

// An Env is an open environment.
type Env struct {
	env  *lmdb.Env
	dir  string
	tabs []lmdb.DBI
	opts Options

	pageSize int // bytes
	cleared  int // stale readers found

	// gate is shared by all who look at the map, and taken alone by who moves
	// it or takes it away.
	gate    sync.RWMutex
	mapSize int64 // bytes
	dead    error // why the map is gone, nil while it is there

	// readers hands out read transactions: a nil one is yet to be begun.
	readers chan *Txn
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
	// First of all: they may hold every slot there is.
	err := e.clearReaders()
	if err == nil {
		err = e.checkLength()
	}
	if err == nil {
		err = e.openTables(accept, create)
	}
	if err != nil {
		err = e.explainFull(err)
		e.env.Close()
		return nil, fmt.Errorf("open database %s: %w", opts.Dir, err)
	}
	return e, nil
}

// clearReaders takes their slots from readers whose processes have ended.
func (e *Env) clearReaders() (err error) {
	if e.cleared, err = e.env.ReaderCheck(); err != nil {
		return fmt.Errorf("clear stale readers: %w", err)
	}
	return nil
}

// explainFull says what to do where there is no slot for one more reader.
func (e *Env) explainFull(err error) error {
	if !isErrno(err, lmdb.ReadersFull) {
		return err
	}
	return fmt.Errorf("all slots for readers are taken by processes that run: "+
		"raise dbParams.maxreaders, which holds once all of them have stopped: %w", err)
}

func (e *Env) openTables(accept func(*Peek) error, create func(*Txn) error) error {
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
		if len(names) == 0 {
			return ErrEmpty
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

// Close waits for the read transactions in use to end, and closes the
// environment. Afterwards every method returns [ErrClosed].
func (e *Env) Close() error {
	for range e.opts.Readers {
		if t := <-e.readers; t != nil {
			t.abort()
		}
	}
	e.gate.Lock()
	defer e.gate.Unlock()
	for range e.opts.Readers {
		e.readers <- nil
	}
	if e.dead == nil {
		e.dead = ErrClosed
	} else if e.dead == ErrClosed {
		return ErrClosed
	}
	return e.env.Close()
}

// Dir returns the directory of the environment.
func (e *Env) Dir() string { return e.dir }

// LastTxnID returns the number of the newest committed transaction, by any
// process. It reads shared memory and is cheap enough to be asked often.
func (e *Env) LastTxnID() (uint64, error) {
	info, err := e.Info()
	return info.LastTxnID, err
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
	e.gate.RLock()
	defer e.gate.RUnlock()
	if e.dead != nil {
		return Info{}, e.dead
	}
	return e.info()
}

// info is Info for those who hold the gate.
func (e *Env) info() (Info, error) {
	in, err := e.env.Info()
	if err != nil {
		return Info{}, fmt.Errorf("read environment info: %w", err)
	}
	return Info{
		MapSize:    in.MapSize,
		FileSize:   (in.LastPNO + 1) * int64(e.pageSize),
		PageSize:   e.pageSize,
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
