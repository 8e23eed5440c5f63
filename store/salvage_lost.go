package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/packed"
)

// lostMarks copies dictionaries and marks on pages that no table reaches. Marks
// that may have been removed are left, as is what they were for; a dictionary
// does no harm, and an event that it makes readable proves itself by its id.
func (s *salvage) lostMarks(ctx context.Context) error {
	return s.lost(ctx, func(certain bool, table index.TableID, key, val []byte) error {
		if table == index.TableEventPayload || !certain && table != index.TableCompressionDictionary {
			return nil
		}
		return s.repair.update(func(b *Batch) error {
			if _, there, err := b.lx.Get(int(table), key); err != nil || there {
				return err
			}
			return b.lx.Put(int(table), key, val)
		})
	})
}

// lostEvents copies events on pages that no table reaches, and sets aside those
// that may have been removed.
func (s *salvage) lostEvents(ctx context.Context) error {
	err := s.lost(ctx, func(certain bool, table index.TableID, key, val []byte) error {
		switch {
		case table != index.TableEventPayload:
			return nil
		case s.stands(certain, key):
			return s.lostEvent(key, val)
		}
		return s.doubtfulEvent(ctx, key, val)
	})
	return errors.Join(err, s.flush(false))
}

// stands reports whether the payload of an event is of one that is still stored:
// the table of events tells, where it can be read, and else the page.
func (s *salvage) stands(certain bool, key []byte) bool {
	_, ok, err := s.file.Get(int(index.TableEvent), key)
	return ok || err != nil && certain
}

func (s *salvage) lost(ctx context.Context, fn func(certain bool, table index.TableID, key, val []byte) error) error {
	return s.file.Lost(func(certain bool, key, val []byte) error {
		table, ok := tableOf(key, val)
		if !ok {
			return context.Cause(ctx)
		}
		return errors.Join(fn(certain, table, key, val), context.Cause(ctx))
	})
}

// doubtfulEvent sets aside an event that may have been removed, unless it is
// there.
func (s *salvage) doubtfulEvent(ctx context.Context, key, val []byte) error {
	there := false
	err := s.repair.db.View(ctx, func(tx *Txn) error {
		json, err := tx.decode(val)
		if err != nil {
			return nil // a remnant
		}
		ev, err := s.repair.parser.Parse(json)
		if err != nil {
			there = true // a remnant of something else
			return nil
		}
		_, there, err = tx.ByID(ev.Packed.ID())
		return err
	})
	if err != nil || there {
		return err
	}
	return s.setAside("", key, val, "it stands on a page that may be free, so the event may have been removed")
}

// lostEvent copies an event unless another one has its levId. What a run that was
// cut off has copied is passed over.
func (s *salvage) lostEvent(key, val []byte) error {
	levID, there, same := lmdbx.Int(key), false, false
	err := s.repair.db.View(context.Background(), func(tx *Txn) (err error) {
		var now []byte
		now, there, err = tx.lx.Get(int(index.TableEventPayload), key)
		same = there && bytes.Equal(now, val)
		return err
	})
	if err != nil || same {
		return err
	}
	if there || s.levIDs[levID] {
		return s.setAside(index.Tables[index.TableEventPayload].Name, key, val, fmt.Sprintf("another event has levId %d", levID))
	}
	s.levIDs[levID] = true
	s.batch = append(s.batch, entry{key: key, val: val})
	if len(s.batch) < salvageBatch {
		return nil
	}
	return s.flush(false)
}

// tableOf tells by their form in which table a key and value stood. Rows of
// tables that follow from events are not looked for.
func tableOf(key, val []byte) (index.TableID, bool) {
	switch {
	case len(key) == 8 && len(val) > 8 && parses(val):
		return index.TableEventPayload, true
	case len(key) == 8 && isDictionary(val):
		return index.TableCompressionDictionary, true
	case len(key) == 64 && len(val) == 8:
		return index.TableDeletion, true
	case len(val) == markSize && isAddress(key):
		return index.TableReplaceDeletion, true
	case len(key) == 32 && len(val) == vanishSize:
		return index.TableVanish, true
	case isVanishing(key, val):
		return index.TableVanishing, true
	}
	return 0, false
}

func isDictionary(val []byte) bool {
	_, err := zstd.InspectDictionary(val)
	return err == nil
}

// parses reports whether val has the form of a payload and not of a packed
// event, whose first byte may be anything.
func parses(val []byte) bool {
	if _, err := packed.Parse(val); err == nil {
		return false
	}
	p, err := parsePayload(val)
	if err != nil {
		return false
	}
	_, err = p.jsonSize()
	return err == nil
}
