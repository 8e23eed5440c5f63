package planner

import (
	"errors"

	"wok/nostr"
	"wok/store"
)

// A Counter counts the events that match any of the filters of a request
// (NIP-45), each once. Limits are ignored (45-R2). Where the request is eligible
// it gathers HyperLogLog registers as well (45-R3).
type Counter struct {
	q    *Query
	n    uint64
	hll  *hll
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
	q.unsorted = true
	c := &Counter{q: q, hll: newHLL(unlimited)}
	if free, err := c.readless(tx); err != nil || !free || len(q.scans) != 1 {
		return c, err
	}
	c.n, c.done, err = q.scans[0].plan.length(tx)
	return c, err
}

// readless reports whether a posting that matches is an event that counts:
// everybody sees all, nothing that has expired is still there, and who the
// author is does not matter.
func (c *Counter) readless(tx *store.Txn) (bool, error) {
	if c.q.opts.Visible != nil || c.hll != nil {
		return false, nil
	}
	expired, err := tx.HasExpired()
	return !expired, err
}

// maxSummed is how many lists are measured for a count at once.
const maxSummed = 4096

// length returns how many events match where that is the length of some lists,
// and whether it is. An event has one author and one kind, so lists of those are
// disjoint and their lengths add up.
func (p *Plan) length(tx *store.Txn) (uint64, bool, error) {
	if p.Empty {
		return 0, true, nil
	}
	for _, q := range p.all() {
		t, f := q.Terms[0], &q.settled
		open := !q.plain || f.Kinds != nil || f.Since != 0 || f.Until != nostr.NoUntil
		if open || len(q.Terms) > 1 || t.keys == nil || t.Lists > 1 && !t.disjoint() || t.Lists > maxSummed {
			continue
		}
		if t.Sampled {
			if err := t.measure(tx, t.Lists); err != nil {
				return 0, false, err
			}
		}
		return t.Postings, true, nil
	}
	return 0, false, nil
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
		if c.hll != nil {
			c.hll.add(h.view.Pubkey())
		}
	}
}

// Count returns what has been counted so far.
func (c *Counter) Count() nostr.Count {
	n := nostr.Count{N: c.n}
	if c.hll != nil {
		n.HLL = c.hll.registers[:]
	}
	return n
}

// Work returns what the counter has done so far.
func (c *Counter) Work() Work { return c.q.work }

// Plans returns the plan of each filter.
func (c *Counter) Plans() []*Plan { return c.q.Plans() }
