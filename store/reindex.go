package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/packed"
)

// A database names in its Meta table the indexes that hold all of its events.
// One that this build declares and the database lacks, or whose key is made of
// other parts now, is built when the database is opened for writing, in batches;
// a build that was cut off goes on where it stopped.

// metaIndexes is the key of the list; its value is text, names by spaces.
var metaIndexes = []byte("indexes")

// buildPrefix begins the key of how far the build of an index has come: the
// levId of the next event, uint64, big endian.
const buildPrefix = "building "

// buildBatch is how many events go into one transaction of a build.
const buildBatch = 10_000

// fullName returns the name of an index with what its key is made of.
func fullName(d *index.Def) string {
	return d.Name + strings.ReplaceAll(fmt.Sprint(d.Parts), " ", ",")
}

// allIndexes is the list of a database that has all indexes.
func allIndexes() []byte {
	names := make([]string, len(index.All))
	for i := range index.All {
		names[i] = fullName(&index.All[i])
	}
	return []byte(strings.Join(names, " "))
}

// lacking returns the indexes that are not in the list of a database.
func lacking(list []byte) []*index.Def {
	have := strings.Fields(string(list))
	var lacks []*index.Def
	for i := range index.All {
		if d := &index.All[i]; !slices.Contains(have, fullName(d)) {
			lacks = append(lacks, d)
		}
	}
	return lacks
}

// buildIndexes builds the indexes that the database lacks. It tells progress,
// unless nil, up to which levId it has come, and what the last one is.
func (db *DB) buildIndexes(progress func(name string, done, last uint64)) error {
	var lacks []*index.Def
	err := db.env.Read(context.Background(), func(lx *lmdbx.Txn) error {
		list, _, err := lx.Get(int(index.TableMeta), metaIndexes)
		lacks = lacking(list)
		return err
	})
	if err != nil || len(lacks) == 0 {
		return err
	}
	for _, d := range lacks {
		if err := db.build(d, progress); err != nil {
			return fmt.Errorf("build index %s: %w", d.Name, err)
		}
	}
	return db.env.Update(func(lx *lmdbx.Txn) error {
		return lx.Put(int(index.TableMeta), metaIndexes, allIndexes())
	})
}

// build fills one index with the postings of all events.
func (db *DB) build(d *index.Def, progress func(string, uint64, uint64)) error {
	for done := false; !done; {
		err := db.env.Update(func(lx *lmdbx.Txn) (err error) {
			done, err = db.buildOn(lx, d, progress)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// buildOn builds on in one transaction and reports whether the index is whole.
func (db *DB) buildOn(lx *lmdbx.Txn, d *index.Def, progress func(string, uint64, uint64)) (bool, error) {
	key := []byte(buildPrefix + d.Name)
	_, begun, err := lx.Get(int(index.TableMeta), key)
	if err != nil {
		return false, err
	}
	from := uint64(1)
	if begun {
		from, err = getMeta(lx, key)
	} else {
		err = lx.Empty(int(d.Table)) // of what an index of that name held before
	}
	if err != nil {
		return false, err
	}
	b := Batch{Txn: Txn{db: db, lx: lx}, scratch: new(scratch)}
	n, last := 0, from-1
	err = b.EachEvent(from, func(levID uint64, v packed.View) error {
		if n == buildBatch {
			return ErrStop
		}
		n++
		last = levID
		b.noteIn(d, v, index.NewPosting(v, levID), false)
		return nil
	})
	if err != nil {
		return false, err
	}
	if err := b.flush(); err != nil {
		return false, err
	}
	if progress != nil {
		all, err := b.LastLevID()
		if err != nil {
			return false, err
		}
		progress(d.Name, last, all)
	}
	if n == buildBatch {
		return false, putMeta(lx, key, last+1)
	}
	_, err = lx.Delete(int(index.TableMeta), key, nil)
	return true, err
}
