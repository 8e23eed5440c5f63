package store

import (
	"bytes"
	"errors"
	"fmt"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/packed"
)

// against returns what speaks against an event that is there: that it is there
// twice, is deleted, has vanished or is superseded. An older version than it is
// removed.
func (r *repair) against(b *Batch, levID uint64, v packed.View) (string, error) {
	if p, ok, err := b.ByID(v.ID()); err == nil && ok && p.LevID() != levID && r.holds(b, p.LevID(), v.ID()) {
		return fmt.Sprintf("it is event %d as well", p.LevID()), nil
	}
	if dead, err := b.hasTombstone(v); err != nil || dead {
		return "its author has deleted it", err
	}
	if gone, err := b.Vanished(v); err != nil || gone {
		return "its author has asked to vanish", err
	}
	addr, ok := index.AddressOf(nil, v)
	if !ok {
		return "", nil
	}
	if m, ok, err := b.mark(addr); err == nil && ok && m.covers(v) {
		return "its author has deleted its address", nil
	}
	return r.againstVersion(b, levID, addr, v)
}

// holds reports whether an event with that id can be read under a levId.
func (r *repair) holds(b *Batch, levID uint64, id []byte) bool {
	val, ok, err := b.lx.Get(int(index.TableEventPayload), lmdbx.AppendInt(nil, levID))
	if err != nil || !ok {
		return false
	}
	json, err := b.decode(val)
	if err != nil {
		return false
	}
	ev, err := r.other.Parse(json)
	return err == nil && bytes.Equal(ev.Packed.ID(), id)
}

func (r *repair) againstVersion(b *Batch, levID uint64, addr []byte, v packed.View) (string, error) {
	p, ok, err := b.ByAddress(addr)
	if err != nil || !ok || p.LevID() == levID {
		return "", ignoreCorrupt(err)
	}
	other, ok, err := b.sound(p.LevID())
	if err != nil || !ok || !r.holds(b, p.LevID(), other.ID()) {
		return "", err
	}
	if own, is := index.AddressOf(nil, other); !is || !bytes.Equal(own, addr) || bytes.Equal(other.ID(), v.ID()) {
		return "", nil
	}
	if supersedes(v, other) {
		return "", r.dropEvent(b, p.LevID(), fmt.Sprintf("event %d is a newer version", levID))
	}
	return fmt.Sprintf("event %d is a newer version", p.LevID()), nil
}

// ignoreCorrupt passes over a row that will be removed, or written over.
func ignoreCorrupt(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return nil
	}
	return err
}
