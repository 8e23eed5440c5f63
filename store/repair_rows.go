package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"wok/index"
)

// An entry is a key and a value, copied, and what is wrong with them.
type entry struct {
	key, val []byte
	why      string
}

// rows removes the rows that no event has.
func (r *repair) rows(ctx context.Context) error {
	for i := range index.Tables {
		table := index.TableID(i)
		if c := (&checker{}); !c.explainable(table) || table == index.TableEvent || table == index.TableEventPayload {
			continue
		}
		err := r.sift(ctx, table, func(c *checker, key, val []byte) string { return c.stray(table, key, val) })
		if err != nil {
			return err
		}
	}
	return nil
}

// marks removes dictionaries, and marks of deletion, that have no form.
func (r *repair) marks(ctx context.Context) error {
	for _, table := range []index.TableID{index.TableCompressionDictionary, index.TableDeletion, index.TableReplaceDeletion, index.TableVanish, index.TableVanishing} {
		err := r.sift(ctx, table, func(c *checker, key, val []byte) string { return c.malformed(table, key, val) })
		if err != nil {
			return err
		}
	}
	return nil
}

// sift removes the rows of a table that judge gives a reason against. It goes
// through the table in slices, each on a snapshot of its own. What it removes is
// what it has judged: a row of that value cannot have become right meanwhile,
// since no levId is given out twice and no event ever changes.
func (r *repair) sift(ctx context.Context, table index.TableID, judge func(c *checker, key, val []byte) string) error {
	var at entry
	for more := true; more; {
		var bad []entry
		err := r.look(ctx, func(c *checker) error {
			n := 0
			more = false
			return c.file.Each(int(table), at.key, at.val, func(key, val []byte) error {
				if n++; n > repairSlice || len(bad) == repairBatch {
					at, more = entry{key: bytes.Clone(key), val: bytes.Clone(val)}, true
					return ErrStop
				}
				if why := judge(c, key, val); why != "" {
					bad = append(bad, entry{bytes.Clone(key), bytes.Clone(val), why})
				}
				return nil
			})
		})
		if err == nil {
			err = r.dropRows(table, bad)
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if !index.Tables[table].DupSort {
			at.val = nil
		}
	}
	return nil
}

func (r *repair) dropRows(table index.TableID, bad []entry) error {
	if len(bad) == 0 {
		return nil
	}
	return r.update(func(b *Batch) error {
		for _, bad := range bad {
			if !index.Tables[table].DupSort {
				now, ok, err := b.lx.Get(int(table), bad.key)
				if err != nil {
					return err
				}
				if !ok || !bytes.Equal(now, bad.val) {
					continue // written over
				}
			}
			if err := r.drop(b, table, bad.key, bad.val, bad.why); err != nil {
				return err
			}
		}
		return nil
	})
}

// malformed returns what is wrong with a mark or dictionary, by itself.
func (c *checker) malformed(table index.TableID, key, val []byte) string {
	before := len(c.report.Problems)
	check := map[index.TableID]func(key, val []byte) error{
		index.TableCompressionDictionary: c.dictionaryRow,
		index.TableDeletion:              c.tombstoneRow,
		index.TableReplaceDeletion:       c.markRow,
		index.TableVanish:                c.vanishRow,
		index.TableVanishing:             c.removalRow,
	}[table]
	if err := check(key, val); err != nil {
		return err.Error()
	}
	if len(c.report.Problems) > before {
		return c.report.Problems[before].What
	}
	return ""
}

// requests carries out again what stored deletions and requests to vanish ask
// for: their marks may be what was lost.
func (r *repair) requests(ctx context.Context) error {
	for _, kind := range []uint16{kindDeletion, kindVanish} {
		var ids []uint64
		err := r.db.View(ctx, func(tx *Txn) error {
			list := tx.List(index.ByKind, index.All[index.ByKind].AppendKey(nil, nil, kind, nil))
			for {
				ok, err := list.Next()
				if err != nil || !ok {
					return err
				}
				ids = append(ids, list.Posting().LevID())
			}
		})
		if err != nil {
			return err
		}
		for part := range slices.Chunk(ids, repairBatch) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := r.update(func(b *Batch) error { return r.reapply(b, part) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// reapply carries out stored requests once more.
func (r *repair) reapply(b *Batch, levIDs []uint64) error {
	for _, levID := range levIDs {
		val, ok, err := b.lx.Get(int(index.TableEventPayload), b.intKey(levID))
		if err != nil {
			return err
		}
		if !ok {
			continue // a row of no event, which goes in rows
		}
		ev, _ := r.read(b, val)
		switch {
		case ev == nil:
		case ev.Packed.Kind() == kindDeletion:
			err = b.applyDeletion(ev)
		case ev.Packed.Kind() == kindVanish:
			err = b.applyVanish(ev.Packed)
		}
		if err != nil {
			return fmt.Errorf("carry out event %d again: %w", levID, err)
		}
	}
	return nil
}
