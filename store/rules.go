package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"wok/index"
	"wok/nostr"
	"wok/packed"
)

const (
	kindDeletion          = 5     // NIP-09
	kindVanish            = 62    // NIP-62
	kindGiftWrap          = 1059  // NIP-59
	kindEphemeralGiftWrap = 21059 // NIP-59
)

// A mark says that all versions of an address up to a point are deleted: those
// older than at, and those of that second whose id is not lower than id. It is
// ordered as versions are, so the larger of two marks holds both, and marks
// come out the same whatever the order of events.
//
// Stored it is 40 bytes: at as uint64, big endian, then the id.
type mark struct {
	at uint64
	id [32]byte
}

const markSize = 40

// markOf returns the mark that covers v and every older version.
func markOf(v packed.View) mark { return mark{v.CreatedAt(), [32]byte(v.ID())} }

// covers reports whether v is deleted by the mark.
func (m mark) covers(v packed.View) bool {
	t := v.CreatedAt()
	return t < m.at || t == m.at && bytes.Compare(v.ID(), m.id[:]) >= 0
}

// exceeds reports whether m covers more than n.
func (m mark) exceeds(n mark) bool {
	return m.at > n.at || m.at == n.at && bytes.Compare(m.id[:], n.id[:]) < 0
}

func (m mark) append(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint64(dst, m.at), m.id[:]...)
}

// mark returns the mark of an address and whether it has one.
func (tx *Txn) mark(addr []byte) (mark, bool, error) {
	b, ok, err := tx.lx.Get(int(index.TableReplaceDeletion), addr)
	if err != nil || !ok {
		return mark{}, false, err
	}
	if len(b) != markSize {
		return mark{}, false, fmt.Errorf("%w: deletion mark of %d bytes for address %x", ErrCorrupt, len(b), addr)
	}
	return readMark(b), true, nil
}

// readMark reads a stored mark, which has markSize bytes.
func readMark(b []byte) mark { return mark{binary.BigEndian.Uint64(b), [32]byte(b[8:])} }

// raise moves the mark of an address up to m.
func (b *Batch) raise(addr []byte, m mark) error {
	old, ok, err := b.mark(addr)
	if err != nil || ok && !m.exceeds(old) {
		return err
	}
	return b.lx.Put(int(index.TableReplaceDeletion), addr, m.append(nil))
}

// admit decides whether v is to be stored, and removes the version that it
// supersedes. A version that its author has deleted by id is not stored, yet it
// supersedes older ones all the same: which of the two came first must not
// matter.
func (b *Batch) admit(v packed.View) (Status, error) {
	gone, err := b.hasTombstone(v)
	if err != nil {
		return Stored, err
	}
	addr, ok := index.AddressOf(b.addr[:0], v)
	if !ok {
		if gone {
			return Deleted, nil
		}
		return Stored, nil
	}
	b.addr = addr
	m, marked, err := b.mark(addr)
	if err != nil || marked && m.covers(v) {
		return Deleted, err
	}
	cur, found, err := b.ByAddress(addr)
	if err != nil {
		return Stored, err
	}
	if found {
		var old packed.View
		if old, found, err = b.sound(cur.LevID()); err != nil {
			return Stored, err
		}
		if found && !supersedes(v, old) {
			return Superseded, nil
		}
	}
	if gone {
		if err := b.raise(addr, markOf(v)); err != nil {
			return Deleted, err
		}
	}
	if found {
		if _, err := b.Delete(cur.LevID()); err != nil {
			return Stored, err
		}
	}
	if gone {
		return Deleted, nil
	}
	return Stored, nil
}

// sound returns the event that a row of another table points to, unless it is
// missing or cannot be read. The rules go on without such an event: it must not
// keep all later ones of its address from being stored, and Check reports it.
func (tx *Txn) sound(levID uint64) (packed.View, bool, error) {
	v, ok, err := tx.readable(levID)
	if errors.Is(err, ErrCorrupt) {
		return nil, false, nil
	}
	return v, ok, err
}

// readable is Packed for events whose every byte will be looked at.
func (tx *Txn) readable(levID uint64) (packed.View, bool, error) {
	b, ok, err := tx.Packed(levID)
	if err != nil || !ok {
		return nil, false, err
	}
	v, err := packed.Parse(b)
	if err != nil {
		return nil, false, fmt.Errorf("%w: event %d: %w", ErrCorrupt, levID, err)
	}
	return v, true, nil
}

// supersedes reports whether v replaces old: it is later, or of the same second
// with the lower id (01-R16).
func supersedes(v, old packed.View) bool {
	if t, u := v.CreatedAt(), old.CreatedAt(); t != u {
		return t > u
	}
	return bytes.Compare(v.ID(), old.ID()) < 0
}

// Must returns the event that a row of another table points to, borrowed. That it
// is not there is ErrCorrupt.
func (tx *Txn) Must(p index.Posting) (packed.View, error) {
	v, ok, err := tx.Packed(p.LevID())
	if err == nil && !ok {
		err = fmt.Errorf("%w: event %d is missing", ErrCorrupt, p.LevID())
	}
	return v, err
}

