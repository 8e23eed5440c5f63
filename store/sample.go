package store

import (
	"errors"
	"slices"

	"wok/packed"
)

// A timeSample is a number of created_at, taken evenly from all events in the
// order they were stored. It tells how events lie in time, which no index
// tells without being walked.
type timeSample struct {
	last  uint64   // the LastLevID it was taken at
	times []uint64 // ascending
}

const (
	// TimeShareGrain is into how many parts TimeShare can tell time apart.
	TimeShareGrain = 512
	// A sample is taken anew when there are a quarter more events than it knew.
	sampleGrowth = 4
)

// TimeShare returns the share, from just above 0 to 1, of all stored events
// that lie between since and until, both inclusive, in unix seconds. It is
// reckoned from a sample, so it costs nothing and is wrong by some percent;
// between bounds that leave out nothing it is 1.
func (tx *Txn) TimeShare(since, until uint64) (float64, error) {
	if since == 0 && until >= packed.MaxCreatedAt {
		return 1, nil
	}
	s, err := tx.timeSample()
	if err != nil {
		return 0, err
	}
	lo, _ := slices.BinarySearch(s.times, since)
	hi, found := slices.BinarySearch(s.times, until)
	for found && hi < len(s.times) && s.times[hi] == until {
		hi++
	}
	// Half a sample for what the sample cannot see.
	return (float64(max(0, hi-lo)) + 0.5) / (float64(len(s.times)) + 0.5), nil
}

func (tx *Txn) timeSample() (*timeSample, error) {
	last, err := tx.LastLevID()
	if err != nil {
		return nil, err
	}
	if s := tx.db.sample.Load(); s != nil && s.last <= last && last <= s.last+s.last/sampleGrowth {
		return s, nil
	}
	s := &timeSample{last: last, times: make([]uint64, 0, TimeShareGrain)}
	for i := range uint64(TimeShareGrain) {
		err := tx.EachEvent(1+i*last/TimeShareGrain, func(_ uint64, v packed.View) error {
			s.times = append(s.times, v.CreatedAt())
			return ErrStop
		})
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return nil, tx.settle(s, err)
		}
	}
	return s, tx.settle(s, nil)
}

// settle makes s the sample to go by. After a damaged page it is what came before
// that, for the next transaction: this one can read nothing more.
func (tx *Txn) settle(s *timeSample, err error) error {
	if err == nil || errors.Is(err, ErrDamaged) {
		slices.Sort(s.times)
		tx.db.sample.Store(s)
	}
	return err
}
