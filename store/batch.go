package store

import (
	"fmt"

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
// tables: neighbours share pages, and the same work costs a fraction. The lists
// of a batch are therefore those of before it.
type Batch struct {
	Txn
	first, next uint64 // levIds of the next event stored, at the start and now
	*scratch
}

func newBatch(db *DB, lx *lmdbx.Txn, mem *scratch) (*Batch, error) {
	next, err := getMeta(lx, metaNextLevID)
	if err != nil {
		return nil, err
	}
	mem.reset()
	return &Batch{Txn: Txn{db: db, lx: lx, now: db.unixNow()}, first: next, next: next, scratch: mem}, nil
}

// Put stores ev unless the rules of [Status] say otherwise, and carries out what
// ev does to others: a newer version removes the older one, a deletion (kind 5)
// what it names, a request to vanish (kind 62) all there is of its author until
// then. The event must be valid and verified, and such a request one that is
// meant for this relay.
func (b *Batch) Put(ev *nostr.Event) (Status, error) {
	v := ev.Packed
	if index.ClassOf(v.Kind()) == index.Ephemeral {
		return NotKept, nil
	}
	// An expired event, or one that has vanished, is refused by that name whether
	// it is still on disk or not: so these tests come before that of a duplicate.
	if v.Expired(b.now) {
		return Expired, nil
	}
	if gone, err := b.Vanished(v); err != nil {
		return Vanished, err
	} else if gone {
		return b.putVanished(ev)
	}
	if _, dup, err := b.ByID(v.ID()); err != nil || dup {
		return Duplicate, err
	}
	if st, err := b.admit(v); err != nil || st != Stored {
		return st, err
	}
	if err := b.insert(ev); err != nil {
		return Stored, err
	}
	switch v.Kind() {
	case kindDeletion:
		return Stored, b.applyDeletion(ev)
	case kindVanish:
		return Stored, b.applyVanish(v)
	}
	return Stored, nil
}

// PutEncoded is Put of an event whose payload [DB.Encode] has made already; nil
// stands for a plain one, as does one whose dictionary has gone since.
func (b *Batch) PutEncoded(ev *nostr.Event, payload []byte) (Status, error) {
	b.payload = payload
	defer func() { b.payload = nil }()
	return b.Put(ev)
}

// insert writes all rows of ev, which nothing speaks against.
func (b *Batch) insert(ev *nostr.Event) error {
	if b.next > index.MaxLevID {
		return fmt.Errorf("no levId is left after %d", index.MaxLevID)
	}
	if len(b.keys) > maxBatchKeys {
		return fmt.Errorf("the batch is too large: %d MiB of keys", len(b.keys)>>20)
	}
	levID, v := b.next, ev.Packed
	b.next++
	p := index.NewPosting(v, levID)
	if err := b.lx.Append(int(index.TableEvent), b.intKey(levID), v); err != nil {
		return err
	}
	if err := b.insertPayload(levID, ev.JSON); err != nil {
		return err
	}
	return b.enter(v, p)
}

// enter writes the rows by which the event v is found, whose posting is p.
func (b *Batch) enter(v packed.View, p index.Posting) error {
	b.value = p.Append(b.value[:0])
	if err := b.lx.Put(int(index.TableEventID), v.ID(), b.value); err != nil {
		return err
	}
	if addr, ok := index.AddressOf(b.addr[:0], v); ok {
		b.addr = addr
		if err := b.lx.Put(int(index.TableReplace), addr, b.value); err != nil {
			return err
		}
	}
	if e := v.Expiration(); e != 0 {
		b.value = lmdbx.AppendInt(b.value[:0], p.LevID())
		if err := b.lx.Put(int(index.TableExpiration), b.intKey(e), b.value); err != nil {
			return err
		}
	}
	b.note(v, p, false)
	return nil
}

// insertPayload writes the payload of a new event.
func (b *Batch) insertPayload(levID uint64, json []byte) error {
	if b.payload != nil {
		p, err := parsePayload(b.payload)
		if err != nil {
			return err
		}
		if ok, err := b.usable(p.form); err != nil {
			return err
		} else if ok {
			return b.lx.Append(int(index.TableEventPayload), b.intKey(levID), b.payload)
		}
	}
	dst, err := b.lx.AppendReserve(int(index.TableEventPayload), b.intKey(levID), plainSize(json))
	if err == nil {
		encodePlain(dst, json)
	}
	return err
}

// Delete removes the event with that levId and all its rows, and reports
// whether it was there. It leaves no tombstone: the event may come again. One
// that cannot be read is ErrCorrupt and stays.
func (b *Batch) Delete(levID uint64) (bool, error) {
	v, ok, err := b.readable(levID)
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
	b.note(v, p, true)
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
