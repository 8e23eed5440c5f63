package strfry

import (
	"errors"
	"fmt"
)

// A Row is one event.
type Row struct {
	LevID uint64 // strfry's number of the event, in the order of storing
	JSON  []byte
}

// Lost is what could not be read: rows whose levIds, if there are any, lie from
// First to Last.
type Lost struct {
	First, Last uint64
	Err         error
}

func (l Lost) String() string {
	switch l.Last {
	case l.First:
		return fmt.Sprintf("levId %d: %v", l.First, l.Err)
	case allKeys.last:
		return fmt.Sprintf("levIds from %d on: %v", l.First, l.Err)
	}
	return fmt.Sprintf("levIds %d to %d: %v", l.First, l.Last, l.Err)
}

// A Batch is what was read in one go. Nobody else has its memory.
type Batch struct {
	Rows []Row
	Lost []Lost
	// Next is where to go on: all rows below it have been read. It may be that
	// of the first row of a page, so that after the last batch some rows come
	// again.
	Next uint64
}

const (
	batchRows  = 1000
	batchBytes = 1 << 20
)

// Rows walks the events. Where pages are damaged it looks through the whole file
// at the end for what was below them, see [salvage].
type Rows struct {
	db      *DB
	next    uint64
	walked  bool // to the end of the table
	rows    int  // of a batch, at most but for those of one page
	salvage salvage
}

// Rows returns the events whose levId is at least from, in their order.
func (db *DB) Rows(from uint64) *Rows {
	r := &Rows{db: db, next: from, rows: batchRows}
	if db.blind {
		r.walked, r.salvage.keys = true, []span{allKeys}
	}
	return r
}

// Next returns the next batch, and io.EOF after the last one.
func (r *Rows) Next() (*Batch, error) {
	if r.walked {
		return r.salvage.batch(r.db, r.next)
	}
	var c collector
	err := r.db.file.read(func(s *snapshot, try int) error {
		if try > 0 {
			r.rows = max(1, r.rows/2) // it has taken too long
		}
		c = collector{s: s, from: r.next, rows: r.rows, batch: Batch{Next: r.next}}
		return c.collect()
	})
	if err != nil {
		return nil, err
	}
	r.rows = min(2*r.rows, batchRows)
	r.next, r.walked = c.batch.Next, !c.more
	r.salvage.keys = append(r.salvage.keys, c.unread...)
	r.db.decodeRows(&c.batch)
	return &c.batch, nil
}

// decodeRows makes JSON of payloads, in place.
func (db *DB) decodeRows(b *Batch) {
	kept := b.Rows[:0]
	for _, row := range b.Rows {
		json, err := db.decode(row.JSON)
		if err != nil {
			b.Lost = append(b.Lost, Lost{row.LevID, row.LevID, err})
			continue
		}
		kept = append(kept, Row{row.LevID, json})
	}
	b.Rows = kept
}

// A collector collects the payloads of some leaves.
type collector struct {
	s     *snapshot
	from  uint64
	rows  int // when to stop
	bytes int
	more  bool // it has stopped and not come to the end
	batch Batch

	unread []span // the keys of pages that cannot be read
}

func (c *collector) collect() error {
	t, err := c.s.table(tablePayload)
	if err != nil {
		return err
	}
	w := walk{s: c.s, integers: true, from: c.from, leaf: c.leaf, lost: c.losePage}
	err = w.tree(t)
	c.more = errors.Is(err, errEnough)
	if c.more {
		return nil
	}
	return err
}

// losePage notes that a page cannot be read.
func (c *collector) losePage(keys span, err error) {
	c.unread = append(c.unread, keys)
	c.lose(keys, err)
}

// lose notes that something of the keys cannot be read.
func (c *collector) lose(keys span, err error) {
	c.batch.Lost = append(c.batch.Lost, Lost{max(keys.first, c.from), keys.last, err})
}

// leaf takes the rows of a leaf. The batch ends before a leaf and never between
// two that may have the same keys, see walk.starts.
func (c *collector) leaf(p page, keys span) error {
	full := len(c.batch.Rows) >= c.rows || c.bytes >= batchBytes
	beyond := keys.first > c.batch.Next
	c.batch.Next = max(c.batch.Next, keys.first)
	if full && beyond {
		return errEnough
	}
	for i := range p.nodes() {
		levID, val, err := c.s.row(p, i)
		// A number that is not of this page is damaged; the event may be right.
		known := levID >= keys.first && levID < c.from
		switch {
		case err != nil:
			c.lose(keys, err)
		case !known:
			c.batch.Rows = append(c.batch.Rows, Row{levID, val})
			c.bytes += len(val)
		}
	}
	return nil
}

// row returns row i of a leaf whose keys are integers.
func (s *snapshot) row(p page, i int) (key uint64, val []byte, err error) {
	n, err := p.node(i)
	if err != nil {
		return 0, nil, err
	}
	if key, err = n.integer(); err != nil {
		return 0, nil, err
	}
	val, err = s.value(&n)
	if err != nil {
		err = fmt.Errorf("event %d: %w", key, err)
	}
	return key, val, err
}