// lasts reports whether events of a kind cannot be deleted by their authors:
// deletions (09-R7) and requests to vanish (62-R7).
func lasts(kind uint16) bool { return kind == kindDeletion || kind == kindVanish }

// hasTombstone reports whether somebody who may delete v has done so by id.
func (tx *Txn) hasTombstone(v packed.View) (bool, error) {
	if lasts(v.Kind()) {
		return false, nil
	}
	dead, err := tx.tombstone(v.ID(), v.Pubkey())
	if err != nil || dead || v.Kind() != kindGiftWrap {
		return dead, err
	}
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		if t.Letter() != 'p' || t.Form() != packed.Hex {
			continue
		}
		if dead, err := tx.tombstone(v.ID(), t.Value()); err != nil || dead {
			return dead, err
		}
	}
	return false, nil
}

func (tx *Txn) tombstone(id, deleter []byte) (bool, error) {
	var key [64]byte
	copy(key[:], id)
	copy(key[32:], deleter)
	_, ok, err := tx.lx.Get(int(index.TableDeletion), key[:])
	return ok, err
}

// mayDelete reports whether the holder of pubkey may delete v: its author, and
// for a gift wrap, whose author is nobody, the one it is addressed to (59-R3).
func mayDelete(pubkey []byte, v packed.View) bool {
	if lasts(v.Kind()) {
		return false
	}
	if bytes.Equal(pubkey, v.Pubkey()) {
		return true
	}
	if v.Kind() != kindGiftWrap {
		return false
	}
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		if t.Letter() == 'p' && t.Form() == packed.Hex && bytes.Equal(t.Value(), pubkey) {
			return true
		}
	}
	return false
}

// applyDeletion carries out a deletion request (kind 5): what its e and a tags
// name goes if its author may delete it, and does not come again. A tag that
// names nothing, or something of another author, is passed over.
func (b *Batch) applyDeletion(ev *nostr.Event) error {
	for tag := range ev.Tags() {
		if len(tag) < 2 {
			continue
		}
		var err error
		switch string(tag[0]) {
		case "e":
			err = b.deleteID(ev.Packed, string(tag[1]))
		case "a":
			err = b.deleteAddress(ev.Packed, string(tag[1]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteID deletes the event with that id in hex, or keeps it from coming.
func (b *Batch) deleteID(by packed.View, hexID string) error {
	t := packed.Tag(packed.AppendTag(nil, 'e', hexID))
	if t.Form() != packed.Hex {
		return nil
	}
	id := t.Value()
	p, found, err := b.ByID(id)
	if err != nil {
		return err
	}
	var v packed.View
	if found {
		if v, found, err = b.sound(p.LevID()); err != nil {
			return err
		}
	}
	if found {
		if !mayDelete(by.Pubkey(), v) {
			return nil
		}
		if addr, ok := index.AddressOf(b.addr[:0], v); ok {
			b.addr = addr
			if err := b.raise(addr, markOf(v)); err != nil {
				return err
			}
		}
		if _, err := b.Delete(p.LevID()); err != nil {
			return err
		}
	}
	key := append(append(make([]byte, 0, 64), id...), by.Pubkey()...)
	return b.lx.Put(int(index.TableDeletion), key, binary.BigEndian.AppendUint64(nil, by.CreatedAt()))
}

// deleteAddress deletes all versions of an address, spelled kind:pubkey:d, that
// are not later than the deletion.
func (b *Batch) deleteAddress(by packed.View, spelled string) error {
	addr, ok := ownAddress(by.Pubkey(), spelled)
	if !ok {
		return nil
	}
	m := mark{at: by.CreatedAt()} // the lowest id: all versions of that second
	if err := b.raise(addr, m); err != nil {
		return err
	}
	cur, found, err := b.ByAddress(addr)
	if err != nil || !found {
		return err
	}
	v, found, err := b.sound(cur.LevID())
	if err != nil || !found || !m.covers(v) {
		return err
	}
	_, err = b.Delete(cur.LevID())
	return err
}

// ownAddress returns the key of an address spelled kind:pubkey:d, and whether it
// is one and belongs to pubkey. A plain replaceable kind has an empty d.
func ownAddress(pubkey []byte, spelled string) ([]byte, bool) {
	kindText, rest, ok := strings.Cut(spelled, ":")
	if !ok {
		return nil, false
	}
	key, d, _ := strings.Cut(rest, ":")
	kind, err := strconv.ParseUint(kindText, 10, 16)
	if err != nil {
		return nil, false
	}
	switch index.ClassOf(uint16(kind)) {
	case index.Addressable:
	case index.Replaceable:
		if d != "" {
			return nil, false
		}
	default:
		return nil, false
	}
	owner := packed.Tag(packed.AppendTag(nil, 'p', key))
	if owner.Form() != packed.Hex || !bytes.Equal(owner.Value(), pubkey) {
		return nil, false
	}
	return index.AppendAddress(nil, pubkey, uint16(kind), packed.AppendTag(nil, 'd', d)), true
}
