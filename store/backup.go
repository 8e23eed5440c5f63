package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"wok/index"
	"wok/internal/lmdbx"
)

// A backup is an archive: of the whole data file (full), or of what has changed
// since a levId (incremental). Increments hold the events that came since, the
// set of levIds that are still there, by which what has gone is known, and the
// tables that do not follow from events. See docs/formats/backup.md.

// ArchiveVersion is the version of archives that this build writes:
//
//	1  the first
const ArchiveVersion = 1

// A Manifest says what a backup holds. It stands first in the archive, as JSON.
type Manifest struct {
	Archive  int       `json:"archive"`  // version of the archive
	Wok      string    `json:"wok"`      // version of the program
	Database string    `json:"database"` // identity, 32 hex digits
	Format   uint64    `json:"format"`   // version of the tables
	Taken    time.Time `json:"taken"`

	Incremental bool   `json:"incremental"`
	Since       uint64 `json:"sinceLevId"` // of an increment: the events up to it are held by others
	Last        uint64 `json:"lastLevId"`  // the last that was given out
	Events      uint64 `json:"events"`     // in the database

	Compacted bool  `json:"compacted"`
	DataBytes int64 `json:"dataBytes"` // of the data file, in a full one

	// State is a hash of all events by levId and id, and of the tables that
	// increments hold whole. A restored database must come to the same.
	State string `json:"state"`
	// Newest are some of the last events. A database that has other ones under
	// their levIds is another, though it may once have been the same.
	Newest []EventName `json:"newest"`
}

// An EventName is an event by levId and id.
type EventName struct {
	LevID uint64 `json:"levId"`
	ID    string `json:"id"` // 64 hex digits
}

// BackupOptions say what [DB.Backup] writes: a full backup unless told otherwise.
type BackupOptions struct {
	Compact bool // a full one without free pages

	Incremental bool
	Since       uint64    // levId that an increment goes on from
	Base        *Manifest // of the archive that it goes on from, where it is at hand

	Wok      string // version of the program
	Progress func(done, total int64)
}

// ErrBase is what [DB.Backup] returns where an increment cannot go on from what
// it was told to.
var ErrBase = errors.New("no incremental backup is possible")

// Backup writes an archive of the newest snapshot to w and returns what it has
// put into its manifest. Others write meanwhile; but pages that they free are not
// used again until the end, so the data file may grow.
func (db *DB) Backup(ctx context.Context, w io.Writer, opts BackupOptions) (m Manifest, err error) {
	err = db.env.ReadPages(ctx, func(lx *lmdbx.Txn, pages *lmdbx.Pages) error {
		b := backup{
			ctx: ctx, opts: opts, pages: pages,
			tx:  &Txn{db: db, lx: lx, now: db.unixNow()},
			out: newArchiveWriter(w, db.now()),
		}
		m, err = b.write()
		return err
	})
	return m, err
}

// A backup is one Backup under way.
type backup struct {
	ctx   context.Context
	opts  BackupOptions
	tx    *Txn
	pages *lmdbx.Pages
	out   *archiveWriter
}

func (b *backup) write() (Manifest, error) {
	m, present, err := b.survey()
	if err != nil {
		return m, err
	}
	if err := b.out.manifest(&m); err != nil {
		return m, err
	}
	if b.opts.Incremental {
		err = b.changes(present)
	} else {
		err = b.data(&m)
	}
	if err != nil {
		return m, err
	}
	return m, b.out.close()
}

// survey makes the manifest, and the set of levIds that are there.
func (b *backup) survey() (m Manifest, present []byte, err error) {
	m = Manifest{
		Archive: ArchiveVersion, Wok: b.opts.Wok, Taken: b.tx.db.now().UTC().Truncate(time.Second),
		Incremental: b.opts.Incremental, Since: b.opts.Since,
	}
	if m.Format, err = getMeta(b.tx.lx, metaFormat); err != nil {
		return m, nil, err
	}
	if m.Database, err = b.tx.identity(); err != nil {
		return m, nil, err
	}
	next, err := getMeta(b.tx.lx, metaNextLevID)
	if err != nil {
		return m, nil, err
	}
	m.Last = next - 1
	if m.Incremental {
		if err := b.goesOn(&m); err != nil {
			return m, nil, err
		}
	} else {
		m.Compacted = b.opts.Compact
		m.DataBytes, err = b.pages.Size(), nil
		if m.Compacted {
			m.DataBytes, err = b.pages.CompactSize()
		}
		if err != nil {
			return m, nil, err
		}
	}
	s, err := b.tx.survey(b.ctx)
	m.Events, m.State, m.Newest = s.events, s.sum(), s.newest
	return m, s.present.bytes, err
}

