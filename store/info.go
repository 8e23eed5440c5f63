package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"os"
	"slices"

	"wok/index"
	"wok/internal/lmdbx"
)

// Info says what a database holds and where its bytes are.
type Info struct {
	Dir       string
	Format    uint64 // version of the format
	Events    uint64
	NextLevID uint64 // levId of the next event: one more than were ever stored

	FileBytes  int64 // up to the last page in use
	FreeBytes  int64 // of these, in pages that are free
	OtherBytes int64 // of these, in no table: branch pages of long lists, LMDB's own
	MapBytes   int64 // of address space
	PageBytes  int
	Readers    int // reader slots ever used at once, all processes together
	MaxReaders int

	Reading      []ReaderInfo // the snapshots that others hold, the oldest first
	WaitingBytes int64        // of FreeBytes, in pages that cannot be used again before those end
	StaleReaders int          // of processes that had ended: removed when this one opened the database

	Tables []TableInfo // in the order of [index.Tables]
	Kinds  []KindInfo  // by kind
}

// ReaderInfo is a snapshot that another process holds.
type ReaderInfo struct {
	PID int
	Age uint64 // transactions committed since
}

// TableInfo says how large a table is.
type TableInfo struct {
	Table index.TableID
	Name  string
	Keys  uint64 // distinct keys
	Rows  uint64
	// Bytes are those of the table's pages, with the pages of postings of its
	// long lists but without the branch pages above those.
	Bytes int64
	Long  uint64 // lists that have pages of their own
}

// KindInfo counts the events of a kind.
type KindInfo struct {
	Kind   uint16
	Events uint64
}

// Info measures the database. It reads all of the indexes on one snapshot, so it
// is for people, not for a loop.
func (db *DB) Info(ctx context.Context) (Info, error) {
	in := Info{Dir: db.Dir(), StaleReaders: db.env.Cleared()}
	// Before the transaction: within one, asking would wait for who moves the
	// map, who waits for the transaction.
	env, err := db.env.Info()
	if err != nil {
		return in, err
	}
	readers, err := db.env.Readers()
	if err != nil {
		return in, err
	}
	err = db.View(ctx, func(tx *Txn) error {
		if err := in.env(env, tx); err != nil {
			return err
		}
		if err := in.readers(readers, tx); err != nil {
			return err
		}
		if err := in.tables(ctx, tx); err != nil {
			return err
		}
		return in.kinds(tx)
	})
	return in, err
}

func (in *Info) env(env lmdbx.Info, tx *Txn) error {
	var err error
	if in.Format, err = getMeta(tx.lx, metaFormat); err != nil {
		return err
	}
	if in.NextLevID, err = getMeta(tx.lx, metaNextLevID); err != nil {
		return err
	}
	if in.Events, err = tx.Events(); err != nil {
		return err
	}
	free, err := tx.lx.FreePages()
	in.FileBytes, in.MapBytes, in.PageBytes = env.FileSize, env.MapSize, env.PageSize
	in.Readers, in.MaxReaders = env.NumReaders, env.MaxReaders
	in.FreeBytes = int64(free) * int64(env.PageSize)
	return err
}

// readers fills in who reads, and what that costs.
func (in *Info) readers(all []lmdbx.Reader, tx *Txn) error {
	now, self := tx.lx.ID(), os.Getpid()
	oldest := now
	for _, r := range all {
		if r.Txn == 0 || r.PID == self {
			continue
		}
		in.Reading = append(in.Reading, ReaderInfo{r.PID, now - min(now, r.Txn)})
		oldest = min(oldest, r.Txn)
	}
	slices.SortFunc(in.Reading, func(a, b ReaderInfo) int { return cmp.Compare(b.Age, a.Age) })
	// What the last transaction has freed waits in any case.
	free, err := tx.lx.FreePagesBefore(now)
	if err != nil {
		return err
	}
	usable, err := tx.lx.FreePagesBefore(oldest)
	in.WaitingBytes = int64(free-usable) * int64(in.PageBytes)
	return err
}

func (in *Info) tables(ctx context.Context, tx *Txn) error {
	in.OtherBytes = in.FileBytes - in.FreeBytes
	for i, def := range index.Tables {
		t := TableInfo{Table: def.ID, Name: def.Name}
		size, err := tx.lx.Size(i)
		if err != nil {
			return err
		}
		t.Rows, t.Keys, t.Bytes = size.Entries, size.Entries, int64(size.Pages)*int64(in.PageBytes)
		if def.DupFixed {
			if err := t.lists(ctx, tx, in.PageBytes); err != nil {
				return err
			}
		}
		in.OtherBytes -= t.Bytes
		in.Tables = append(in.Tables, t)
	}
	return nil
}

// lists counts the keys of a table of lists and the pages of the long ones.
func (t *TableInfo) lists(ctx context.Context, tx *Txn, pageBytes int) error {
	t.Keys = 0
	return tx.lx.EachKeyInfo(int(t.Table), func(_ []byte, list lmdbx.KeyInfo) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.Keys++
		if list.Pages > 0 {
			t.Long++
			t.Bytes += int64(list.Pages) * int64(pageBytes)
		}
		return nil
	})
}

func (in *Info) kinds(tx *Txn) error {
	return tx.EachKey(index.ByKind, func(key []byte, n uint64) error {
		if len(key) == 2 { // another length is for Check to report
			in.Kinds = append(in.Kinds, KindInfo{binary.BigEndian.Uint16(key), n})
		}
		return nil
	})
}
