package store

import (
	"bytes"
	"context"
	"fmt"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/nostr"
	"wok/packed"
)

// CheckOptions say how [DB.Check] tells what it does. The zero value is silent
// and lists up to 100 problems.
type CheckOptions struct {
	// Progress is called now and then with the number of events checked and
	// of all events.
	Progress func(done, total uint64)
	// Limit is how many problems are listed, 100 where it is 0. All are
	// counted.
	Limit int
}

// Check proves every row of the database against every other: that each event
// is whole, can be read back from its JSON, has each of its rows, and is not
// one that a deletion covers; and that there is no row but those. It goes on
// after a problem, whatever bytes it meets; the error is nil unless the database
// could not be read to its end or ctx ended, and the report holds what was
// found until then.
//
// It works on one snapshot, which it holds for as long as it takes, some 50,000
// events a second. Writers go on, but pages that they free are not used again
// until the end.
func (db *DB) Check(ctx context.Context, opts CheckOptions) (Report, error) {
	if opts.Limit == 0 {
		opts.Limit = 100
	}
	c := checker{ctx: ctx, opts: opts}
	err := db.View(ctx, func(tx *Txn) error {
		c.tx = tx
		return c.run()
	})
	return c.report, err
}

// A checker walks the events and confirms their rows, then walks the tables
// that hold more rows than were confirmed.
type checker struct {
	ctx    context.Context
	tx     *Txn
	opts   CheckOptions
	report Report

	next      uint64                    // levId of the next event
	total     uint64                    // events
	confirmed [len(index.Tables)]uint64 // rows that an event has, found in place

	parser nostr.Parser
	rows   []index.Row
	arena  []byte
	addr   []byte
}

func (c *checker) run() error {
	var err error
	if c.total, err = c.tx.Events(); err != nil {
		return err
	}
	for _, step := range []func() error{c.meta, c.events, c.tombstones, c.marks, c.vanishMarks, c.removals, c.extras} {
		if err := step(); err != nil {
			return err
		}
	}
	c.progress()
	return nil
}

func (c *checker) progress() {
	if c.opts.Progress != nil {
		c.opts.Progress(c.report.Events, max(c.total, c.report.Events))
	}
}

// problem notes a problem with the row of key in a table.
func (c *checker) problem(class Class, table index.TableID, key []byte, format string, args ...any) {
	c.report.Counts[class]++
	if len(c.report.Problems) < c.opts.Limit {
		c.report.Problems = append(c.report.Problems,
			Problem{class, table, bytes.Clone(key), fmt.Sprintf(format, args...)})
	}
}

// meta checks what the database says about itself.
func (c *checker) meta() error {
	for _, key := range [][]byte{metaFormat, metaNextLevID} {
		val, ok, err := c.tx.lx.Get(int(index.TableMeta), key)
		switch {
		case err != nil:
			return err
		case !ok:
			c.problem(Missing, index.TableMeta, key, "is missing")
		case len(val) != 8:
			c.problem(BadValue, index.TableMeta, key, "has %d bytes and not 8", len(val))
		}
	}
	list, ok, err := c.tx.lx.Get(int(index.TableMeta), metaIndexes)
	switch {
	case err != nil:
		return err
	case !ok:
		c.problem(Missing, index.TableMeta, metaIndexes, "is missing")
	case !bytes.Equal(list, allIndexes()):
		c.problem(BadValue, index.TableMeta, metaIndexes, "is %q and not %q", list, allIndexes())
	}
	next, err := getMeta(c.tx.lx, metaNextLevID)
	if err != nil { // reported above
		next = index.MaxLevID + 1
	}
	c.next = next
	return nil
}

// events checks each event and confirms its rows.
func (c *checker) events() error {
	return c.tx.lx.Each(int(index.TableEvent), nil, func(key, val []byte) error {
		if err := c.ctx.Err(); err != nil {
			return context.Cause(c.ctx)
		}
		if c.report.Events%1024 == 0 {
			c.progress()
		}
		c.report.Events++
		c.confirmed[index.TableEvent]++
		return c.event(key, val)
	})
}

