package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestQuantile: buckets are at most 3% wide, so nothing is further off than that.
func TestQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var a, b hist
	var all []time.Duration
	for i := range 5001 {
		d := time.Duration(rng.ExpFloat64() * float64(time.Millisecond))
		all = append(all, d)
		if i%2 == 0 {
			a.add(d)
		} else {
			b.add(d)
		}
	}
	a.merge(&b)
	slices.Sort(all)
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999} {
		got, want := a.quantile(q), all[int(q*float64(len(all)))]
		if off := got - want; max(off, -off) > want*3/100+1 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	last := 0
	for _, v := range []uint64{0, 1, 31, 63, 64, 65, 66, 127, 128, 1000, 1 << 40, 1<<63 - 1} {
		b := bucket(v)
		if b < last || b >= len(hist{}.counts) {
			t.Errorf("bucket of %d is %d, after %d", v, b, last)
		}
		if bucket(middle(b)) != b {
			t.Errorf("the middle of bucket %d, %d, is in bucket %d", b, middle(b), bucket(middle(b)))
		}
		last = b
	}
	if (&hist{}).quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
}