// goesOn reports why this database cannot go on from where m begins.
func (b *backup) goesOn(m *Manifest) error {
	if m.Since > m.Last {
		return fmt.Errorf("%w: the database has come to levId %d only, and not to %d", ErrBase, m.Last, m.Since)
	}
	base := b.opts.Base
	if base == nil {
		return nil
	}
	if base.Database != m.Database {
		return fmt.Errorf("%w: the last backup is of another database (one that was restored or repaired is another): take a full one", ErrBase)
	}
	if base.Format != m.Format {
		return fmt.Errorf("%w: the database has been upgraded since the last backup: take a full one", ErrBase)
	}
	for _, e := range base.Newest {
		val, ok, err := b.tx.lx.Get(int(index.TableEvent), lmdbx.AppendInt(nil, e.LevID))
		if err != nil {
			return err
		}
		if ok && hex.EncodeToString(val[:min(len(val), idSize)]) != e.ID {
			return fmt.Errorf("%w: the last backup is of a copy of this database that has gone its own way: take a full one", ErrBase)
		}
	}
	return nil
}

// data writes the data file.
func (b *backup) data(m *Manifest) error {
	w, err := b.out.begin(memberData, m.DataBytes)
	if err != nil {
		return err
	}
	counted := &progressWriter{w: w, total: m.DataBytes, report: b.opts.Progress}
	if m.Compacted {
		err = b.pages.Compact(b.ctx, counted)
	} else {
		err = b.pages.Copy(b.ctx, counted)
	}
	if err != nil {
		return err
	}
	b.out.end()
	return nil
}

// changes writes what an increment holds.
func (b *backup) changes(present []byte) error {
	s := b.out.stream(memberPresent)
	if _, err := s.Write(present); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	for _, t := range carried() {
		if err := b.table(t); err != nil {
			return err
		}
	}
	return b.events()
}

// table writes all rows of a table.
func (b *backup) table(t index.TableID) error {
	s := b.out.stream(memberTables + index.Tables[t].Name)
	err := b.tx.lx.Each(int(t), nil, func(key, val []byte) error {
		if b.ctx.Err() != nil {
			return context.Cause(b.ctx)
		}
		return s.row(key, val)
	})
	if err != nil {
		return err
	}
	return s.Close()
}

// events writes the events that came since.
func (b *backup) events() error {
	last, err := b.tx.LastLevID()
	if err != nil {
		return err
	}
	s := b.out.stream(memberEvents)
	err = b.tx.lx.Each(int(index.TableEvent), lmdbx.AppendInt(nil, b.opts.Since+1), func(key, val []byte) error {
		if b.ctx.Err() != nil {
			return context.Cause(b.ctx)
		}
		if len(key) != 8 {
			return fmt.Errorf("%w: table Event has a key of %d bytes; see wok check", ErrCorrupt, len(key))
		}
		payload, ok, err := b.tx.lx.Get(int(index.TableEventPayload), key)
		if err != nil {
			return err
		}
		levID := lmdbx.Int(key)
		if !ok {
			return fmt.Errorf("%w: event %d has no payload; see wok check", ErrCorrupt, levID)
		}
		if b.opts.Progress != nil {
			b.opts.Progress(int64(levID-b.opts.Since), int64(last-b.opts.Since))
		}
		return s.event(levID, val, payload)
	})
	if err != nil {
		return err
	}
	return s.Close()
}

// A progressWriter reports how much has been written.
type progressWriter struct {
	w           io.Writer
	done, total int64
	report      func(done, total int64)
}

func (p *progressWriter) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.done += int64(n)
	if p.report != nil {
		p.report(p.done, p.total)
	}
	return n, err
}
