package store

import (
	"context"
	"io"

	"wok/internal/lmdbx"
)

// Compact writes a data file to w that holds the newest snapshot without free
// pages, and returns its size in bytes. Others write meanwhile; but pages that
// they free are not used again until the end.
func (db *DB) Compact(ctx context.Context, w io.Writer, progress func(done, total int64)) (size int64, err error) {
	err = db.env.ReadPages(ctx, func(_ *lmdbx.Txn, p *lmdbx.Pages) (err error) {
		if size, err = p.CompactSize(); err != nil {
			return err
		}
		return p.Compact(ctx, &progressWriter{w: w, total: size, report: progress})
	})
	return size, err
}

// A Compaction says what compacting in place has come to.
type Compaction = lmdbx.Compaction

// ErrBusy is what [CompactInPlace] returns while a process has the database open.
var ErrBusy = lmdbx.ErrInUse

// CompactInPlace puts a compacted copy of the database in opts.Dir into its
// place. No process may have it open, this one included; who opens it meanwhile
// waits. Until the copy is whole and on disk the data file is the old one, and
// from then on the new one, whenever the process is killed.
func CompactInPlace(ctx context.Context, opts Options) (Compaction, error) {
	opts.ReadOnly = true
	db, err := Open(opts) // is it one of ours?
	if err != nil {
		return Compaction{}, err
	}
	if err := db.Close(); err != nil {
		return Compaction{}, err
	}
	return lmdbx.CompactInPlace(ctx, opts.Dir)
}
