package store

import (
	"bytes"
	"context"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/nostr"
	"wok/packed"
)

// events checks each event and confirms its rows.
func (c *checker) events() error {
	return c.each(index.TableEvent, func(key, val []byte) error {
		if c.report.Events%1024 == 0 {
			c.progress()
		}
		c.confirmed[index.TableEvent]++
		c.event(key, val)
		return nil
	})
}

// event checks one event.
func (c *checker) event(key, val []byte) {
	c.report.Events++
	levID, ok := levIDOf(key)
	switch {
	case !ok:
		c.problem(BadKey, index.TableEvent, key, "the key has %d bytes and not 8", len(key))
		return
	case levID == 0 || levID > index.MaxLevID:
		c.problem(BadKey, index.TableEvent, key, "no event can have this levId")
		return
	case levID >= c.next:
		c.problem(BadKey, index.TableEvent, key, "the levId is to be given out next: nextLevId is %d", c.next)
	}
	v, err := packed.Parse(val)
	if err != nil {
		c.problem(BadValue, index.TableEvent, key, "%v", err)
		return
	}
	c.payload(key, v)
	c.singles(levID, v)
	c.postings(levID, v)
	c.deleted(key, v)
	c.vanished(key, levID, v)
}

// payload checks that the JSON of an event, parsed anew, gives its packed form
// and itself.
func (c *checker) payload(key []byte, v packed.View) {
	const table = index.TableEventPayload
	b, ok, hidden := c.get(table, key)
	switch {
	case hidden:
		return
	case !ok:
		c.problem(Missing, table, key, "is missing")
		return
	}
	c.confirmed[table]++
	json, ok := c.json(key, b)
	if !ok {
		return
	}
	ev, err := c.parser.Parse(json)
	switch {
	case err != nil:
		c.problem(BadValue, table, key, "the JSON is no event: %v", err)
	case !bytes.Equal(ev.Packed, v):
		c.problem(BadValue, table, key, "the JSON is not that of the packed event")
	case !bytes.Equal(ev.JSON, json):
		c.problem(BadValue, table, key, "the JSON is not canonical")
	case c.opts.Verify && !signed(ev):
		c.problem(Forged, table, key, "the signature of event %x is wrong", v.ID())
	}
}

func signed(ev *nostr.Event) bool { return ev.Verify() == nil }

// singles checks the rows of an event outside of the indexes.
func (c *checker) singles(levID uint64, v packed.View) {
	var buf [index.PostingSize]byte
	posting := index.NewPosting(v, levID).Append(buf[:0])
	c.single(index.TableEventID, v.ID(), posting)
	if addr, ok := index.AddressOf(c.addr[:0], v); ok {
		c.addr = addr
		c.single(index.TableReplace, addr, posting)
	}
	if e := v.Expiration(); e != 0 {
		c.listed(index.TableExpiration, lmdbx.AppendInt(nil, e), lmdbx.AppendInt(nil, levID))
	}
}

// single checks that key has this value.
func (c *checker) single(table index.TableID, key, want []byte) {
	got, ok, hidden := c.get(table, key)
	switch {
	case hidden:
	case !ok:
		c.problem(Missing, table, key, "%s is missing", describe(table, want))
	case !bytes.Equal(got, want):
		c.problem(Wrong, table, key, "%s stands there in place of %s", describe(table, got), describe(table, want))
	default:
		c.confirmed[table]++
	}
}

// listed checks that this value is among those of key.
func (c *checker) listed(table index.TableID, key, want []byte) {
	ok, err := c.file.Has(int(table), key, want)
	switch {
	case err != nil:
		c.report.Hidden++
	case !ok:
		c.problem(Missing, table, key, "%s is missing", describe(table, want))
	default:
		c.confirmed[table]++
	}
}

// postings checks the rows of an event in the indexes.
func (c *checker) postings(levID uint64, v packed.View) {
	var buf [index.PostingSize]byte
	posting := index.NewPosting(v, levID).Append(buf[:0])
	c.rows, c.arena = index.Rows(c.rows[:0], c.arena[:0], v)
	for _, r := range c.rows {
		c.listed(index.All[r.Index].Table, r.Key, posting)
	}
}

// deleted checks that nothing has deleted an event that is there.
func (c *checker) deleted(key []byte, v packed.View) {
	if c.hasTombstone(v) {
		c.problem(Undead, index.TableEvent, key, "event %x is there in spite of its tombstone", v.ID())
	}
	addr, ok := index.AddressOf(c.addr[:0], v)
	if !ok {
		return
	}
	c.addr = addr
	b, ok, _ := c.get(index.TableReplaceDeletion, addr)
	if ok && len(b) == markSize && readMark(b).covers(v) { // a mark of another size is reported by marks
		c.problem(Undead, index.TableEvent, key, "event %x is there in spite of the mark of its address", v.ID())
	}
}

// hasTombstone reports whether somebody who may delete v has done so by id.
func (c *checker) hasTombstone(v packed.View) bool {
	if lasts(v.Kind()) {
		return false
	}
	dead := c.tombstone(v.ID(), v.Pubkey())
	if v.Kind() != kindGiftWrap {
		return dead
	}
	ts := v.Tags()
	for t, ok := ts.Next(); ok && !dead; t, ok = ts.Next() {
		dead = t.Letter() == 'p' && t.Form() == packed.Hex && c.tombstone(v.ID(), t.Value())
	}
	return dead
}

func (c *checker) tombstone(id, deleter []byte) bool {
	c.tomb = append(append(c.tomb[:0], id...), deleter...)
	_, ok, _ := c.get(index.TableDeletion, c.tomb)
	return ok
}

// each is Each of a table for as long as the context lasts.
func (c *checker) each(table index.TableID, fn func(key, val []byte) error) error {
	return c.file.Each(int(table), nil, nil, func(key, val []byte) error {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		return fn(key, val)
	})
}
