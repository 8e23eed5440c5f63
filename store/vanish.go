package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"

	"wok/index"
	"wok/nostr"
	"wok/packed"
)

// A request to vanish (kind 62) takes away all that its author has published up
// to its own created_at, and the gift wraps addressed to its author up to then
// (NIP-62). Two tables carry it out:
//
//	vanish     pubkey -> created_at of the latest request. It stays, keeps what
//	           it covers from coming again, and hides it at once.
//	vanishing  pubkey, part -> the posting from which on downwards events are
//	           still to be removed from the list of that part. The row goes when
//	           that is done; see [DB.Sweep].
//
// Requests themselves stay, and nothing deletes them.

// A part is one of the two lists of events that a request to vanish covers.
type part byte

const (
	ofAuthor part = iota // all events of the key
	ofWraps              // gift wraps with the key in a p tag
	parts
)

const (
	vanishSize    = 8  // a mark: created_at as uint64, big endian
	vanishingSize = 33 // a key: pubkey, part
)

// parties yields those whose request to vanish would cover v if it is not
// earlier than v: its author, and for a gift wrap those it is addressed to
// (62-R3). Pubkeys are borrowed from v.
func parties(v packed.View) iter.Seq2[part, []byte] {
	return func(yield func(part, []byte) bool) {
		kind := v.Kind()
		if kind == kindVanish || !yield(ofAuthor, v.Pubkey()) || !isWrap(kind) {
			return
		}
		ts := v.Tags()
		for t, ok := ts.Next(); ok; t, ok = ts.Next() {
			if t.Letter() == 'p' && t.Form() == packed.Hex && !yield(ofWraps, t.Value()) {
				return
			}
		}
	}
}

func isWrap(kind uint16) bool { return kind == kindGiftWrap || kind == kindEphemeralGiftWrap }

// Vanished reports whether a request to vanish covers v: by its author, or of a
// gift wrap by one it is addressed to. Such an event must not come in, though it
// may be on disk for a little while (62-R2, 62-R4, 62-R9).
func (tx *Txn) Vanished(v packed.View) (bool, error) {
	for _, pubkey := range parties(v) {
		at, marked, err := tx.vanishMark(pubkey)
		if err != nil {
			return false, err
		}
		if marked && v.CreatedAt() <= at {
			return true, nil
		}
	}
	return false, nil
}

// vanishMark returns up to when all of pubkey has vanished, and whether it has.
func (tx *Txn) vanishMark(pubkey []byte) (uint64, bool, error) {
	b, ok, err := tx.lx.Get(int(index.TableVanish), pubkey)
	if err != nil || !ok {
		return 0, false, err
	}
	if len(b) != vanishSize {
		return 0, false, fmt.Errorf("%w: vanish mark of %d bytes for %x", ErrCorrupt, len(b), pubkey)
	}
	return binary.BigEndian.Uint64(b), true, nil
}

// Hidden reports whether v, an event of this snapshot, is to be treated as if it
// were not there: it has expired (NIP-40), or its author or recipient has asked
// to vanish (NIP-62). It is the one answer to that for all who read. What is
// hidden goes from disk by [DB.Sweep].
func (tx *Txn) Hidden(v packed.View) (bool, error) {
	if v.Expired(tx.now) {
		return true, nil
	}
	if pending, err := tx.removing(); err != nil || !pending {
		return false, err
	}
	return tx.Vanished(v)
}

// HasHidden reports whether the snapshot may hold events that are hidden. Where
// it holds none, the length of a list is the number of events in it.
func (tx *Txn) HasHidden() (bool, error) {
	if pending, err := tx.removing(); err != nil || pending {
		return pending, err
	}
	return tx.hasExpired()
}

// removing reports whether events that have vanished are still to be removed.
func (tx *Txn) removing() (bool, error) {
	if tx.pending == unknown {
		n, err := tx.lx.Entries(int(index.TableVanishing))
		if err != nil {
			return false, err
		}
		tx.pending = no
		if n > 0 {
			tx.pending = yes
		}
	}
	return tx.pending == yes, nil
}

// An answer is one to a question that a transaction asks once.
type answer uint8

const (
	unknown answer = iota
	no
	yes
)

// applyVanish carries out a request to vanish: what it covers is hidden from the
// end of the batch on, and noted for removal. That takes the same time for an
// author of a million events as for one of none. A request that is older than
// another changes nothing.
func (b *Batch) applyVanish(by packed.View) error {
	at := by.CreatedAt()
	old, marked, err := b.vanishMark(by.Pubkey())
	if err != nil || marked && at <= old {
		return err
	}
	if err := b.lx.Put(int(index.TableVanish), by.Pubkey(), binary.BigEndian.AppendUint64(nil, at)); err != nil {
		return err
	}
	from := index.NotAfter(at).Append(nil)
	for p := range parts {
		if err := b.lx.Put(int(index.TableVanishing), vanishingKey(by.Pubkey(), p), from); err != nil {
			return err
		}
	}
	b.pending = unknown
	return nil
}

// putVanished ends the way of an event that a request to vanish covers. It is
// not stored, but if it is a deletion, what it names is deleted all the same:
// whether it came before the request or after it must not matter.
func (b *Batch) putVanished(ev *nostr.Event) (Status, error) {
	if ev.Packed.Kind() != kindDeletion {
		return Vanished, nil
	}
	return Vanished, b.applyDeletion(ev)
}

func vanishingKey(pubkey []byte, p part) []byte {
	return append(bytes.Clone(pubkey), byte(p))
}

// listOf returns the list of a part of pubkey.
func (tx *Txn) listOf(pubkey []byte, p part) List {
	if p == ofAuthor {
		return tx.List(index.ByPubkey, index.All[index.ByPubkey].AppendKey(nil, pubkey, 0, nil))
	}
	tag := packed.AppendTag(nil, 'p', hex.EncodeToString(pubkey))
	return tx.List(index.ByTag, index.All[index.ByTag].AppendKey(nil, nil, 0, tag))
}

// covers reports whether the event of a posting in the list of part p is one of
// those that go.
func (p part) covers(q index.Posting) bool {
	if p == ofAuthor {
		return q.Kind() != kindVanish
	}
	return isWrap(q.Kind())
}
