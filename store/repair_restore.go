package store

import (
	"bytes"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/nostr"
)

// restore writes all rows of ev under its levId, whether they are there or not.
func (b *Batch) restore(levID uint64, ev *nostr.Event) error {
	v := ev.Packed
	p := index.NewPosting(v, levID)
	if err := b.restorePair(levID, ev); err != nil {
		return err
	}
	posting := p.Append(nil)
	if err := b.lx.Put(int(index.TableEventID), v.ID(), posting); err != nil {
		return err
	}
	if addr, ok := index.AddressOf(nil, v); ok {
		if err := b.lx.Put(int(index.TableReplace), addr, posting); err != nil {
			return err
		}
	}
	if e := v.Expiration(); e != 0 {
		if err := b.lx.Put(int(index.TableExpiration), b.intKey(e), lmdbx.AppendInt(nil, levID)); err != nil {
			return err
		}
	}
	b.next = max(b.next, levID+1)
	b.note(v, p, false)
	if v.Kind() == kindVanish {
		return b.applyVanish(v)
	}
	return nil
}

// restorePair writes the two rows that hold an event, where they differ.
func (b *Batch) restorePair(levID uint64, ev *nostr.Event) error {
	old, ok, err := b.lx.Get(int(index.TableEvent), b.intKey(levID))
	if err == nil && (!ok || !bytes.Equal(old, ev.Packed)) {
		err = b.lx.Put(int(index.TableEvent), b.intKey(levID), ev.Packed)
	}
	if err != nil {
		return err
	}
	old, ok, err = b.lx.Get(int(index.TableEventPayload), b.intKey(levID))
	if err != nil {
		return err
	}
	if json, err := b.decode(old); ok && err == nil && bytes.Equal(json, ev.JSON) && b.dictionaryOf(old) {
		return nil
	}
	dst, err := b.lx.PutReserve(int(index.TableEventPayload), b.intKey(levID), plainSize(ev.JSON))
	if err == nil {
		encodePlain(dst, ev.JSON)
	}
	return err
}

// dictionaryOf reports whether the database has the dictionary of a payload. One
// that is gone may still be in memory, so that decode does without.
func (b *Batch) dictionaryOf(val []byte) bool {
	p, err := parsePayload(val)
	if err != nil || p.form <= 0 {
		return err == nil
	}
	_, ok, err := b.lx.Get(int(index.TableCompressionDictionary), lmdbx.AppendInt(nil, uint64(p.form)))
	return ok && err == nil
}
