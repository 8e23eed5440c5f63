package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
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
	events int    // written, or about to be
	lost   int    // events that could not be read
	gaps   int    // places where nobody knows how many there are
	failed bool   // what was found could not be written
	meter  *meter // nil where nobody is to see it
	began  time.Time
	slices int
	work   planner.Work // of the query
}

// newStream returns a stream of JSON lines.
func newStream(db *store.DB, io stdio, pause int) *stream {
	return &stream{db: db, io: io, pause: pause, line: jsonLine, began: time.Now()}
}

func jsonLine(dst []byte, tx *store.Txn, levID uint64, v packed.View) ([]byte, error) {
	json, ok, err := tx.JSON(levID)
	switch {
	case err != nil:
		return dst, err
	case !ok:
		return dst, fmt.Errorf("%w: event %d has no payload", store.ErrCorrupt, levID)
	case !looksLike(json, v):
		return dst, fmt.Errorf("%w: the payload of event %d is not its JSON", store.ErrCorrupt, levID)
	}
	return append(append(dst, json...), '\n'), nil
}

// looksLike reports whether json may be that of v: a line that begins with its
// id. A damaged page may hold anything, and must not break the lines around it.
func looksLike(json []byte, v packed.View) bool {
	const before = `{"id":"`
	n := len(before)
	var id [64]byte
	hex.Encode(id[:], v.ID())
	return len(json) > n+len(id) && string(json[:n]) == before && bytes.HasPrefix(json[n:], id[:]) &&
		json[len(json)-1] == '}' && bytes.IndexByte(json, '\n') < 0
}

// query writes the stored events that match the filters, newest first.
func (s *stream) query(ctx context.Context, filters []*nostr.Filter) error {
	var q lateQuery
	err := s.run(ctx, func(tx *store.Txn, b planner.Budget) (bool, error) {
		if ok, err := q.plan(tx, filters, planner.Options{}); !ok {
			return false, err
		}
		var failure error
		done, err := q.Run(tx, b, func(levID uint64, v packed.View) (more bool) {
			more, failure = s.add(tx, levID, v)
			return more
		})
		return done, cmp.Or(failure, err)
	})
	if q.Query != nil {
		s.lost += q.Lost()
		s.work = q.Work()
	}
	return s.finish(err)
}

// A lateQuery is a query that is planned in the first transaction it runs in.
type lateQuery struct {
	*planner.Query
	failed bool
}

// plan plans the query unless that was done, and reports whether it can run in
// tx. Where planning meets a damaged page it cannot, and the next transaction
// plans without what that page would tell, if that can be done without.
func (q *lateQuery) plan(tx *store.Txn, filters []*nostr.Filter, opts planner.Options) (ok bool, err error) {
	if q.Query != nil {
		return true, nil
	}
	q.Query, err = planner.New(tx, filters, opts)
	if err == nil {
		return true, nil
	}
	q.Query = nil
	if errors.Is(err, store.ErrDamaged) && !q.failed {
		q.failed, err = true, nil
	}
	return false, err
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

// add takes an event into the slice, and reports whether there is room for more.
// One that cannot be read costs no other.
func (s *stream) add(tx *store.Txn, levID uint64, v packed.View) (more bool, err error) {
	buf, err := s.line(s.buf, tx, levID, v)
	if err != nil {
		return s.lose(err)
	}
	s.buf = buf
	s.events++
	if s.meter != nil {
		s.meter.at(int64(s.events), s.events)
	}
	return len(s.buf) < sliceBytes, nil
}

// lose counts an event that cannot be read because of err, and reports whether
// the transaction can go on. Another error is returned.
func (s *stream) lose(err error) (more bool, _ error) {
	damaged := errors.Is(err, store.ErrDamaged)
	if !damaged && !errors.Is(err, store.ErrCorrupt) {
		return false, err
	}
	s.lost++
	if s.meter != nil {
		s.meter.clear()
	}
	fmt.Fprintf(s.io.err, "skipped: %v\n", err)
	return !damaged, nil
}

// flush writes what the slice has found.
func (s *stream) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	_, err := s.io.out.Write(s.buf)
	s.failed = err != nil
	s.buf = s.buf[:0]
	return err
}

// A lostError is the error of a stream that has come to its end, but for some
// events that could not be read.
type lostError struct{ lost, gaps int }

func (e lostError) Error() string {
	what := "events"
	if e.lost == 1 {
		what = "event"
	}
	if e.gaps > 0 {
		return fmt.Sprintf("%d %s, and others of %d places in an index, could not be read; see wok check", e.lost, what, e.gaps)
	}
	return fmt.Sprintf("%d %s could not be read; see wok check", e.lost, what)
}

// finish returns the error of a stream that has ended with err.
func (s *stream) finish(err error) error {
	if err == nil && s.lost+s.gaps > 0 {
		return lostError{s.lost, s.gaps}
	}
	return err
}

// printWork tells on stderr what finding the events has cost.
func (s *stream) printWork() {
	fmt.Fprintf(s.io.err, "slices %d, time %v, work %s\n", s.slices, time.Since(s.began).Round(time.Microsecond), s.work)
}
