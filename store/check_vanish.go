package store

import (
	"encoding/binary"

	"wok/index"
	"wok/packed"
)

// vanishMarks checks the form of the marks of requests to vanish.
func (c *checker) vanishMarks() error { return c.each(index.TableVanish, c.vanishRow) }

func (c *checker) vanishRow(key, val []byte) error {
	const table = index.TableVanish
	switch {
	case len(key) != 32:
		c.problem(BadKey, table, key, "the key has %d bytes and not 32", len(key))
	case len(val) != vanishSize:
		c.problem(BadValue, table, key, "the mark has %d bytes and not %d", len(val), vanishSize)
	}
	return nil
}

// removals checks the rows of what is still to be removed: each belongs to a
// mark and does not go beyond it.
func (c *checker) removals() error { return c.each(index.TableVanishing, c.removalRow) }

func (c *checker) removalRow(key, val []byte) error {
	const table = index.TableVanishing
	if !isVanishing(key, val) {
		c.problem(BadKey, table, key, "the row has no form: a key of %d bytes, a value of %d", len(key), len(val))
		return nil
	}
	at, ok := c.vanishMark(key[:32])
	switch {
	case !ok:
		c.problem(Extra, table, key, "nobody of that key has asked to vanish")
	case index.NotAfter(at).Less(index.ReadPosting(val)):
		c.problem(BadValue, table, key, "it begins after the mark, which is %d", at)
	}
	return nil
}

// vanishMark is Txn.vanishMark where a mark that cannot be right, which is
// reported elsewhere, is none.
func (c *checker) vanishMark(pubkey []byte) (uint64, bool) {
	b, ok, _ := c.get(index.TableVanish, pubkey)
	if !ok || len(b) != vanishSize {
		return 0, false
	}
	return binary.BigEndian.Uint64(b), true
}

// vanished checks that an event that has vanished is about to be removed, and
// that a request to vanish has left its mark.
func (c *checker) vanished(key []byte, levID uint64, v packed.View) {
	if v.Kind() == kindVanish {
		if at, ok := c.vanishMark(v.Pubkey()); !ok || at < v.CreatedAt() {
			c.problem(Missing, index.TableVanish, v.Pubkey(), "the mark of request %x is missing", v.ID())
		}
		return
	}
	posting := index.NewPosting(v, levID)
	for p, pubkey := range parties(v) {
		at, ok := c.vanishMark(pubkey)
		if !ok || v.CreatedAt() > at {
			continue
		}
		from, ok, hidden := c.get(index.TableVanishing, vanishingKey(pubkey, p))
		if !hidden && (!ok || len(from) == index.PostingSize && index.ReadPosting(from).Less(posting)) {
			c.problem(Undead, index.TableEvent, key, "event %x is there in spite of a request to vanish", v.ID())
			return
		}
	}
}
