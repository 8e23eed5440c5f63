package store

import (
	"bytes"
	"fmt"
	"slices"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/nostr"
	"wok/packed"
)

// A Batch is the write transaction of [DB.Update]. Its methods are called one
// after another; an error of any of them must end the batch.
//
// Rows that the rules read (id, replace, deletions) are written at once, so
// that each event of a batch meets the ones before it. Postings, which only
// readers need, are gathered and written at the end in the order of their
// tables: neighbours share pages, and the same work costs a fraction.
type Batch struct {
	Txn
	next  uint64 // the levId of the next event stored
	rows  []change
	arena []byte // holds the keys of rows

	scratch []index.Row
	addr    []byte // address of the event in hand
	old     []byte // copy of an event that is being removed
}

// A change is a posting to be put into, or removed from, one list.
type change struct {
	table   uint8
	remove  bool
	key     []byte
	posting index.Posting
}

func newBatch(db *DB, lx *lmdbx.Txn) (*Batch, error) {
	next, err := getMeta(lx, metaNextLevID)
	if err != nil {
		return nil, err
	}
	return &Batch{Txn: Txn{db: db, lx: lx, now: db.unixNow()}, next: next}, nil
}

// Put stores ev unless the rules of [Status] say otherwise, and carries out what
// ev does to others: a newer version removes the older one, a deletion (kind 5)
// what it names. The event must be valid and verified.
func (b *Batch) Put(ev *nostr.Event) (Status, error) {
	v := ev.Packed
	if index.ClassOf(v.Kind()) == index.Ephemeral {
		return NotKept, nil
	}
	if _, dup, err := b.ByID(v.ID()); err != nil || dup {
		return Duplicate, err
	}
	if v.Expired(b.now) {
		return Expired, nil
	}
	if st, err := b.admit(v); err != nil || st != Stored {
		return st, err
	}
	if err := b.insert(ev); err != nil {
		return Stored, err
	}
	if v.Kind() == kindDeletion {
		return Stored, b.applyDeletion(ev)
	}
	return Stored, nil
}

// insert writes all rows of ev, which nothing speaks against.
func (b *Batch) insert(ev *nostr.Event) error {
	if b.next > index.MaxLevID {
		return fmt.Errorf("no levId is left after %d", index.MaxLevID)
	}
	levID, v := b.next, ev.Packed
	b.next++
	p := index.NewPosting(v, levID)
	bytes := p.Append(nil)
	if err := b.lx.Append(int(index.TableEvent), b.intKey(levID), v); err != nil {
		return err
	}
	dst, err := b.lx.AppendReserve(int(index.TableEventPayload), b.intKey(levID), payloadSize(ev.JSON))
	if err != nil {
		return err
	}
	encodePayload(dst, ev.JSON)
	if err := b.lx.Put(int(index.TableEventID), v.ID(), bytes); err != nil {
		return err
	}
	if addr, ok := index.AddressOf(b.addr[:0], v); ok {
		b.addr = addr
		if err := b.lx.Put(int(index.TableReplace), addr, bytes); err != nil {
			return err
		}
	}
	if e := v.Expiration(); e != 0 {
		if err := b.lx.Put(int(index.TableExpiration), b.intKey(e), lmdbx.AppendInt(nil, levID)); err != nil {
			return err
		}
	}
	b.change(v, p, false)
	return nil
}

// change notes the postings of v for the end of the batch.
func (b *Batch) change(v packed.View, p index.Posting, remove bool) {
	// The keys of an event are shorter than the event; a full arena is left
	// to the rows that point into it.
	if cap(b.arena)-len(b.arena) < len(v) {
		b.arena = make([]byte, 0, max(64<<10, len(v)))
	}
	b.scratch, b.arena = index.Rows(b.scratch[:0], b.arena, v)
	for _, r := range b.scratch {
		b.rows = append(b.rows, change{uint8(index.All[r.Index].Table), remove, r.Key, p})
	}
}

// Delete removes the event with that levId and all its rows, and reports
// whether it was there. It leaves no tombstone: the event may come again.
func (b *Batch) Delete(levID uint64) (bool, error) {
	v, ok, err := b.Packed(levID)
	if err != nil || !ok {
		return false, err
	}
	b.old = append(b.old[:0], v...) // the next write moves v
	v = packed.View(b.old)
	p := index.NewPosting(v, levID)
	if err := b.deleteOwn(index.TableEventID, v.ID(), p); err != nil {
		return false, err
	}
	if addr, ok := index.AddressOf(b.addr[:0], v); ok {
		b.addr = addr
		if err := b.deleteOwn(index.TableReplace, addr, p); err != nil {
			return false, err
		}
	}
	if e := v.Expiration(); e != 0 {
		if _, err := b.lx.Delete(int(index.TableExpiration), b.intKey(e), lmdbx.AppendInt(nil, levID)); err != nil {
			return false, err
		}
	}
	for _, t := range []index.TableID{index.TableEvent, index.TableEventPayload} {
		if _, err := b.lx.Delete(int(t), b.intKey(levID), nil); err != nil {
			return false, err
		}
	}
	b.change(v, p, true)
	return true, nil
}

// deleteOwn removes key if its posting is p: another event may hold it by now.
func (b *Batch) deleteOwn(table index.TableID, key []byte, p index.Posting) error {
	q, ok, err := b.posting(table, key)
	if err != nil || !ok || q != p {
		return err
	}
	_, err = b.lx.Delete(int(table), key, nil)
	return err
}

// flush writes the gathered postings and the next levId.
func (b *Batch) flush() error {
	slices.SortFunc(b.rows, func(x, y change) int {
		switch {
		case x.table != y.table:
			return int(x.table) - int(y.table)
		case len(x.key) > 0 && !bytes.Equal(x.key, y.key):
			return bytes.Compare(x.key, y.key)
		}
		return x.posting.Compare(y.posting)
	})
	for rows := b.rows; len(rows) > 0; {
		n := 1
		for n < len(rows) && rows[n].table == rows[0].table && bytes.Equal(rows[n].key, rows[0].key) {
			n++
		}
		if err := b.flushList(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	b.rows, b.arena = nil, nil
	return putMeta(b.lx, metaNextLevID, b.next)
}

// flushList applies the changes of one list, in the order of their postings. A
// posting that comes and goes within the batch stands twice and is left out;
// one that only goes was there before.
func (b *Batch) flushList(rows []change) error {
	table, key := int(rows[0].table), rows[0].key
	b.old = b.old[:0]
	for len(rows) > 0 {
		if len(rows) > 1 && rows[0].posting == rows[1].posting {
			rows = rows[2:]
			continue
		}
		r := rows[0]
		rows = rows[1:]
		if !r.remove {
			b.old = r.posting.Append(b.old)
			continue
		}
		var p [index.PostingSize]byte
		if ok, err := b.lx.Delete(table, key, r.posting.Append(p[:0])); err != nil || !ok {
			return orMissing(err, "posting %s is not in list %x of table %s", r.posting, key, index.Tables[table].Name)
		}
	}
	return b.lx.PutPostings(table, key, b.old)
}

// orMissing returns err or, where there is none, ErrCorrupt with a description.
func orMissing(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}
