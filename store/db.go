package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wok/index"
	"wok/internal/lmdbx"
)

// FormatVersion is the version of the tables and bytes that this build writes:
//
//	1  the first
const FormatVersion = 1

// Keys of the Meta table; values are uint64, big endian. See also metaIndexes.
var (
	metaFormat    = []byte("format")
	metaNextLevID = []byte("nextLevId")
)

// Options say how a database is opened. The zero value of a field asks for its
// default.
type Options struct {
	Dir         string
	MapSize     int64 // bytes of address space
	MaxReaders  int   // reader slots, all processes together
	Readers     int   // read transactions at once in this process
	NoReadAhead bool
	ReadOnly    bool

	// MinFreeBytes is how much space the file system must have left for a
	// write to begin; below it Update returns ErrNoSpace.
	MinFreeBytes uint64

	// Building is told how far the building of an index has come that this
	// build declares and an older database lacks: up to levId done of last.
	Building func(index string, done, last uint64)

	// Now is the clock by which events expire; time.Now by default.
	Now func() time.Time

	salvaging bool // takes the half of a salvage, to go on with it
}

// ErrNoSpace is returned by Update while the file system is full, or nearly so.
var ErrNoSpace = errors.New("no space left for writing")

// ErrHalf is returned by Open and [CheckDir] for what a [Salvage] that was cut off has made so
// far.
var ErrHalf = errors.New("what was saved of a damaged database is not whole yet: run wok check --repair --into once more, which goes on where it stopped")

// ErrClosed is returned by the methods of a DB that was closed.
var ErrClosed = lmdbx.ErrClosed

// A DB is an open database.
type DB struct {
	env     *lmdbx.Env
	now     func() time.Time
	minFree uint64
	sample  atomic.Pointer[timeSample] // how events lie in time, as last asked

	spare chan *scratch // the memory of batches, of which one runs at a time

	codecs      codecs
	compression atomic.Pointer[Compression] // nil: off
	frames      sync.Pool                   // *[]byte, see Txn.decompress

	mu       sync.Mutex
	watchers []chan struct{} // each of capacity one
}

// Open opens the database in opts.Dir, and makes one where there is none
// unless opts.ReadOnly. A database of another program, or of a newer wok, is
// refused untouched.
func Open(opts Options) (*DB, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	env, err := lmdbx.Open(lmdbx.Options{
		Dir:         opts.Dir,
		Tables:      tables(),
		MapSize:     opts.MapSize,
		MaxReaders:  opts.MaxReaders,
		Readers:     opts.Readers,
		NoReadAhead: opts.NoReadAhead,
		ReadOnly:    opts.ReadOnly,
	}, func(p *lmdbx.Peek) error { return accept(p, &opts) }, create)
	if err != nil {
		return nil, err
	}
	db := &DB{env: env, now: opts.Now, minFree: opts.MinFreeBytes, spare: make(chan *scratch, 1)}
	db.frames.New = func() any { return new([]byte) }
	db.spare <- new(scratch)
	if !opts.ReadOnly {
		if err := db.buildIndexes(opts.Building); err != nil {
			return nil, errors.Join(err, env.Close())
		}
	}
	return db, nil
}

// tables translates the declared tables for lmdbx; a table keeps its number.
func tables() []lmdbx.Table {
	ts := make([]lmdbx.Table, len(index.Tables))
	for i, t := range index.Tables {
		ts[i] = lmdbx.Table{Name: t.Name, IntegerKey: t.IntegerKey, DupSort: t.DupSort, DupFixed: t.DupFixed}
	}
	return ts
}

