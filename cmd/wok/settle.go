package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// settleInterval is how long nothing may happen before memory is given back.
const settleInterval = 2 * time.Second

// keepSettled gives memory back to the system when the process has become quiet.
// The runtime collects when the heap has doubled, which that of a quiet process
// never does: what a wave of clients left behind would stay.
func keepSettled(ctx context.Context) {
	go func() {
		tick := time.NewTicker(settleInterval)
		defer tick.Stop()
		var s settler
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if s.due(allocated()) {
				debug.FreeOSMemory()
			}
		}
	}()
}

// allocated returns the number of bytes ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A settler decides when it is time, by what has ever been allocated.
type settler struct {
	last    uint64 // when looked at before
	settled uint64 // when memory was given back
	more    int    // collections to come
}

const (
	// collections is how many it takes: each halves the stacks that were grown.
	collections = 3
	quietBytes  = 100 << 10 // a quiet process allocates less in an interval
	worthBytes  = 4 << 20   // and it is worth the work if this much came before
)

// due is told how much has been allocated at the end of an interval. It reports
// whether memory is to be given back now.
func (s *settler) due(allocated uint64) bool {
	quiet := allocated-s.last < quietBytes
	s.last = allocated
	if allocated-s.settled >= worthBytes {
		s.settled, s.more = allocated, collections
	}
	if !quiet || s.more == 0 {
		return false
	}
	s.more--
	return true
}
