package nostr

import (
	"slices"

	"wok/packed"
)

// A Gate says which events are for those involved in them alone: the author and
// those in p tags, as private messages are (NIP-04, 17, 59). An asker is the keys
// that have authenticated on its connection. Whether an event is there at all,
// expired or vanished, is not asked here: that is store.Txn.Hidden.
//
// The zero Gate lets everybody see everything. A Gate is not changed once made.
type Gate struct {
	kinds []uint16 // sorted, distinct
}

// NewGate returns the gate before these kinds. Who names gift wraps (1059) means
// those that are not stored (21059) as well (59-R2).
func NewGate(kinds ...uint16) Gate {
	kinds = slices.Clone(kinds)
	if slices.Contains(kinds, kindGiftWrap) {
		kinds = append(kinds, kindEphemeralGiftWrap)
	}
	slices.Sort(kinds)
	return Gate{slices.Compact(kinds)}
}

const (
	kindGiftWrap          = 1059  // NIP-59
	kindEphemeralGiftWrap = 21059 // NIP-59
)

// Open reports whether there is nothing behind the gate.
func (g *Gate) Open() bool { return len(g.kinds) == 0 }

// Gated reports whether events of a kind are for those involved alone.
func (g *Gate) Gated(kind uint16) bool { return hasNumber(g.kinds, kind) }

// Allows reports whether an asker with these keys may see v.
func (g *Gate) Allows(v packed.View, keys [][32]byte) bool {
	return !g.Gated(v.Kind()) || involves(v, keys)
}

// Viewer returns Allows for one asker, nil where that is always true.
func (g *Gate) Viewer(keys [][32]byte) func(packed.View) bool {
	if g.Open() {
		return nil
	}
	return func(v packed.View) bool { return g.Allows(v, keys) }
}

// involves reports whether one of the keys is the author of v or in a p tag.
func involves(v packed.View, keys [][32]byte) bool {
	if len(keys) == 0 {
		return false
	}
	if isAmong(keys, v.Pubkey()) {
		return true
	}
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		if t.Letter() == 'p' && t.Form() == packed.Hex && isAmong(keys, t.Value()) {
			return true
		}
	}
	return false
}

// isAmong reports whether key, of 32 bytes, is one of keys, which are few and in
// no order.
func isAmong(keys [][32]byte, key []byte) bool { return slices.Contains(keys, [32]byte(key)) }

// Touches reports whether the filter could match an event behind the gate. Where
// it cannot, who asks makes no difference.
func (g *Gate) Touches(f *Filter) bool {
	if g.Open() || f.Never() {
		return false
	}
	return f.Kinds == nil || slices.ContainsFunc(f.Kinds, g.Gated)
}

// Only reports whether the filter could match nothing but events behind the
// gate, so that an asker without keys has to be told to authenticate.
func (g *Gate) Only(f *Filter) bool {
	return g.Touches(f) && f.Kinds != nil && !slices.ContainsFunc(f.Kinds, func(k uint16) bool { return !g.Gated(k) })
}

// Foreign reports whether the filter asks for events behind the gate between
// others only: it names whom they are for, and perhaps who they are from, and
// none of them is among the keys. An event that is for several people is passed
// over here: who asks for the mail of another is refused, even where some of it
// went to the asker as well.
func (g *Gate) Foreign(f *Filter, keys [][32]byte) bool {
	to := f.Tag('p')
	if to == nil || !g.Only(f) {
		return false
	}
	toKey := slices.ContainsFunc(to.Values, func(t packed.Tag) bool {
		return t.Form() == packed.Hex && isAmong(keys, t.Value())
	})
	fromKey := slices.ContainsFunc(f.Authors, func(a [32]byte) bool { return slices.Contains(keys, a) })
	return !toKey && !fromKey
}
