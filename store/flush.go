package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"wok/index"
	"wok/packed"
)

// A scratch is the memory of a batch, kept for the next one.
type scratch struct {
	changes [len(index.Tables)][]change // by table
	keys    []byte                      // the keys of changes
	rows    []index.Row
	arena   []byte // the keys of rows
	addr    []byte // address of the event in hand
	value   []byte // a posting as stored
	old     []byte // copy of an event that is being removed
	run     []byte // postings of one list
	payload []byte // of the event that is being put, nil for plain
	forms   []Form // that were found usable
}

const (
	// maxScratch is how much memory for keys, in bytes, is kept between batches.
	maxScratch = 16 << 20
	// maxBatchKeys keeps the keys of a batch, and of one more event, within
	// what a change can point to.
	maxBatchKeys = 1 << 31
)

// reset forgets what the last batch left.
func (s *scratch) reset() {
	if cap(s.keys) > maxScratch {
		*s = scratch{}
	}
	for i := range s.changes {
		s.changes[i] = s.changes[i][:0]
	}
	s.keys = s.keys[:0]
	s.payload, s.forms = nil, s.forms[:0]
}

// A change is a posting to be put into, or removed from, one list.
type change struct {
	prefix   uint64 // first bytes of the key, by which nearly all are told apart
	key, end uint32 // where the key stands in scratch.keys
	remove   bool
	posting  index.Posting
}

// note notes the postings of v for the end of the batch.
func (s *scratch) note(v packed.View, p index.Posting, remove bool) { s.noteIn(nil, v, p, remove) }

// noteIn notes the postings of v in index d, or in all of them where d is nil.
func (s *scratch) noteIn(d *index.Def, v packed.View, p index.Posting, remove bool) {
	s.rows, s.arena = index.Rows(s.rows[:0], s.arena[:0], v)
	for _, r := range s.rows {
		if d != nil && r.Index != d.ID {
			continue
		}
		at := len(s.keys)
		s.keys = append(s.keys, r.Key...)
		table := &s.changes[index.All[r.Index].Table]
		*table = append(*table, change{prefixOf(r.Key), uint32(at), uint32(len(s.keys)), remove, p})
	}
}

// prefixOf returns the first eight bytes of key, zeros behind a short one, such
// that the order of prefixes is that of keys where they differ.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

func (s *scratch) keyOf(c *change) []byte { return s.keys[c.key:c.end] }

// compare orders the changes of a table by key and posting.
func (s *scratch) compare(x, y change) int {
	if x.prefix != y.prefix {
		return cmp.Compare(x.prefix, y.prefix)
	}
	if c := bytes.Compare(s.keyOf(&x), s.keyOf(&y)); c != 0 {
		return c
	}
	return x.posting.Compare(y.posting)
}

// flush writes the gathered postings and the next levId.
func (b *Batch) flush() error {
	for table, changes := range b.changes {
		slices.SortFunc(changes, b.compare)
		for len(changes) > 0 {
			n, key := 1, b.keyOf(&changes[0])
			for n < len(changes) && changes[n].prefix == changes[0].prefix && bytes.Equal(b.keyOf(&changes[n]), key) {
				n++
			}
			if err := b.flushList(table, key, changes[:n]); err != nil {
				return err
			}
			changes = changes[n:]
		}
	}
	if b.next == b.first {
		return nil // without a write there is no sync
	}
	return putMeta(b.lx, metaNextLevID, b.next)
}

// flushList applies the changes of one list, in the order of their postings. A
// posting that comes and goes within the batch stands twice and is left out.
// One that is to go and is not there is as it should be: that it was missing
// before is for Check to report, not for a batch to fail on.
func (b *Batch) flushList(table int, key []byte, changes []change) error {
	b.run = b.run[:0]
	for i := 0; i < len(changes); i++ {
		c := &changes[i]
		switch {
		case i+1 < len(changes) && c.posting == changes[i+1].posting:
			i++
		case !c.remove:
			b.run = c.posting.Append(b.run)
		default:
			b.value = c.posting.Append(b.value[:0])
			if _, err := b.lx.Delete(table, key, b.value); err != nil {
				return err
			}
		}
	}
	return b.lx.PutPostings(table, key, b.run)
}
