package testdb

import (
	"math/rand/v2"
	"sort"
)

// A chooser draws an index with a chance in proportion to its weight. Sums are
// whole numbers, so that a seed means the same on every machine.
type chooser struct{ sums []uint64 }

func newChooser(weights []uint64) chooser {
	sums := make([]uint64, len(weights))
	sum := uint64(0)
	for i, w := range weights {
		sum += w
		sums[i] = sum
	}
	return chooser{sums}
}

// newZipf returns a chooser of 0..n-1 whose weights fall as 1/(i+flat): a
// Zipf curve, whose head is the flatter the larger flat is (1 or more).
func newZipf(n, flat int) chooser {
	weights := make([]uint64, n)
	for i := range weights {
		weights[i] = 1 << 40 / uint64(i+flat)
	}
	return newChooser(weights)
}

func (c chooser) pick(rng *rand.Rand) int {
	r := rng.Uint64N(c.sums[len(c.sums)-1])
	return sort.Search(len(c.sums), func(i int) bool { return c.sums[i] > r })
}

// oneIn is true once in n draws on average.
func oneIn(rng *rand.Rand, n int) bool { return rng.IntN(n) == 0 }

// between draws from lo..hi, both included.
func between(rng *rand.Rand, lo, hi int) int { return lo + rng.IntN(hi-lo+1) }

// skewed draws from lo..hi: mostly small, the mean a quarter of the way up.
func skewed(rng *rand.Rand, lo, hi int) int {
	const steps = 1 << 20
	r := rng.IntN(steps)
	r = r * r / steps * r / steps
	return lo + (hi-lo)*r/steps
}
