package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"wok/index"
	"wok/nostr"
	"wok/packed"
	"wok/planner"
	"wok/store"
)

// A span is a span of created_at, both ends inclusive.
type span struct{ since, until uint64 }

// filters returns the filters, narrowed to the span.
func (s span) filters(filters []*nostr.Filter) []*nostr.Filter {
	narrowed := make([]*nostr.Filter, len(filters))
	for i, f := range filters {
		g := *f
		g.Since, g.Until = max(f.Since, s.since), min(f.Until, s.until)
		narrowed[i] = &g
	}
	return narrowed
}

// narrow returns the part of the span in which any of the filters asks.
func (s span) narrow(filters []*nostr.Filter) span {
	first, last := uint64(nostr.NoUntil), uint64(0)
	for _, f := range filters {
		first, last = min(first, f.Since), max(last, f.Until)
	}
	return span{max(s.since, first), min(s.until, last)}
}

// windowEvents is how many events a window of an export has. Of each window one
// number an event is held at once, and of the whole export two a window.
const windowEvents = 4096

// export writes the events of a span that match any of the filters, oldest
// first, or newest first where reverse is set. Lists are only walked downwards,
// which costs some nanoseconds a posting. So the list of all events is walked
// once to part the span into windows of size events; then the windows are read
// one after another, each turned around unless reverse is set. What cannot be
// read costs no more than itself, or where the list of all events is damaged,
// its window.
func (s *stream) export(ctx context.Context, filters []*nostr.Filter, all span, reverse bool, size int) error {
	windows, err := s.windows(ctx, all.narrow(filters), size)
	if err != nil {
		return err
	}
	if !reverse {
		slices.Reverse(windows)
	}
	for _, w := range windows {
		found, err := s.levIDs(ctx, w.filters(filters))
		if err != nil {
			return err
		}
		if !reverse {
			slices.Reverse(found)
		}
		if err := s.write(ctx, found); err != nil {
			return err
		}
	}
	return s.finish(nil)
}

// windows parts a span into spans of whole seconds that hold size events, or
// what more there are in the first second, newest first.
func (s *stream) windows(ctx context.Context, all span, size int) ([]span, error) {
	var windows []span
	for rest, more := all, true; more && rest.since <= rest.until; {
		reached := rest.until // the second down to which the list was read
		err := s.run(ctx, func(tx *store.Txn, _ planner.Budget) (_ bool, err error) {
			list := allEvents(tx)
			reached, more, err = windowStart(&list, rest, size)
			return true, err
		})
		switch {
		case err == nil:
			windows = append(windows, span{reached, rest.until})
			rest.until = reached - 1 // not used where that is below 0: no more comes then
		case errors.Is(err, store.ErrDamaged):
			if reached < rest.until {
				windows = append(windows, span{reached + 1, rest.until})
			}
			rest.until, more = s.below(ctx, rest, reached)
		default:
			return nil, err
		}
	}
	return windows, nil
}

func allEvents(tx *store.Txn) store.List {
	return tx.List(index.CreatedAt, index.All[index.CreatedAt].AppendKey(nil, nil, 0, nil))
}

// windowStart goes down a list through the newest events of a span. It returns
// the second of the last one, and whether more of the span lies before it.
func windowStart(list *store.List, in span, size int) (since uint64, more bool, err error) {
	since = in.until
	low := index.NotBefore(in.since)
	ok, err := list.Seek(index.NotAfter(in.until))
	for range size {
		if err != nil {
			return since, false, err
		}
		if !ok || list.Posting().Less(low) {
			return in.since, false, nil
		}
		since = list.Posting().Time()
		ok, err = list.Next()
	}
	if err != nil {
		return since, false, err
	}
	return since, since > in.since, nil
}

// below returns the last second, of those before the second at in the span, from
// which the list of all events can be read again, and whether there is one; and
// tells what is passed over. Each try takes a transaction of its own.
func (s *stream) below(ctx context.Context, in span, at uint64) (uint64, bool) {
	s.gaps++
	bad, good, found := min(at, in.until), in.since, false // nothing is known of good yet
	for step := uint64(1); !found && bad > in.since; step *= 2 {
		good = max(in.since, bad-min(bad, step))
		if found = s.readable(ctx, good); !found {
			bad = good
		}
	}
	for found && bad-good > 1 {
		if middle := good + (bad-good)/2; s.readable(ctx, middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	if !found {
		good = in.since
	}
	fmt.Fprintf(s.io.err, "skipped: the index created_at is damaged between %d and %d\n", good, min(at, in.until))
	return good, found
}

// readable reports whether the list of all events can be read at a second.
func (s *stream) readable(ctx context.Context, at uint64) bool {
	return s.db.View(ctx, func(tx *store.Txn) error {
		list := allEvents(tx)
		_, err := list.Seek(index.NotAfter(at))
		return err
	}) == nil
}

// levIDs returns the events that match the filters, newest first.
func (s *stream) levIDs(ctx context.Context, filters []*nostr.Filter) (found []uint64, err error) {
	var q lateQuery
	err = s.run(ctx, func(tx *store.Txn, _ planner.Budget) (done bool, err error) {
		if ok, err := q.plan(tx, filters, planner.Options{}); !ok {
			return false, err
		}
		done, err = q.Run(tx, planner.Budget{}, func(levID uint64, _ packed.View) bool {
			found = append(found, levID)
			return true
		})
		if errors.Is(err, store.ErrDamaged) { // an index is: what was found is worth having
			s.gaps++
			fmt.Fprintf(s.io.err, "skipped: events from %d to %d: %v\n", filters[0].Since, filters[0].Until, err)
			return true, nil
		}
		return done, err
	})
	if q.Query != nil {
		s.lost += q.Lost()
	}
	return found, err
}

// write writes events in that order.
func (s *stream) write(ctx context.Context, levIDs []uint64) error {
	return s.run(ctx, func(tx *store.Txn, _ planner.Budget) (bool, error) {
		for more := true; more && len(levIDs) > 0; {
			levID := levIDs[0]
			levIDs = levIDs[1:]
			v, ok, err := tx.Packed(levID)
			if err != nil {
				if more, err = s.lose(err); err != nil {
					return false, err
				}
				continue
			}
			if ok { // else it has gone since the last slice
				more, err = s.add(tx, levID, v)
			}
			if err != nil {
				return false, err
			}
		}
		return len(levIDs) == 0, nil
	})
}
