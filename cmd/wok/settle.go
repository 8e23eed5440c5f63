package main

import (
	"context"
	"runtime"
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
			if s.due(allocated(), runtime.NumGoroutine()) {
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

// A settler decides when it is time, by what has ever been allocated, and by the
// goroutines that have ended: clients who leave allocate nothing and leave much.
type settler struct {
	last    uint64 // when looked at before
	settled uint64 // when memory was given back
	most    int    // goroutines at a time since then
	more    int    // collections to come
}

const (
	// collections is how many it takes: each halves the stacks that were grown.
	collections = 3
	quietBytes  = 100 << 10 // a quiet process allocates less in an interval
	worthBytes  = 4 << 20   // and it is worth the work if this much came before
	worthEnded  = 400       // or so many went, with some 10 KiB each
)

// due is told at the end of an interval how much has been allocated, and how many
// goroutines there are. It reports whether memory is to be given back now.
func (s *settler) due(allocated uint64, goroutines int) bool {
	quiet := allocated-s.last < quietBytes
	s.last = allocated
	s.most = max(s.most, goroutines)
	if allocated-s.settled >= worthBytes || s.most-goroutines >= worthEnded {
		s.settled, s.most, s.more = allocated, goroutines, collections
	}
	if !quiet || s.more == 0 {
		return false
	}
	s.more--
	return true
}
