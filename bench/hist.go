package main

import (
	"math/bits"
	"time"
)

// A hist counts durations in buckets 3% wide, from nanoseconds to centuries.
// It is not safe for concurrent use: each goroutine fills one, and they merge.
type hist struct {
	counts [60 * 32]uint32
	n      int
}

func (h *hist) add(d time.Duration) {
	h.counts[bucket(uint64(max(d, 0)))]++
	h.n++
}

func (h *hist) merge(other *hist) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
}

// quantile returns the duration below which the share q lies, 0 of nothing.
func (h *hist) quantile(q float64) time.Duration {
	left := int(q * float64(h.n))
	for i, n := range h.counts {
		if left -= int(n); left < 0 {
			return time.Duration(middle(i))
		}
	}
	return 0
}

// bucket numbers are the value up to 63, and then 32 to each power of two.
func bucket(v uint64) int {
	if v < 64 {
		return int(v)
	}
	e := bits.Len64(v) - 6
	return e*32 + int(v>>e)
}

// middle returns the value in the middle of a bucket.
func middle(i int) uint64 {
	if i < 64 {
		return uint64(i)
	}
	e := i/32 - 1
	return (uint64(i%32+32) << e) + 1<<e/2
}
