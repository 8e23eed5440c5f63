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
	opts Options
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
	c := &Counter{opts: opts}
	if opts.HLL {
		c.hll = newHLL(unlimited)
	}
	readless, err := c.readless(tx)
	if err != nil {
		return nil, err
	}
	if c.q, err = newQuery(tx, unlimited, opts, readless); err != nil {
		return nil, err
	}
	c.q.unsorted = true
	if readless && len(filters) == 1 {
		r := newRun(tx, Budget{})
		c.n, c.done, err = c.q.scans[0].plan.length(tx)
		c.q.work.add(r.done())
	}
	return c, err
}

// readless reports whether a posting that matches is an event that counts:
// everybody sees all, nothing that is hidden is still there, and who the author
// is does not matter.
func (c *Counter) readless(tx *store.Txn) (bool, error) {
	if c.opts.Visible != nil || c.hll != nil {
		return false, nil
	}
	hidden, err := tx.HasHidden()
	return !hidden, err
}

// maxSummed is how many lists are measured for a count at once.
const maxSummed = maxLists / 2

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
		if open || len(q.Terms) > 1 || t.lookedUp() || t.Lists > 1 && !t.disjoint() || t.Lists > maxSummed {
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
	r := c.q.begin(tx, b)
	defer c.q.end(r)
	var err error
	if r.readless, err = c.readless(tx); err != nil {
		return false, err
	}
	for {
		h, ok, err := c.q.next(r)
		switch {
		case errors.Is(err, errPause):
			return false, nil
		case err != nil:
			return false, err
		case !ok:
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

// Lost returns how many events could not be read and were not counted.
func (c *Counter) Lost() int { return c.q.lost }

// Plans returns the plan of each filter.
func (c *Counter) Plans() []*Plan { return c.q.Plans() }
