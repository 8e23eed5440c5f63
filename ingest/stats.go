package ingest

import "sync/atomic"

// Stats count what a pipeline has done since it was made.
type Stats struct {
	Outcomes     [outcomes]uint64 // answers, by Outcome
	Verified     uint64           // signatures checked
	Remembered   uint64           // signatures not checked, since the same event was lately
	Batches      uint64           // transactions committed
	BatchFails   uint64           // transactions that failed
	LargestBatch uint64           // most events in one transaction
	Panics       uint64           // contained; each is a bug
}

// counters are the Stats that count.
type counters struct {
	outcomes     [outcomes]atomic.Uint64
	verified     atomic.Uint64
	remembered   atomic.Uint64
	batches      atomic.Uint64
	batchFails   atomic.Uint64
	largestBatch atomic.Uint64 // written by the writer alone
	panics       atomic.Uint64
}

func (c *counters) committed(events int) {
	c.batches.Add(1)
	c.largestBatch.Store(max(c.largestBatch.Load(), uint64(events)))
}

// Stats returns the counts so far. Counts of one moment may differ by the
// events that are passing.
func (p *Pipeline) Stats() Stats {
	c := &p.stats
	s := Stats{
		Verified:     c.verified.Load(),
		Remembered:   c.remembered.Load(),
		Batches:      c.batches.Load(),
		BatchFails:   c.batchFails.Load(),
		LargestBatch: c.largestBatch.Load(),
		Panics:       c.panics.Load(),
	}
	for o := range s.Outcomes {
		s.Outcomes[o] = c.outcomes[o].Load()
	}
	return s
}