func (c *checker) event(key, val []byte) error {
	levID, ok := levIDOf(key)
	switch {
	case !ok:
		c.problem(BadKey, index.TableEvent, key, "the key has %d bytes and not 8", len(key))
		return nil
	case levID == 0 || levID > index.MaxLevID:
		c.problem(BadKey, index.TableEvent, key, "no event can have this levId")
		return nil
	case levID >= c.next:
		c.problem(BadKey, index.TableEvent, key, "the levId is to be given out next: nextLevId is %d", c.next)
	}
	v, err := packed.Parse(val)
	if err != nil {
		c.problem(BadValue, index.TableEvent, key, "%v", err)
		return nil
	}
	for _, check := range []func([]byte, uint64, packed.View) error{c.payload, c.singles, c.postings, c.deleted, c.vanished} {
		if err := check(key, levID, v); err != nil {
			return err
		}
	}
	return nil
}

// payload checks that the JSON of an event, parsed anew, gives its packed form
// and itself.
func (c *checker) payload(key []byte, _ uint64, v packed.View) error {
	const table = index.TableEventPayload
	b, ok, err := c.tx.lx.Get(int(table), key)
	if err != nil {
		return err
	}
	if !ok {
		c.problem(Missing, table, key, "is missing")
		return nil
	}
	c.confirmed[table]++
	json, err := decodePayload(b)
	if err != nil {
		c.problem(BadValue, table, key, "%v", err)
		return nil
	}
	ev, err := c.parser.Parse(json)
	switch {
	case err != nil:
		c.problem(BadValue, table, key, "the JSON is no event: %v", err)
	case !bytes.Equal(ev.Packed, v):
		c.problem(BadValue, table, key, "the JSON is not that of the packed event")
	case !bytes.Equal(ev.JSON, json):
		c.problem(BadValue, table, key, "the JSON is not canonical")
	}
	return nil
}

// singles checks the rows of an event outside of the indexes.
func (c *checker) singles(_ []byte, levID uint64, v packed.View) error {
	var buf [index.PostingSize]byte
	posting := index.NewPosting(v, levID).Append(buf[:0])
	if err := c.single(index.TableEventID, v.ID(), posting); err != nil {
		return err
	}
	if addr, ok := index.AddressOf(c.addr[:0], v); ok {
		c.addr = addr
		if err := c.single(index.TableReplace, addr, posting); err != nil {
			return err
		}
	}
	if e := v.Expiration(); e != 0 {
		return c.listed(index.TableExpiration, lmdbx.AppendInt(nil, e), lmdbx.AppendInt(nil, levID))
	}
	return nil
}

// single checks that key has this value.
func (c *checker) single(table index.TableID, key, want []byte) error {
	got, ok, err := c.tx.lx.Get(int(table), key)
	switch {
	case err != nil:
		return err
	case !ok:
		c.problem(Missing, table, key, "%s is missing", describe(table, want))
	case !bytes.Equal(got, want):
		c.problem(Wrong, table, key, "%s stands there in place of %s", describe(table, got), describe(table, want))
	default:
		c.confirmed[table]++
	}
	return nil
}

// listed checks that this value is among those of key.
func (c *checker) listed(table index.TableID, key, want []byte) error {
	ok, err := c.tx.lx.Has(int(table), key, want)
	switch {
	case err != nil:
		return err
	case !ok:
		c.problem(Missing, table, key, "%s is missing", describe(table, want))
	default:
		c.confirmed[table]++
	}
	return nil
}

// postings checks the rows of an event in the indexes.
func (c *checker) postings(_ []byte, levID uint64, v packed.View) error {
	var buf [index.PostingSize]byte
	posting := index.NewPosting(v, levID).Append(buf[:0])
	c.rows, c.arena = index.Rows(c.rows[:0], c.arena[:0], v)
	for _, r := range c.rows {
		if err := c.listed(index.All[r.Index].Table, r.Key, posting); err != nil {
			return err
		}
	}
	return nil
}

// deleted checks that nothing has deleted an event that is there.
func (c *checker) deleted(key []byte, _ uint64, v packed.View) error {
	dead, err := c.tx.hasTombstone(v)
	if err != nil {
		return err
	}
	if dead {
		c.problem(Undead, index.TableEvent, key, "event %x is there in spite of its tombstone", v.ID())
	}
	addr, ok := index.AddressOf(c.addr[:0], v)
	if !ok {
		return nil
	}
	c.addr = addr
	b, ok, err := c.tx.lx.Get(int(index.TableReplaceDeletion), addr)
	if err != nil || !ok || len(b) != markSize { // a mark of another size is reported by marks
		return err
	}
	if readMark(b).covers(v) {
		c.problem(Undead, index.TableEvent, key, "event %x is there in spite of the mark of its address", v.ID())
	}
	return nil
}
