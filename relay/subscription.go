package relay

import (
	"slices"

	"wok/nostr"
	"wok/packed"
)

// A subscription is a REQ that is open. It begins in the stored phase, in which
// a scan in stored.go feeds it, and is live after that.
type subscription struct {
	conn    *conn
	id      string
	prefix  []byte          // what stands before an event: ["EVENT","id",
	filters []*nostr.Filter // nil when live: the index has them
	values  int             // in filters
	keys    [][32]byte      // of the client when it asked: what is stored is shown to them

	// Guarded by conn.mu.

	ended  bool    // closed, replaced or refused: nothing is sent any more
	live   bool    // the stored phase is over
	seen   uint64  // when live: events up to this levId have been sent or are no match
	missed uint64  // before that: the largest levId of a new event that matched
	held   []*news // before that: ephemeral events, bounded by maxHeld
	size   int     // bytes of held

	// Guarded by shard.mu.

	shares []share // what stands for its filters in the live index
	mark   uint64  // the last round of matching that it matched in
}

const (
	// maxHeld is how many ephemeral events, which are nowhere to be found
	// again, wait for the end of a stored phase.
	maxHeld      = 64
	maxHeldBytes = 256 << 10
)

func newSubscription(c *conn, id string, filters []*nostr.Filter) *subscription {
	prefix := nostr.AppendEvent(make([]byte, 0, len(id)+12), id, nil)
	return &subscription{conn: c, id: id, prefix: prefix[:len(prefix)-1], filters: filters, values: values(filters)}
}

// values returns how many values filters have, and one for each filter.
func values(filters []*nostr.Filter) int {
	n := len(filters)
	for _, f := range filters {
		n += len(f.IDs) + len(f.Authors) + len(f.Kinds)
		for i := range f.Tags {
			n += len(f.Tags[i].Values)
		}
	}
	return n
}

// match reports whether a filter of the subscription matches.
func (s *subscription) match(v packed.View) bool {
	for _, f := range s.filters {
		if f.Match(v) {
			return true
		}
	}
	return false
}

// open makes s the subscription of its id. It returns the one that it replaces,
// if any, and whether there is room for it (01-R23).
func (c *conn) open(s *subscription) (old *subscription, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old = c.subs[s.id]
	if old != nil {
		c.end(old)
	}
	limits := &c.srv.opts.Limits
	if len(c.subs) >= limits.MaxSubs || limits.MaxOpenValues > 0 && c.values+s.values > limits.MaxOpenValues {
		return old, false
	}
	c.values += s.values
	if c.subs == nil {
		c.subs = make(map[string]*subscription)
	}
	c.subs[s.id] = s
	s.ended = c.out.ended() || c.draining
	return old, true
}

// end ends a subscription: what waits for it is not sent. The caller holds c.mu
// and takes it from the live index afterwards.
func (c *conn) end(s *subscription) {
	s.ended = true
	s.held = nil
	c.out.drop(s)
	c.parked = slices.DeleteFunc(c.parked, func(j job) bool { return j.subscription() == s })
	if !s.live {
		c.srv.sched.drop(c, s)
	}
	if c.subs[s.id] == s {
		delete(c.subs, s.id)
		c.values -= s.values
	}
}

// endSubs ends what all subscriptions do, and counts. They stay in the map until
// the reader takes them from the live index. The caller holds c.mu.
func (c *conn) endSubs() {
	for _, s := range c.subs {
		s.ended = true
		s.held = nil
	}
	c.parked = nil
	c.srv.sched.dropAll(c)
}

// closeSub ends the subscription with that id, if there is one (01-R36).
func (c *conn) closeSub(id string) {
	c.mu.Lock()
	s := c.subs[id]
	if s != nil {
		c.end(s)
	}
	c.mu.Unlock()
	if s != nil {
		c.srv.live.remove(s)
	}
}

// refuse ends s and tells the client why (01-R34).
func (c *conn) refuse(s *subscription, reason *nostr.Refusal) {
	c.mu.Lock()
	if !s.ended {
		c.end(s)
		c.sendText(nil, nostr.AppendClosed(nil, s.id, reason.Error()))
	}
	c.mu.Unlock()
	c.srv.live.remove(s)
}

// isOpen reports whether something may still be sent for s.
func (c *conn) isOpen(s *subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !s.ended
}

// sendStored sends stored events in the stored phase. It reports whether more
// should follow now: not when s has ended, nor when much is waiting already.
func (c *conn) sendStored(s *subscription, p page) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.ended {
		return false
	}
	c.sendPage(s, p)
	return c.out.bytes < c.srv.marks.high
}

// sendEOSE ends the stored events.
func (c *conn) sendEOSE(s *subscription, hint nostr.Hint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.ended {
		c.sendText(s, nostr.AppendEOSE(nil, s.id, hint))
	}
}

// goLive ends the stored phase, unless an event later than seen has come that
// matches: then there is something to catch up with. The ephemeral events that
// were held follow what was stored.
func (c *conn) goLive(s *subscription, seen uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.missed > seen && !s.ended {
		return false
	}
	s.live, s.seen = true, seen
	now := c.srv.now()
	for _, n := range s.held { // none where s has ended
		if !n.view.Expired(now) {
			c.sendEvent(s, n.event)
		}
	}
	s.held, s.filters = nil, nil
	return true
}

// sendLive sends a new event that matches s, if the client may see it by now. An
// event with levId 0 is not stored. A client that has let too much pile up is
// given up (it alone). The caller holds c.mu.
func (c *conn) sendLive(s *subscription, n *news) {
	size := len(n.event.json)
	switch {
	case !c.srv.opts.Auth.allows(n.view, c.identity.keys):
	case s.ended || s.live && n.levID != 0 && n.levID <= s.seen:
	case s.live:
		if most := c.srv.opts.Limits.MaxPendingBytes; most > 0 && c.out.bytes+size > most {
			c.giveUp("too slow: events wait that have not been read")
			return
		}
		c.sendEvent(s, n.event)
	case n.levID != 0:
		s.missed = n.levID
	case len(s.held) < maxHeld && s.size+size <= maxHeldBytes:
		s.held = append(s.held, n)
		s.size += size
	}
}
