package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"wok/packed"
	"wok/store"
)

const dictTrainUsage = `Make a dictionary from a sample of the stored events, by chance from all of them
or from those that match a filter, and keep it in the database. Its id is printed,
with what it makes of other events of the same sort. It is not used for anything
yet: see wok dict compress, and dbParams.compression.

All events are looked at to choose from, a second or so for a million. Of the
sample up to 4 MiB are used, which takes some seconds and 200 MB of memory.

  wok dict train
  wok dict train --filter '{"kinds":[1,1111]}' --dictSize 65536`

// dictTrain are the flags of dict train.
type dictTrain struct {
	*globals
	filter string
	limit  int
	size   int
}

func newDictTrain(g *globals) *cobra.Command {
	c := dictTrain{globals: g}
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Make a dictionary from stored events",
		Long:  dictTrainUsage,
		Args:  cobra.NoArgs,
		RunE:  g.begin(c.run),
	}
	filterFlag(cmd, &c.filter)
	cmd.Flags().IntVar(&c.limit, "limit", 3000, "make it from up to `N` events")
	cmd.Flags().IntVar(&c.size, "dictSize", 112640, "make it of about `N` bytes")
	return cmd
}

// maxTrained bounds --limit: more would not be used.
const maxTrained = 100_000

func (c *dictTrain) run(ctx context.Context, _ []string, io stdio) error {
	match, err := chosen(c.filter)
	if err != nil {
		return err
	}
	if c.limit < 1 || c.limit > maxTrained {
		return usageError{fmt.Errorf("--limit must be from 1 to %d", maxTrained)}
	}
	return c.change(io.err, func(db *store.DB) error {
		sample := sampler{db: db, match: match, want: c.limit + c.limit/trialPart, meter: newMeter(io.err, "events", 0, false)}
		events, err := sample.take(ctx)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return errors.New("there are no such events to make a dictionary from")
		}
		rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		trial := events[:len(events)/(trialPart+1)]
		return c.train(db, events[len(trial):], trial, io)
	})
}

// trialPart is which part of the sample, as a divisor, is not trained on, but
// taken beside it to try the dictionary.
const trialPart = 10

func (c *dictTrain) train(db *store.DB, events, trial [][]byte, io stdio) error {
	fmt.Fprintf(io.err, "making a dictionary from up to %d events\n", len(events))
	dict, err := store.TrainDictionary(events, c.size)
	if err != nil {
		return err
	}
	before, after, err := store.TryDictionary(dict, trial)
	if err != nil {
		return err
	}
	id, err := db.AddDictionary(dict)
	if err != nil {
		return err
	}
	fmt.Fprintf(io.out, "dictionary %d, %s", id, size(int64(len(dict))))
	if len(trial) > 0 {
		fmt.Fprintf(io.out, ": %d other events of %s become %s, %s", len(trial), size(int64(before)), size(int64(after)), percent(after, before))
	}
	_, err = fmt.Fprintln(io.out)
	return err
}

// A sampler takes events by chance.
type sampler struct {
	db    *store.DB
	match func(packed.View) bool
	want  int
	meter *meter
}

// sampleStep is how many events are looked at on one snapshot.
const sampleStep = 20_000

// take returns the JSON of up to s.want events, each of which had the same
// chance.
func (s *sampler) take(ctx context.Context) ([][]byte, error) {
	defer s.meter.clear()
	var taken []uint64 // levIds
	matched, looked := 0, 0
	for next, more := uint64(0), true; more; {
		more = false
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		step := 0
		err := s.db.View(ctx, func(tx *store.Txn) error {
			return tx.EachEvent(next, func(levID uint64, v packed.View) error {
				next = levID
				if more = step == sampleStep; more {
					return store.ErrStop
				}
				step++
				looked++
				s.meter.at(int64(looked), looked)
				if !s.match(v) {
					return nil
				}
				matched++
				if len(taken) < s.want {
					taken = append(taken, levID)
				} else if i := rand.IntN(matched); i < s.want {
					taken[i] = levID
				}
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return s.read(ctx, taken)
}

// read returns the JSON of events, without those that have gone or are damaged.
func (s *sampler) read(ctx context.Context, levIDs []uint64) (events [][]byte, err error) {
	err = s.db.View(ctx, func(tx *store.Txn) error {
		for _, levID := range levIDs {
			json, ok, err := tx.JSON(levID)
			if err != nil && !errors.Is(err, store.ErrCorrupt) {
				return err
			}
			if ok {
				events = append(events, bytes.Clone(json))
			}
		}
		return nil
	})
	return events, err
}
