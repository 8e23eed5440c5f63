package relay

import (
	"time"

	"wok/nostr"
	"wok/packed"
	"wok/planner"
	"wok/store"
)

// A scan takes a subscription through its stored phase.
//
//	stored      the query answers for the snapshot that it begins with
//	EOSE
//	catch-up    events with a levId above the snapshot that have come meanwhile
//	live        from the levId that the catch-up has reached
//
// The subscription has been in the live index from before the snapshot. Until
// it is live, an event that matches is not sent by the follower but only noted
// (subscription.missed). If nothing was noted there is nothing to catch up
// with; else the store is read from the snapshot on. Going live and noting
// exclude each other, so every event is sent once: by the query, by the
// catch-up or by the follower.
type scan struct {
	sub    *subscription
	query  *planner.Query
	stored bool   // EOSE has been sent
	seen   uint64 // then: events up to this levId are dealt with

	began  time.Time
	start  time.Time     // of this slice
	ran    time.Duration // in the slices before
	slices int
	events int

	page page // what this slice has found and not delivered yet
}

func (j *scan) owner() *conn { return j.sub.conn }

func (j *scan) subscription() *subscription { return j.sub }

func (j *scan) slice(tx *store.Txn, deadline time.Time) (outcome, error) {
	j.start = time.Now()
	defer func() { j.ran = j.running() }()
	j.slices++
	if !j.owner().isOpen(j.sub) {
		return over, nil
	}
	if !j.stored {
		if o, err := j.runQuery(tx, deadline); err != nil || !j.stored {
			return o, err
		}
	}
	return j.catchUp(tx, deadline)
}

// running returns how long the query has run, in this slice and before.
func (j *scan) running() time.Duration { return j.ran + time.Since(j.start) }

// runQuery goes on with the query. When it is done, stored is set.
func (j *scan) runQuery(tx *store.Txn, deadline time.Time) (outcome, error) {
	c := j.owner()
	var err error
	if j.query == nil {
		j.began = time.Now()
		if j.query, err = planner.New(tx, j.sub.filters, planner.Options{Visible: j.sub.viewer(), WholeSeconds: c.srv.opts.Hints}); err != nil {
			return over, err
		}
	}
	var failed error
	done, err := j.query.Run(tx, planner.Budget{Deadline: deadline}, func(levID uint64, _ packed.View) bool {
		json, ok, err := tx.JSON(levID)
		if err != nil || !ok {
			failed = c.srv.skip(levID, err)
			return failed == nil
		}
		j.events++
		return j.emit(json)
	})
	j.deliver()
	switch {
	case err != nil:
		return over, err
	case failed != nil:
		return over, failed
	case done:
		j.finish(j.query.Hint())
		return over, nil
	case c.srv.opts.Limits.allows(len(j.sub.filters), j.query.Work()):
		return c.pause(j.sub, j), nil
	case c.srv.opts.Limits.CutQueries:
		j.finish(nostr.HintNone) // nobody has looked
		return over, nil
	}
	c.srv.ranQuery(j)
	c.refuse(j.sub, tooDear)
	return over, nil
}

// emit takes an event of the answer. It reports whether more should follow now.
func (j *scan) emit(json []byte) bool {
	if j.page.frames == nil {
		j.page.frames = pageBuffers.get()
	}
	j.page.add(j.sub.prefix, json, j.owner().sock.deflate)
	return len(j.page.frames) < pageBytes || j.deliver()
}

// deliver sends the events that emit has taken. It reports whether more should
// follow now.
func (j *scan) deliver() bool {
	p := j.page
	j.page = page{}
	if p.events == 0 {
		return true
	}
	if len(p.frames) < copyBelow { // the buffer is much larger than what waits for the client
		small := p
		small.frames = append(make([]byte, 0, len(p.frames)+roomForEOSE), p.frames...)
		pageBuffers.put(p.frames)
		p = small
	}
	return j.owner().sendStored(j.sub, p)
}

// finish ends the stored phase.
func (j *scan) finish(h nostr.Hint) {
	c := j.owner()
	c.sendEOSE(j.sub, c.srv.hint(h))
	c.srv.ranQuery(j)
	j.stored, j.seen, j.query = true, j.query.Snapshot(), nil
}

// catchUp makes the subscription live, after it has sent what came since the
// snapshot.
func (j *scan) catchUp(tx *store.Txn, deadline time.Time) (outcome, error) {
	c := j.owner()
	if c.goLive(j.sub, j.seen) {
		return over, nil
	}
	whole, err := j.readOn(tx, deadline)
	if err != nil {
		return over, err
	}
	if whole && c.goLive(j.sub, j.seen) {
		return over, nil
	}
	return c.pause(j.sub, j), nil
}

// viewer returns what the client may see of the subscription's matches.
func (s *subscription) viewer() func(packed.View) bool {
	return s.conn.srv.opts.Auth.viewer(s.filters, s.keys)
}

// clockStep is how many events are read between two looks at the clock.
const clockStep = 256

// readOn sends the matching events above seen and raises it. It reports whether
// it has come to the end of the snapshot.
func (j *scan) readOn(tx *store.Txn, deadline time.Time) (bool, error) {
	c := j.owner()
	whole, n := true, 0
	keys := c.keys() // of now: the client may have authenticated while the query ran
	err := tx.EachEvent(j.seen+1, func(levID uint64, v packed.View) error {
		if n++; n%clockStep == 0 && time.Now().After(deadline) {
			whole = false
			return store.ErrStop
		}
		j.seen = levID
		if !j.sub.match(v) || !c.srv.opts.Auth.allows(v, keys) {
			return nil
		}
		if hidden, err := tx.Hidden(v); err != nil || hidden {
			return err
		}
		json, ok, err := tx.JSON(levID)
		if err != nil || !ok {
			return c.srv.skip(levID, err)
		}
		if whole = j.emit(json); !whole {
			return store.ErrStop
		}
		return nil
	})
	j.deliver()
	if err != nil || !whole {
		return false, err
	}
	last, err := tx.LastLevID()
	j.seen = max(j.seen, last)
	return true, err
}

func (j *scan) fail(err error) {
	c := j.owner()
	c.srv.log.Error("query ended", "client", c.src.Info, "filters", shapes(j.sub.filters), "error", err)
	c.refuse(j.sub, nostr.RefusalOf(err))
}

// pause returns what becomes of a job whose slice has ended: it wants another
// turn, or waits until the client has taken some of what is there for it.
func (c *conn) pause(s *subscription, j job) outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.ended:
		return over
	case c.out.bytes < c.srv.marks.high:
		return again
	}
	c.parked = append(c.parked, j)
	return parked
}

// hint returns h if hints are on.
func (s *Server) hint(h nostr.Hint) nostr.Hint {
	if !s.opts.Hints {
		return nostr.HintNone
	}
	return h
}
