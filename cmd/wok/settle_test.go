package main

import "testing"

// Memory is given back once after a wave, when it is over, and not for little.
func TestSettler(t *testing.T) {
	var s settler
	const mb = 1 << 20
	for i, step := range []struct {
		allocated uint64
		due       bool
	}{
		{3 * mb, false},         // starting
		{3*mb + 1000, false},    // not worth it
		{90 * mb, false},        // a wave
		{95 * mb, false},        // not over
		{95*mb + 9000, true},    // over
		{95*mb + 9001, true},    // stacks are halved
		{95*mb + 9002, true},    // and again
		{95*mb + 10_000, false}, // done
		{95*mb + 90_000, false}, // a word now and then
		{99*mb + 9000, false},   // some more
		{99*mb + 9001, true},    // that adds up
	} {
		if got := s.due(step.allocated); got != step.due {
			t.Errorf("step %d: %d bytes: due %t", i, step.allocated, got)
		}
	}
}