// accept refuses a database that this build cannot read.
func accept(p *lmdbx.Peek, opts *Options) error {
	meta := index.Tables[index.TableMeta].Name
	if !slices.Contains(p.Tables, meta) {
		if slices.ContainsFunc(p.Tables, func(t string) bool { return strings.HasPrefix(t, "rasgueadb_") }) {
			return errors.New("this is a strfry database, wok cannot open it as its own; give wok another directory (db, or --db) and bring the events over with wok migrate strfry")
		}
		names := fmt.Sprintf("%q", p.Tables[:min(4, len(p.Tables))])
		return fmt.Errorf("this LMDB database is not wok's: it has tables %s", strings.Trim(names, "[]"))
	}
	val, ok, err := p.Get(meta, metaFormat)
	switch {
	case err != nil:
		return err
	case !ok || len(val) != 8:
		return errors.New("this LMDB database is not wok's: its Meta table names no format")
	}
	switch v := binary.BigEndian.Uint64(val); {
	case v > FormatVersion:
		return fmt.Errorf("its format is %d and this wok knows formats up to %d: use a newer wok", v, FormatVersion)
	case v < FormatVersion:
		return fmt.Errorf("its format is %d and this wok reads only %d", v, FormatVersion)
	}
	if _, half, err := p.Get(meta, metaSalvage); err != nil || half && !opts.salvaging {
		return errors.Join(err, ErrHalf)
	}
	if !opts.ReadOnly {
		return nil // what is missing will be made
	}
	for _, t := range index.Tables {
		if !slices.Contains(p.Tables, t.Name) {
			return fmt.Errorf("it has no table %s yet, which a command that writes makes: start wok relay, or wok import with no input", t.Name)
		}
	}
	list, _, err := p.Get(meta, metaIndexes)
	if lacks := lacking(list); err == nil && len(lacks) > 0 {
		err = fmt.Errorf("it has no index %s yet, which a command that writes builds: start wok relay, or wok import with no input", lacks[0].Name)
	}
	return err
}

// create writes the beginning of a new database.
func create(t *lmdbx.Txn) error {
	return errors.Join(
		putMeta(t, metaFormat, FormatVersion),
		putMeta(t, metaNextLevID, 1),
		t.Put(int(index.TableMeta), metaIndexes, allIndexes()),
		newIdentity(t),
	)
}

func putMeta(t *lmdbx.Txn, key []byte, n uint64) error {
	return t.Put(int(index.TableMeta), key, binary.BigEndian.AppendUint64(nil, n))
}

func getMeta(t *lmdbx.Txn, key []byte) (uint64, error) {
	val, ok, err := t.Get(int(index.TableMeta), key)
	if err == nil && (!ok || len(val) != 8) {
		err = fmt.Errorf("table Meta has no %s", key)
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(val), nil
}

// Close waits for the views in use to end, and closes the database. Afterwards
// every method returns [ErrClosed].
func (db *DB) Close() error { return db.env.Close() }

// Dir returns the directory of the database.
func (db *DB) Dir() string { return db.env.Dir() }

// View runs fn on a snapshot of the database. It waits until ctx ends for one
// of the bounded number of read transactions; fn must be short and wait for
// nothing, since an open snapshot keeps old pages from being used again.
func (db *DB) View(ctx context.Context, fn func(*Txn) error) error {
	return db.env.Read(ctx, func(lx *lmdbx.Txn) error {
		tx := Txn{db: db, lx: lx, now: db.unixNow()}
		defer tx.release()
		return fn(&tx)
	})
}

// Update runs fn as the one writer, then commits, syncs to disk and wakes those
// who watch. When it returns nil the batch survives a loss of power; on an error
// nothing of it has happened. fn may be run a second time from the start.
func (db *DB) Update(fn func(*Batch) error) error {
	if db.minFree > 0 {
		free, err := db.env.FreeBytes()
		if err != nil {
			return err
		}
		if free < db.minFree {
			return fmt.Errorf("%w: %d MiB free of the %d MiB to be kept", ErrNoSpace, free>>20, db.minFree>>20)
		}
	}
	return db.update(fn)
}

// update is Update whatever space there is left.
func (db *DB) update(fn func(*Batch) error) error {
	mem := <-db.spare
	defer func() { db.spare <- mem }()
	err := db.env.Update(func(lx *lmdbx.Txn) error {
		b, err := newBatch(db, lx, mem)
		if err != nil {
			return err
		}
		defer b.release()
		if err := fn(b); err != nil {
			return err
		}
		return b.flush()
	})
	if db.env.NoSpace(err) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	if err != nil {
		return err
	}
	db.wake()
	return nil
}

func (db *DB) unixNow() uint64 { return uint64(max(0, db.now().Unix())) }
