package main

import "testing"

// Memory is given back once after a wave, when it is over, and not for little.
func TestSettler(t *testing.T) {
	var s settler
	const mb = 1 << 20
	for i, step := range []struct {
		allocated  uint64
		goroutines int
		due        bool
	}{
		{3 * mb, 20, false},         // starting
		{3*mb + 1000, 20, false},    // not worth it
		{90 * mb, 20, false},        // a wave
		{95 * mb, 20, false},        // not over
		{95*mb + 9000, 20, true},    // over
		{95*mb + 9001, 20, true},    // stacks are halved
		{95*mb + 9002, 20, true},    // and again
		{95*mb + 10_000, 20, false}, // done
		{95*mb + 90_000, 20, false}, // a word now and then
		{99*mb + 9000, 20, false},   // some more
		{99*mb + 9001, 20, true},    // that adds up
		{99*mb + 9002, 20, true},
		{99*mb + 9003, 20, true},
		{99*mb + 9004, 900, false}, // clients
		{99*mb + 9005, 700, false}, // some leave
		{99*mb + 9006, 500, true},  // many have left
		{99*mb + 9007, 500, true},
		{99*mb + 9008, 500, true},
		{99*mb + 9009, 450, false}, // those are settled
	} {
		if got := s.due(step.allocated, step.goroutines); got != step.due {
			t.Errorf("step %d: %d bytes: due %t", i, step.allocated, got)
		}
	}
}
