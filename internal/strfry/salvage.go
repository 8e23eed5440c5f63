package strfry

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"wok/nostr"
)

// A salvage looks through all pages of the file for events of keys to which the
// way is lost: below a damaged page, the leaves are still there. So are leaves
// of the past, with events that were deleted since; the table of packed events
// tells them apart, as far as it can be read.
type salvage struct {
	keys []span
	page uint64 // the next to be looked at
	seen map[uint64]bool
}

// salvagePages is how many pages are read in one go.
const salvagePages = 256

// batch returns what is found on the next pages, and io.EOF at the end. Next of
// the batch is as given.
func (sv *salvage) batch(db *DB, next uint64) (*Batch, error) {
	if len(sv.keys) == 0 {
		return nil, io.EOF
	}
	var b Batch
	done := false
	err := db.file.read(func(s *snapshot, _ int) (err error) {
		b = Batch{Next: next}
		done, err = sv.look(s, &b)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case done:
		return nil, io.EOF
	}
	sv.sift(db, &b)
	if sv.page == 0 && db.blind {
		b.Lost = []Lost{{0, allKeys.last, fmt.Errorf("%w: list of tables", ErrDamaged)}}
	}
	sv.page += salvagePages
	return &b, nil
}

// look adds to b what the next pages hold, and reports whether there are none.
func (sv *salvage) look(s *snapshot, b *Batch) (done bool, err error) {
	return s.leaves(sv.page, func(p page) { sv.leaf(s, p, b) })
}

// leaves calls fn with those of the next pages that are leaves, of now or of the
// past, and reports whether there are no pages.
func (s *snapshot) leaves(from uint64, fn func(page)) (done bool, err error) {
	text := make([]byte, salvagePages*s.pageSize)
	n, err := s.f.ReadAt(text, int64(from)*int64(s.pageSize))
	if err != nil && err != io.EOF {
		return false, err
	}
	for i := range n / s.pageSize {
		p := page(text[i*s.pageSize:][:s.pageSize])
		if p.check(from+uint64(i), pageLeaf) == nil {
			fn(p)
		}
	}
	return n < s.pageSize, nil
}

// leaf adds to b what rows of a leaf, which may be of any table, are of lost keys.
func (sv *salvage) leaf(s *snapshot, p page, b *Batch) {
	for i := range p.nodes() {
		levID, val, err := s.row(p, i)
		if err != nil || !sv.wanted(levID) || !isPayload(val) {
			continue
		}
		b.Rows = append(b.Rows, Row{levID, val})
	}
}

func (sv *salvage) wanted(levID uint64) bool {
	return slices.ContainsFunc(sv.keys, func(k span) bool { return k.first <= levID && levID <= k.last })
}

// isPayload reports whether a value looks like the payload of an event.
func isPayload(val []byte) bool {
	zstdMagic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	return bytes.HasPrefix(val, []byte{payloadJSON, '{'}) ||
		len(val) > 9 && val[0] == payloadZstd && bytes.Equal(val[5:9], zstdMagic)
}

// sift decodes the rows of b and keeps those that are live, each once.
func (sv *salvage) sift(db *DB, b *Batch) {
	if sv.seen == nil {
		sv.seen = map[uint64]bool{}
	}
	db.decodeRows(b)
	b.Lost = nil // of these pages anything may be missing
	b.Rows = slices.DeleteFunc(b.Rows, func(r Row) bool {
		if sv.seen[r.LevID] || !db.live(r) {
			return true
		}
		sv.seen[r.LevID] = true
		return false
	})
}

// live reports whether the table of packed events has the event under its
// number, or cannot be read there.
func (db *DB) live(r Row) bool {
	id, ok := nostr.FindID(r.JSON)
	if !ok || db.blind {
		return ok
	}
	live := false
	err := db.file.read(func(s *snapshot, _ int) error {
		t, err := s.table(tableEvent)
		if err != nil {
			return err
		}
		val, ok, err := s.get(t, r.LevID)
		live = ok && len(val) >= 32 && hex.EncodeToString(val[:32]) == id
		return err
	})
	return live || err != nil
}

// get returns the value of a key, and whether there is one.
func (s *snapshot) get(t tree, key uint64) (val []byte, found bool, err error) {
	w := walk{
		s:        s,
		integers: true,
		from:     key,
		leaf: func(p page, keys span) error {
			for i := range p.nodes() {
				k, v, err := s.row(p, i)
				if err == nil && k == key {
					val, found = v, true
				}
			}
			if found || keys.first > key {
				return errEnough
			}
			return nil
		},
		lost: func(keys span, e error) {
			if keys.first <= key {
				err = e
			}
		},
	}
	if e := w.tree(t); e != nil && !errors.Is(e, errEnough) {
		return nil, false, e
	}
	return val, found, err
}
