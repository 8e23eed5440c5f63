package relay

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"wok/store"
)

// A job is a query that runs in slices. One worker at a time has it.
type job interface {
	// owner returns the connection that the job is for.
	owner() *conn
	// subscription returns what the job feeds, nil for a COUNT.
	subscription() *subscription
	// slice goes on with the query in tx until it is over, or until about the
	// deadline. After an error it is not called again.
	slice(tx *store.Txn, deadline time.Time) (outcome, error)
	// fail tells the client that the query has ended with an error.
	fail(err error)
}

// An outcome says what becomes of a job after a slice.
type outcome int

const (
	over   outcome = iota
	again          // it wants another turn
	parked         // it waits elsewhere, and will be added when it can go on
)

// A standing orders the jobs of a connection, and the connections.
type standing int

const (
	fresh   standing = iota // has not run yet: most are over in their first slice
	resumed                 // has had a turn
	standings
)

// freshInRow is how many fresh jobs run before a resumed one has a turn, when
// both wait: so that the short do not wait for the long, and the long end.
const freshInRow = 4

// A scheduler shares the workers among connections. Whose turn it is goes
// round: a connection with many queries has no more turns than one with few.
type scheduler struct {
	db    *store.DB
	slice time.Duration

	mu     sync.Mutex
	wake   sync.Cond       // of mu: there is work, or the end has come
	rings  [standings]ring // connections that have such jobs, each once
	inRow  int             // fresh jobs run since a resumed one
	closed bool
}

// turns are the jobs of a connection that want a turn.
type turns [standings]struct {
	jobs   []job
	inRing bool // the connection is, maybe with no jobs any more
}

// A ring is a queue of connections.
type ring []*conn

func newScheduler(db *store.DB, slice time.Duration) *scheduler {
	s := &scheduler{db: db, slice: slice}
	s.wake.L = &s.mu
	return s
}

// add lets jobs of c wait for their turn.
func (s *scheduler) add(c *conn, st standing, jobs ...job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	c.turns[st].jobs = append(c.turns[st].jobs, jobs...)
	s.enter(c, st)
	for range jobs {
		s.wake.Signal()
	}
}

// enter puts c at the end of a ring, unless it is there or has no jobs for it.
// The caller holds s.mu.
func (s *scheduler) enter(c *conn, st standing) {
	turns := &c.turns[st]
	switch {
	case len(turns.jobs) == 0:
		turns.jobs = nil
	case !turns.inRing:
		turns.inRing = true
		s.rings[st] = append(s.rings[st], c)
	}
}

// drop takes out the job that feeds sub, if it waits for its turn. So no more
// wait than are open, however quickly a client opens and closes. The connection
// keeps its place in the ring, which may be long.
func (s *scheduler) drop(c *conn, sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range c.turns {
		turns := &c.turns[st]
		turns.jobs = slices.DeleteFunc(turns.jobs, func(j job) bool { return j.subscription() == sub })
	}
}

// dropAll takes out what waits for c, which has ended.
func (s *scheduler) dropAll(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range c.turns {
		c.turns[st].jobs = nil
	}
}

// next waits for a job; false is the end.
func (s *scheduler) next() (job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.closed {
			return nil, false
		}
		if j, ok := s.take(); ok {
			return j, true
		}
		s.wake.Wait()
	}
}

// take takes the job whose turn it is. The caller holds s.mu.
func (s *scheduler) take() (job, bool) {
	for {
		st := s.turn()
		if len(s.rings[st]) == 0 {
			return nil, false
		}
		c := s.leave(st)
		turns := &c.turns[st]
		if len(turns.jobs) == 0 {
			continue // they were dropped
		}
		j := turns.jobs[0]
		turns.jobs[0] = nil
		turns.jobs = turns.jobs[1:]
		s.enter(c, st)
		s.inRow++
		if st == resumed {
			s.inRow = 0
		}
		return j, true
	}
}

// turn returns whose turn it is, if there is anybody. The caller holds s.mu.
func (s *scheduler) turn() standing {
	if len(s.rings[fresh]) == 0 || s.inRow >= freshInRow && len(s.rings[resumed]) > 0 {
		return resumed
	}
	return fresh
}

// leave takes the first connection out of a ring. The caller holds s.mu.
func (s *scheduler) leave(st standing) *conn {
	ring := s.rings[st]
	c := ring[0]
	ring[0] = nil
	s.rings[st] = ring[1:]
	c.turns[st].inRing = false
	return c
}

// close ends the workers. Jobs that wait are dropped.
func (s *scheduler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.rings = [standings]ring{}
	s.wake.Broadcast()
}

// work runs jobs until the scheduler is closed.
func (s *scheduler) work(ctx context.Context) {
	for {
		j, ok := s.next()
		if !ok {
			return
		}
		s.run(ctx, j)
	}
}

// run gives j a slice. A panic ends the connection it is for.
func (s *scheduler) run(ctx context.Context, j job) {
	defer func() {
		if p := recover(); p != nil {
			c := j.owner()
			c.srv.caught(p, c)
			c.shut(websocket.CloseInternalServerErr, "internal error")
		}
	}()
	o := over
	err := s.db.View(ctx, func(tx *store.Txn) (err error) {
		o, err = j.slice(tx, time.Now().Add(s.slice))
		return err
	})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		j.fail(fmt.Errorf("query: %w", err))
		return
	}
	if o == again {
		s.add(j.owner(), resumed, j)
	}
}
