package store

import (
	"bytes"
	"context"
	"slices"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/nostr"
)

// events mends each event that has a problem.
func (r *repair) events(ctx context.Context) error {
	for from, more := uint64(0), true; more; {
		var suspects []uint64
		err := r.look(ctx, func(c *checker) (err error) {
			suspects, from, more, err = c.suspects(from)
			return err
		})
		if err != nil {
			return err
		}
		for part := range slices.Chunk(suspects, repairBatch) {
			err := r.update(func(b *Batch) error {
				for _, levID := range part {
					if err := r.mend(b, levID); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if err := r.progress(ctx, from, more); err != nil {
			return err
		}
	}
	return nil
}

func (r *repair) progress(ctx context.Context, next uint64, more bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.opts.Progress == nil {
		return nil
	}
	return r.db.View(ctx, func(tx *Txn) error {
		last, err := tx.LastLevID()
		if !more {
			next = last
		}
		r.opts.Progress(min(next, last), last)
		return err
	})
}

// suspects returns the events from a levId on that have a problem, up to some
// number of events, and where to go on.
func (c *checker) suspects(from uint64) (found []uint64, next uint64, more bool, err error) {
	n, last := 0, ^uint64(0)
	note := func(levID uint64) { found = append(found, levID) }
	begin := lmdbx.AppendInt(nil, from)
	err = c.file.Each(int(index.TableEvent), begin, nil, func(key, val []byte) error {
		if n == repairSlice {
			more = true
			return ErrStop
		}
		n++
		last = lmdbx.Int(key)
		before := c.report.Total() + c.unread
		c.event(key, val)
		if c.report.Total()+c.unread > before {
			note(last)
		}
		return nil
	})
	if !more {
		last = ^uint64(0)
	}
	if err != nil {
		return nil, 0, false, err
	}
	err = c.file.Each(int(index.TableEventPayload), begin, nil, func(key, val []byte) error {
		levID := lmdbx.Int(key)
		switch {
		case levID > last:
			return ErrStop
		case c.stray(index.TableEventPayload, key, val) != "":
			note(levID)
		}
		return nil
	})
	slices.Sort(found)
	return slices.Compact(found), last + 1, more, err
}

// mend makes the rows of one event from its JSON, or removes it.
func (r *repair) mend(b *Batch, levID uint64) error {
	val, ok, err := b.lx.Get(int(index.TableEventPayload), b.intKey(levID))
	if err != nil {
		return err
	}
	if !ok {
		return r.dropEvent(b, levID, "its JSON is missing")
	}
	ev, why := r.read(b, val)
	switch {
	case ev == nil:
		return r.dropEvent(b, levID, why)
	case levID == 0 || levID > index.MaxLevID:
		return r.moveEvent(b, levID, ev)
	}
	why, err = r.against(b, levID, ev.Packed)
	if err != nil {
		return err
	}
	if why != "" {
		return r.dropEvent(b, levID, why)
	}
	r.mended++
	return b.restore(levID, ev)
}

// read returns the event in a payload, or why there is none.
func (r *repair) read(b *Batch, val []byte) (*nostr.Event, string) {
	json, err := b.decode(val)
	if err != nil {
		return nil, err.Error()
	}
	ev, err := r.parser.Parse(bytes.Clone(json)) // the next write moves it
	if err != nil {
		return nil, "the JSON is no event: " + err.Error()
	}
	if r.opts.Verify && !signed(ev) {
		return nil, "its signature is wrong"
	}
	return ev, ""
}

// moveEvent stores an event anew whose levId no event can have.
func (r *repair) moveEvent(b *Batch, levID uint64, ev *nostr.Event) error {
	if err := r.dropEvent(b, levID, "no event can have this levId"); err != nil {
		return err
	}
	p, ok, err := b.ByID(ev.Packed.ID())
	if ignoreCorrupt(err) != nil {
		return err
	}
	if ok && !r.holds(b, p.LevID(), ev.Packed.ID()) {
		if _, err := b.lx.Delete(int(index.TableEventID), ev.Packed.ID(), nil); err != nil {
			return err
		}
	}
	_, err = b.Put(ev)
	return err
}

// dropEvent removes the two rows of an event that hold it, and sets them aside.
// Its other rows follow in rows, as those of no event.
func (r *repair) dropEvent(b *Batch, levID uint64, why string) error {
	for _, table := range []index.TableID{index.TableEventPayload, index.TableEvent} {
		key := lmdbx.AppendInt(nil, levID)
		val, ok, err := b.lx.Get(int(table), key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := r.drop(b, table, key, val, why); err != nil {
			return err
		}
	}
	return nil
}
