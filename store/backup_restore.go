package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"wok/internal/lmdbx"
)

const (
	dataFile = "data.mdb"
	// restoreDir is where a restored database grows, in the directory that it is
	// to stand in.
	restoreDir = "restore.part"
	dirMode    = 0o750
)

// ErrExists is what [NewRestore] returns where there is a database already.
var ErrExists = errors.New("there is a database already, which is not written over")

// ErrChain is what [Restore.Apply] returns for an archive that does not follow
// the one before.
var ErrChain = errors.New("the archives do not follow one another")

// A Restore makes a database out of archives: a full one, then increments in
// their order. It grows in a directory of its own and is put in its place, whole,
// by [Restore.Place].
type Restore struct {
	opts Options // Dir is where the database is to be
	lock *os.File
	db   *DB // nil before the full archive
	last Manifest
}

// NewRestore begins to restore into opts.Dir, which must hold no database. What a
// restore that was killed has left there is removed.
func NewRestore(opts Options) (*Restore, error) {
	if err := vacant(opts.Dir); err != nil {
		return nil, err
	}
	part := filepath.Join(opts.Dir, restoreDir)
	if err := os.MkdirAll(part, dirMode); err != nil {
		return nil, err
	}
	lock, err := os.Open(opts.Dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("another restore into %s is at work: %w", opts.Dir, err)
	}
	r := &Restore{opts: opts, lock: lock}
	if err := r.empty(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// vacant returns ErrExists where a directory holds a database.
func vacant(dir string) error {
	_, err := os.Lstat(filepath.Join(dir, dataFile))
	switch {
	case err == nil:
		return fmt.Errorf("restore into %s: %w", dir, ErrExists)
	case errors.Is(err, os.ErrNotExist):
		return nil
	}
	return err
}

// empty removes what an earlier restore has left.
func (r *Restore) empty() error {
	for _, name := range []string{dataFile, "lock.mdb"} {
		err := os.Remove(filepath.Join(r.dir(), name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (r *Restore) dir() string { return filepath.Join(r.opts.Dir, restoreDir) }

// DB returns the database as restored so far, nil before the first archive.
func (r *Restore) DB() *DB { return r.db }

// Apply reads an archive to its end and brings the database to where it was when
// the archive was made. After an error the restore can only be closed. progress,
// unless nil, is told how many bytes or events have come.
//
// before, unless nil, is shown the manifest first, and may return an error that
// then ends it, such as [ErrStop].
func (r *Restore) Apply(ctx context.Context, archive io.Reader, before func(*Manifest) error, progress func(done, total int64)) (Manifest, error) {
	in := newArchiveReader(archive)
	m, err := in.manifest()
	if err != nil {
		return m, err
	}
	if before != nil {
		if err := before(&m); err != nil {
			return m, err
		}
	}
	if err := r.follows(&m); err != nil {
		return m, err
	}
	if m.Incremental {
		a := applier{ctx: ctx, db: r.db, in: in, m: &m, progress: progress}
		err = a.run()
	} else {
		err = r.full(ctx, in, &m, progress)
	}
	if err != nil {
		return m, err
	}
	r.last = m
	return m, nil
}

// follows reports why the archive of m cannot be applied now.
func (r *Restore) follows(m *Manifest) error {
	switch {
	case !m.Incremental && r.db == nil:
		return nil
	case !m.Incremental:
		return fmt.Errorf("%w: a full one comes first", ErrChain)
	case r.db == nil:
		return fmt.Errorf("%w: the first is incremental, from levId %d on, and goes on from a full one", ErrChain, m.Since)
	case m.Database != r.last.Database:
		return fmt.Errorf("%w: it is of another database", ErrChain)
	case m.Format != r.last.Format || m.Format != FormatVersion:
		return fmt.Errorf("%w: the database was upgraded in between (format %d, then %d)", ErrChain, r.last.Format, m.Format)
	case m.Since > r.last.Last:
		return fmt.Errorf("%w: one is missing, with levIds %d to %d", ErrChain, r.last.Last+1, m.Since)
	case m.Last < r.last.Last:
		return fmt.Errorf("%w: it is older than the one before", ErrChain)
	}
	return nil
}

// full takes the data file out of an archive and opens it.
func (r *Restore) full(ctx context.Context, in *archiveReader, m *Manifest, progress func(done, total int64)) error {
	if in.name != memberData || in.size != m.DataBytes {
		return fmt.Errorf("%w: a data file of %d bytes is missing", ErrArchive, m.DataBytes)
	}
	path := filepath.Join(r.dir(), dataFile)
	err := lmdbx.WriteFile(path, nil, func(w io.Writer) error {
		_, err := io.Copy(&progressWriter{w: w, total: m.DataBytes, report: progress}, readUntil{ctx, in.in})
		return damaged(err)
	})
	if err != nil {
		return err
	}
	if err := in.next(); err != nil {
		return err
	}
	if err := in.finish(); err != nil { // before anything looks at it
		return err
	}
	opts := r.opts
	opts.Dir, opts.MinFreeBytes = r.dir(), 0
	r.db, err = Open(opts)
	return err
}

// readUntil reads until a context ends.
type readUntil struct {
	ctx context.Context
	r   io.Reader
}

func (r readUntil) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(b)
}

// Verify reports in what the database differs from what the last archive says of
// it.
func (r *Restore) Verify(ctx context.Context) error {
	if r.db == nil {
		return fmt.Errorf("%w: there is none", ErrChain)
	}
	return r.db.View(ctx, func(tx *Txn) error {
		s, err := tx.survey(ctx)
		if err != nil {
			return err
		}
		next, err := getMeta(tx.lx, metaNextLevID)
		if err != nil {
			return err
		}
		switch m := &r.last; {
		case s.events != m.Events:
			return fmt.Errorf("%w: there are %d events where the last archive counts %d", ErrChain, s.events, m.Events)
		case next-1 != m.Last:
			return fmt.Errorf("%w: the last levId is %d and not %d", ErrChain, next-1, m.Last)
		case s.sum() != m.State:
			return fmt.Errorf("%w: other events or deletions come out than there were", ErrChain)
		}
		return nil
	})
}

// Place makes the restored database a new one, with an identity of its own, and
// puts it in its place. It is to be verified before, and the restore is closed
// afterwards.
func (r *Restore) Place() error {
	if err := r.db.env.Update(newIdentity); err != nil {
		return err
	}
	if err := r.db.Close(); err != nil {
		return err
	}
	from, to := filepath.Join(r.dir(), dataFile), filepath.Join(r.opts.Dir, dataFile)
	// Unlike a rename, a link never takes the place of another file.
	err := os.Link(from, to)
	switch {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("restore into %s: %w", r.opts.Dir, ErrExists)
	case err != nil: // a file system without
		err = os.Rename(from, to)
	}
	if err != nil {
		return err
	}
	return lmdbx.SyncDir(r.opts.Dir)
}

// Close ends the restore and removes what it has made, but for a database that is
// in its place.
func (r *Restore) Close() error {
	var err error
	if r.db != nil {
		if err = r.db.Close(); errors.Is(err, ErrClosed) {
			err = nil
		}
	}
	err = errors.Join(err, r.empty(), os.Remove(r.dir()))
	return errors.Join(err, r.lock.Close())
}
