package planner

import (
	"errors"

	"wok/nostr"
	"wok/store"
)

// A Counter counts the events that match any of the filters of a request
// (NIP-45), each once. Limits are ignored (45-R2).
type Counter struct {
	q *Query
	n uint64
	// done: the answer was a length that is known.
	done bool
}

// NewCount plans a count over what is stored in the snapshot of tx.
func NewCount(tx *store.Txn, filters []*nostr.Filter, opts Options) (*Counter, error) {
	unlimited := make([]*nostr.Filter, len(filters))
	for i, f := range filters {
		g := *f
		g.Limit = nostr.NoLimit
		unlimited[i] = &g
	}
	q, err := New(tx, unlimited, opts)
	if err != nil {
		return nil, err
	}
	c := &Counter{q: q}
	q.unsorted = true
	if free, err := c.readless(tx); err != nil || !free || len(q.scans) != 1 {
		return c, err
	}
	if n, ok := q.scans[0].length(); ok {
		c.n, c.done = n, true
	}
	return c, nil
}

// readless reports whether a posting that matches is an event that counts:
// everybody sees all, and nothing that has expired is still there.
func (c *Counter) readless(tx *store.Txn) (bool, error) {
	if c.q.opts.Visible != nil {
		return false, nil
	}
	expired, err := tx.HasExpired()
	return !expired, err
}

// length returns how many events the scan will find where that is the length of
// its lists, and whether it is. An event has one author and one kind, so lists
// of those are disjoint and their lengths add up.
func (s *scan) length() (uint64, bool) {
	if s.plan.Empty {
		return 0, true
	}
	for _, p := range s.plan.all() {
		t := &p.Terms[0]
		f := &p.settled
		open := !p.plain || f.Kinds != nil || f.Since != 0 || f.Until != nostr.NoUntil
		if !open && len(p.Terms) == 1 && t.keys != nil && !t.Sampled && (t.Lists == 1 || t.disjoint()) {
			return t.Postings, true
		}
	}
	return 0, false
}

// Run goes on counting in tx until it is done or the budget is used, and
// reports whether it is done.
func (c *Counter) Run(tx *store.Txn, b Budget) (bool, error) {
	if c.done {
		return true, nil
	}
	r, err := c.q.begin(tx, b)
	if err != nil {
		return false, err
	}
	defer c.q.end(r)
	if r.readless, err = c.readless(tx); err != nil {
		return false, err
	}
	for {
		h, err := c.q.next(r)
		switch {
		case errors.Is(err, errPause):
			return false, nil
		case err != nil:
			return false, err
		case h == nil:
			c.done = true
			return true, nil
		}
		c.n++
	}
}

// Count returns the number of events counted so far.
func (c *Counter) Count() nostr.Count { return nostr.Count{N: c.n} }
