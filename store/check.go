package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/nostr"
)

// CheckOptions say what [DB.Check] looks at and how it tells what it does. The
// zero value looks at all but signatures, is silent and lists up to 100 problems.
type CheckOptions struct {
	// Progress is called now and then with the number of events checked and
	// of all that will be.
	Progress func(done, total uint64)
	// Limit is how many problems are listed, 100 where it is 0. All are
	// counted.
	Limit int
	// Sample, unless 0, is how many events are looked at, and rows of each
	// table, chosen by chance.
	Sample uint64
	// Share, unless 0, sets Sample: to that part of all events, below 1.
	Share float64
	// Verify asks for the signature of each event too.
	Verify bool
}

// Check proves every row of the database against every other: that each page can
// be read and each event is whole, can be read back from its JSON, has each of
// its rows, and is not one that a deletion covers; and that there is no row but
// those. It goes on after a problem, whatever bytes it meets, since it reads
// pages itself and leaves nothing to LMDB; the error is nil unless there was
// nothing to read or ctx ended, and the report holds what was found until then.
//
// It works on one snapshot, which it holds for as long as it takes, some 50,000
// events a second. Writers go on, but pages that they free are not used again
// until the end.
func (db *DB) Check(ctx context.Context, opts CheckOptions) (report Report, err error) {
	err = db.inspect(ctx, func(file *lmdbx.File) error {
		report, err = check(ctx, file, opts)
		return err
	})
	return report, err
}

// inspect runs fn on a snapshot of the file.
func (db *DB) inspect(ctx context.Context, fn func(*lmdbx.File) error) error {
	return db.env.ReadFile(ctx, func(_ *lmdbx.Txn, file *lmdbx.File) error { return fn(file) })
}

// CheckDir is [DB.Check] of a database that is not opened for it, and so of one
// that cannot be.
func CheckDir(ctx context.Context, dir string, opts CheckOptions) (report Report, err error) {
	file, wrong, err := lmdbx.OpenFile(dir, tables(), false)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if wrong == nil {
		if err := acceptFile(file); err != nil {
			return report, fmt.Errorf("check %s: %w", dir, err)
		}
	}
	report, err = check(ctx, file, opts)
	if wrong != nil {
		report.add(opts.Limit, Problem{Class: Broken, What: wrong.Error()})
	}
	return report, err
}

func check(ctx context.Context, file *lmdbx.File, opts CheckOptions) (Report, error) {
	if opts.Limit == 0 {
		opts.Limit = 100
	}
	c := newChecker(ctx, file, opts)
	err := lmdbx.Guard(c.run)
	for _, b := range file.Broken() {
		c.report.add(opts.Limit, Problem{Class: Broken, What: b.String()})
	}
	return c.report, err
}

// acceptFile refuses a database that is not wok's or too new.
func acceptFile(p *lmdbx.File) error {
	val, ok, err := p.Get(int(index.TableMeta), metaFormat)
	switch {
	case err != nil, len(p.Broken()) > 0:
		return nil // to be reported
	case !ok || len(val) != 8:
		return errors.New("this LMDB database is not wok's: it has no table Meta that names a format")
	case binary.BigEndian.Uint64(val) > FormatVersion:
		return fmt.Errorf("its format is %d and this wok knows formats up to %d: use a newer wok", binary.BigEndian.Uint64(val), FormatVersion)
	}
	if _, half, err := p.Get(int(index.TableMeta), metaSalvage); half && err == nil {
		return ErrHalf
	}
	for i, t := range index.Tables {
		if !p.HasTable(i) {
			return fmt.Errorf("it has no table %s yet, which a command that writes makes: start wok relay, or wok import with no input", t.Name)
		}
	}
	return nil
}

// A checker walks the events and confirms their rows, then walks the tables
// that hold more rows than were confirmed.
type checker struct {
	ctx    context.Context
	file   *lmdbx.File
	opts   CheckOptions
	report Report

	next      uint64                    // levId of the next event
	total     uint64                    // events
	confirmed [len(index.Tables)]uint64 // rows that an event has, found in place

	parser nostr.Parser
	rows   []index.Row
	arena  []byte
	addr   []byte
	tomb   []byte // key of a tombstone
	key    [8]byte
	codecs map[Form]*codec // nil for a dictionary that cannot be had
	frame  []byte          // JSON, decompressed
	unread uint64          // events whose dictionary cannot be had
}

func newChecker(ctx context.Context, file *lmdbx.File, opts CheckOptions) *checker {
	return &checker{ctx: ctx, file: file, opts: opts, codecs: map[Form]*codec{}}
}

func (c *checker) run() error {
	c.total = c.file.Entries(int(index.TableEvent))
	steps := []func() error{c.structure, c.meta, c.dictionaries, c.events, c.tombstones, c.marks, c.vanishMarks, c.removals, c.extras}
	if c.opts.Share > 0 {
		c.opts.Sample = max(1, uint64(c.opts.Share*float64(c.total)))
	}
	if c.opts.Sample > 0 && c.opts.Sample < c.total { // else all are sooner looked at than drawn
		c.total = c.opts.Sample
		steps = []func() error{c.meta, c.dictionaries, c.someEvents, c.someRows}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	c.progress()
	return nil
}

func (c *checker) progress() {
	if c.opts.Progress != nil {
		c.opts.Progress(c.report.Events, max(c.total, c.report.Events))
	}
}

// structure looks at every page.
func (c *checker) structure() (err error) {
	c.report.Lost, err = c.file.Verify(func(uint64, uint64) error {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		return nil
	})
	return err
}

// problem notes a problem with the row of key in a table.
func (c *checker) problem(class Class, table index.TableID, key []byte, format string, args ...any) {
	c.report.add(c.opts.Limit, Problem{class, table, bytes.Clone(key), fmt.Sprintf(format, args...)})
}

// get returns the value of key. A row that a broken page hides is neither there
// nor missing, and counted.
func (c *checker) get(table index.TableID, key []byte) (val []byte, ok, hidden bool) {
	val, ok, err := c.file.Get(int(table), key)
	if err != nil {
		c.report.Hidden++
	}
	return val, ok, err != nil
}

func (c *checker) intKey(n uint64) []byte { return lmdbx.AppendInt(c.key[:0], n) }

// meta checks what the database says about itself.
func (c *checker) meta() error {
	for _, key := range [][]byte{metaFormat, metaNextLevID} {
		val, ok, hidden := c.get(index.TableMeta, key)
		switch {
		case hidden:
		case !ok:
			c.problem(Missing, index.TableMeta, key, "is missing")
		case len(val) != 8:
			c.problem(BadValue, index.TableMeta, key, "has %d bytes and not 8", len(val))
		}
	}
	list, ok, hidden := c.get(index.TableMeta, metaIndexes)
	switch {
	case hidden:
	case !ok:
		c.problem(Missing, index.TableMeta, metaIndexes, "is missing")
	case !bytes.Equal(list, allIndexes()):
		c.problem(BadValue, index.TableMeta, metaIndexes, "is %q and not %q", list, allIndexes())
	}
	c.next = index.MaxLevID + 1
	if next, ok, _ := c.get(index.TableMeta, metaNextLevID); ok && len(next) == 8 {
		c.next = binary.BigEndian.Uint64(next)
	}
	return nil
}
