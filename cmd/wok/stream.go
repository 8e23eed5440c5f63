package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"wok/nostr"
	"wok/packed"
	"wok/planner"
	"wok/store"
)

const (
	// sliceBytes and sliceTime end a slice: what has been found is written,
	// outside of any transaction, since whoever reads may take its time.
	sliceBytes = 1 << 20
	sliceTime  = 50 * time.Millisecond
)

// A stream writes events to stdout. It reads in slices of one short
// transaction each, so that it neither keeps old pages of the database from
// being used again, nor holds much in memory, however slow its reader is.
type stream struct {
	db    *store.DB
	io    stdio
	pause int // postings a slice, 0 for a slice of time
	// line appends the text of an event.
	line func(dst []byte, tx *store.Txn, levID uint64, v packed.View) ([]byte, error)

	buf    []byte // lines of this slice
	lost   int    // events that could not be read
	began  time.Time
	slices int
	work   planner.Work // of the query
}

// newStream returns a stream of JSON lines.
func newStream(db *store.DB, io stdio, pause int) *stream {
	return &stream{db: db, io: io, pause: pause, line: jsonLine, began: time.Now()}
}

func jsonLine(dst []byte, tx *store.Txn, levID uint64, _ packed.View) ([]byte, error) {
	json, ok, err := tx.JSON(levID)
	if err == nil && !ok {
		err = fmt.Errorf("%w: event %d has no payload", store.ErrCorrupt, levID)
	}
	if err != nil {
		return dst, err
	}
	return append(append(dst, json...), '\n'), nil
}

// query writes the stored events that match the filters, newest first.
func (s *stream) query(ctx context.Context, filters []*nostr.Filter) error {
	var q *planner.Query
	err := s.run(ctx, func(tx *store.Txn, b planner.Budget) (bool, error) {
		if q == nil {
			var err error
			if q, err = planner.New(tx, filters, planner.Options{}); err != nil {
				return false, err
			}
		}
		return q.Run(tx, b, func(levID uint64, v packed.View) bool {
			s.add(tx, levID, v)
			return len(s.buf) < sliceBytes
		})
	})
	if q != nil {
		s.lost += q.Lost()
		s.work = q.Work()
	}
	return s.finish(err)
}

// run runs fn in one transaction after another, until it is done, and writes
// what each has added.
func (s *stream) run(ctx context.Context, fn func(*store.Txn, planner.Budget) (bool, error)) error {
	for done := false; !done; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := s.db.View(ctx, func(tx *store.Txn) (err error) {
			s.slices++
			done, err = fn(tx, s.budget())
			return err
		})
		// What was found before an error is worth having.
		if err := cmp.Or(s.flush(), err); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) budget() planner.Budget {
	if s.pause > 0 {
		return planner.Budget{Postings: s.pause}
	}
	return planner.Budget{Deadline: time.Now().Add(sliceTime)}
}

// add takes an event into the slice. One that cannot be read costs no other.
func (s *stream) add(tx *store.Txn, levID uint64, v packed.View) {
	buf, err := s.line(s.buf, tx, levID, v)
	if err != nil {
		s.lost++
		fmt.Fprintf(s.io.err, "skipped: %v\n", err)
		return
	}
	s.buf = buf
}

// flush writes what the slice has found.
func (s *stream) flush() error {
	_, err := s.io.out.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// finish returns the error of a stream that has ended with err.
func (s *stream) finish(err error) error {
	if err == nil && s.lost > 0 {
		events := "events"
		if s.lost == 1 {
			events = "event"
		}
		return fmt.Errorf("%d %s could not be read; see wok check", s.lost, events)
	}
	return err
}

// printWork tells on stderr what finding the events has cost.
func (s *stream) printWork() {
	fmt.Fprintf(s.io.err, "slices %d, time %v, work %s\n", s.slices, time.Since(s.began).Round(time.Microsecond), s.work)
}
