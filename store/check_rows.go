package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/packed"
)

// tombstones checks the form of the rows that keep ids from coming again.
func (c *checker) tombstones() error { return c.each(index.TableDeletion, c.tombstoneRow) }

func (c *checker) tombstoneRow(key, val []byte) error {
	const table = index.TableDeletion
	switch {
	case len(key) != 64:
		c.problem(BadKey, table, key, "the key has %d bytes and not 64", len(key))
	case len(val) != 8:
		c.problem(BadValue, table, key, "the tombstone has %d bytes and not 8", len(val))
	}
	return nil
}

// marks checks the form of the rows that keep addresses deleted.
func (c *checker) marks() error { return c.each(index.TableReplaceDeletion, c.markRow) }

func (c *checker) markRow(key, val []byte) error {
	const table = index.TableReplaceDeletion
	switch {
	case !isAddress(key):
		c.problem(BadKey, table, key, "the key is no address")
	case len(val) != markSize:
		c.problem(BadValue, table, key, "the mark has %d bytes and not %d", len(val), markSize)
	}
	return nil
}

// isAddress reports whether key may have been made by [index.AppendAddress].
func isAddress(key []byte) bool {
	const atKind, atD = 32, 34
	if len(key) < atD {
		return false
	}
	tags := append(make([]byte, packed.HeaderSize, packed.HeaderSize+packed.MaxTag), key[atD:]...)
	v, err := packed.Parse(tags)
	if err != nil {
		return false
	}
	d, ok := v.First('d')
	kind := binary.BigEndian.Uint16(key[atKind:])
	switch index.ClassOf(kind) {
	case index.Replaceable, index.Addressable:
		return ok && bytes.Equal(key, index.AppendAddress(nil, key[:atKind], kind, d))
	}
	return false
}

// extras looks for rows that no event has. Every row that was confirmed is a
// different one, so a table with as many rows as that has no other, and only
// the rest need to be walked.
func (c *checker) extras() error {
	for i := range index.Tables {
		table := index.TableID(i)
		if !c.explainable(table) {
			continue
		}
		n := c.file.Entries(i)
		c.report.Rows += n
		if n == c.confirmed[i] {
			continue
		}
		before := c.report.Counts[Extra]
		err := c.each(table, func(key, val []byte) error {
			c.row(table, key, val)
			return nil
		})
		if err != nil {
			return err
		}
		if len(c.file.Broken()) > 0 {
			continue // they hide rows
		}
		if found := c.confirmed[i] + c.report.Counts[Extra] - before; found != n {
			c.problem(Miscounted, table, nil, "the table counts %d rows and has %d", n, found)
		}
	}
	return nil
}

// row checks that an event has a row.
func (c *checker) row(table index.TableID, key, val []byte) {
	if why := c.stray(table, key, val); why != "" {
		c.problem(Extra, table, key, "%s: %s", describe(table, val), why)
	}
}

// explainable reports whether all rows of a table belong to events.
func (c *checker) explainable(table index.TableID) bool {
	switch table {
	case index.TableMeta, index.TableDeletion, index.TableReplaceDeletion,
		index.TableVanish, index.TableVanishing,
		index.TableCompressionDictionary, index.TableNegentropyFilter:
		return false
	}
	return true
}

// stray returns why no event has this row, "" where one does or may.
func (c *checker) stray(table index.TableID, key, val []byte) string {
	switch table {
	case index.TableEvent:
		return "" // each was looked at
	case index.TableEventPayload:
		levID, ok := levIDOf(key)
		if !ok {
			return "its key is no levId"
		}
		_, why := c.eventOf(levID)
		return why
	case index.TableExpiration:
		return c.strayExpiration(key, val)
	}
	if len(val) != index.PostingSize {
		return "it is no posting"
	}
	p := index.ReadPosting(val)
	v, why := c.eventOf(p.LevID())
	switch {
	case v == nil:
		return why
	case p != index.NewPosting(v, p.LevID()):
		return fmt.Sprintf("the event has %s", index.NewPosting(v, p.LevID()))
	case !c.hasKey(table, key, v):
		return "the event does not belong there"
	}
	return ""
}

func (c *checker) strayExpiration(key, val []byte) string {
	levID, ok := levIDOf(val)
	if len(key) != 8 || !ok {
		return "it is no time and levId"
	}
	v, why := c.eventOf(levID)
	if v != nil && v.Expiration() != lmdbx.Int(key) {
		return fmt.Sprintf("the event expires at %d", v.Expiration())
	}
	return why
}

// eventOf returns the event with that levId, or why there is none; neither where
// it cannot be told.
func (c *checker) eventOf(levID uint64) (v packed.View, why string) {
	b, ok, hidden := c.get(index.TableEvent, c.intKey(levID))
	switch {
	case hidden:
		return nil, ""
	case !ok:
		return nil, fmt.Sprintf("there is no event %d", levID)
	}
	v, err := packed.Parse(b)
	if err != nil {
		return nil, fmt.Sprintf("event %d cannot be read", levID)
	}
	return v, ""
}

// hasKey reports whether v has a row with that key in a table of postings.
func (c *checker) hasKey(table index.TableID, key []byte, v packed.View) bool {
	switch table {
	case index.TableEventID:
		return bytes.Equal(key, v.ID())
	case index.TableReplace:
		addr, ok := index.AddressOf(c.addr[:0], v)
		c.addr = addr
		return ok && bytes.Equal(key, addr)
	}
	for i := range index.All {
		if d := &index.All[i]; d.Table == table {
			return c.hasIndexKey(d, key, v)
		}
	}
	return false
}

func (c *checker) hasIndexKey(d *index.Def, key []byte, v packed.View) bool {
	if !d.HasTag() {
		c.arena = d.AppendKey(c.arena[:0], v.Pubkey(), v.Kind(), nil)
		return bytes.Equal(key, c.arena)
	}
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		c.arena = d.AppendKey(c.arena[:0], v.Pubkey(), v.Kind(), t)
		if bytes.Equal(key, c.arena) {
			return true
		}
	}
	return false
}

// levIDOf reads a levId, the key or value of a row.
func levIDOf(b []byte) (uint64, bool) {
	if len(b) != 8 {
		return 0, false
	}
	return lmdbx.Int(b), true
}
