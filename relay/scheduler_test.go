package relay

import (
	"context"
	"strings"
	"testing"
	"time"

	"wok/store"
)

// named is a job that is only asked for its name.
type named struct {
	c    *conn
	name string
}

func (j named) owner() *conn                                 { return j.c }
func (j named) subscription() *subscription                  { return nil }
func (j named) slice(*store.Txn, time.Time) (outcome, error) { return over, nil }
func (j named) fail(error)                                   {}

// TestTurns checks whose turn it is: each word adds a job of the connection that
// its first letter names, fresh or (in capitals) resumed.
func TestTurns(t *testing.T) {
	for _, tt := range []struct{ name, add, want string }{
		{"one connection, in order", "a1 a2 a3", "a1 a2 a3"},
		{"many jobs are no more turns", "a1 a2 a3 b1 c1 c2", "a1 b1 c1 a2 c2 a3"},
		{"short ones first", "A1 B1 a2 b2", "a2 b2 A1 B1"},
		{"but not for ever", "A1 b1 b2 b3 b4 b5 b6", "b1 b2 b3 b4 A1 b5 b6"},
		{"fairness among the long", "A1 A2 B1 A3 B2", "A1 B1 A2 B2 A3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScheduler(nil, 0)
			conns := map[string]*conn{"a": {}, "b": {}, "c": {}}
			for word := range strings.FieldsSeq(tt.add) {
				st := fresh
				if word[0] < 'a' {
					st = resumed
				}
				c := conns[strings.ToLower(word[:1])]
				s.add(c, st, named{c, word})
			}
			if got := namesOf(s); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			for _, c := range conns {
				if c.turns[fresh].jobs != nil || c.turns[resumed].jobs != nil {
					t.Error("a connection keeps memory of its jobs")
				}
			}
		})
	}
}

// namesOf takes all jobs.
func namesOf(s *scheduler) string {
	var names []string
	for j, ok := s.take(); ok; j, ok = s.take() {
		names = append(names, j.(named).name)
	}
	return strings.Join(names, " ")
}

// A connection whose job was dropped has the turns that it would have had, each
// once, and has lost none of those of others.
func TestTurnsAfterDrop(t *testing.T) {
	s := newScheduler(nil, 0)
	a, b := &conn{}, &conn{}
	gone := &subscription{conn: a}
	for range 3 {
		s.add(a, fresh, &scan{sub: gone})
		s.drop(a, gone)
	}
	s.add(b, fresh, named{b, "b1"}, named{b, "b2"})
	s.add(a, resumed, &scan{sub: gone}, named{a, "A1"})
	s.drop(a, gone)
	s.add(a, fresh, named{a, "a1"}, named{a, "a2"})
	if got, want := namesOf(s), "a1 b1 a2 b2 A1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What waits for its turn goes with its connection, also where many come, ask and
// leave while workers are busy.
func TestLeftWhileWaiting(t *testing.T) {
	s := &Server{sched: newScheduler(nil, 0)}
	c := &conn{srv: s}
	s.sched.add(c, fresh, &scan{sub: newSubscription(c, "a", nil)}, &tally{conn: c})
	c.endSubs()
	if j, ok := s.sched.take(); ok {
		t.Errorf("%T waits for nobody", j)
	}
}

// A query that has paused goes on although what it waited for was dropped, and
// not sent.
func TestParkedGoesOnAfterClose(t *testing.T) {
	s := &Server{marks: marks{high: 1000, low: 250, read: 2000}, sched: newScheduler(nil, 0)}
	c := &conn{srv: s, subs: map[string]*subscription{}}
	c.changed.L = &c.mu
	flood, rare := newSubscription(c, "flood", nil), newSubscription(c, "rare", nil)
	c.out.writing = true // and is sending
	c.out.push(parcel{sub: flood, frames: make([]byte, 1000)})
	if o := c.pause(rare, &scan{sub: rare}); o != parked {
		t.Fatalf("outcome %d, want parked", o)
	}
	c.mu.Lock()
	c.end(flood)
	c.mu.Unlock()
	c.nextParcels(nil, nil)
	if _, ok := s.sched.take(); !ok {
		t.Error("the query waits for ever")
	}
}

// TestReplacedWhileWaiting has requests replaced that have had no turn yet: no
// more of them are kept than are open.
func TestReplacedWhileWaiting(t *testing.T) {
	r := startRelayOn(t, store.Options{Readers: 1})
	c := r.dial()
	held, release := make(chan struct{}), make(chan struct{})
	go r.db.View(context.Background(), func(*store.Txn) error {
		close(held)
		<-release
		return nil
	})
	<-held
	const times = 1000
	for i := range times {
		c.send(`["REQ","a",{"kinds":[%d]}]`, i)
		c.send(`["REQ","b%d",{}]`, i)
		c.send(`["CLOSE","b%d"]`, i)
	}
	conn := r.conn()
	until(t, "all are read", func() bool { return r.Metrics().FromClients["CLOSE"] == times })
	r.sched.mu.Lock()
	n := len(conn.turns[fresh].jobs) + len(conn.turns[resumed].jobs)
	r.sched.mu.Unlock()
	if n > 1 {
		t.Errorf("%d queries wait, of which 1 is open", n)
	}
	close(release)
	for m := ""; m != `["EOSE","a"]`; m = c.recv() {
	}
	c.quiet()
}
