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
	opts  Options
	q     *Query
	tally *tally // in place of q's scan, where postings alone tell
	n     uint64
	hll   *hll
	done  bool
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
		c.n, c.done = c.measured()
	}
	return c, nil
}

// measured sets the tally, and returns the count where planning has found it.
func (c *Counter) measured() (uint64, bool) {
	p := c.q.scans[0].plan
	if c.tally = newTally(p); c.tally == nil {
		return 0, p.Empty
	}
	if t := c.tally.term; c.tally.whole && !t.Sampled {
		return t.Postings, true
	}
	return 0, false
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
	for !c.done && err == nil {
		if c.tally != nil {
			err = c.tally.run(r, &c.n)
			c.done = err == nil
		} else {
			c.done, err = c.step(r)
		}
	}
	if errors.Is(err, errPause) {
		return false, nil
	}
	return c.done, err
}

// step counts one event and reports whether it was the end.
func (c *Counter) step(r *run) (bool, error) {
	h, ok, err := c.q.next(r)
	if err != nil || !ok {
		return err == nil, err
	}
	c.n++
	if c.hll != nil {
		c.hll.add(h.view.Pubkey())
	}
	return false, nil
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
