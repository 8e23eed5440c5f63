package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"wok/nostr"
	"wok/packed"
	"wok/planner"
	"wok/store"
)

const scanUsage = `Print the stored events that match FILTER, one filter object or an array of
them, as JSON, one a line: newest first, ties by lowest id, each event once,
each filter up to its own limit. A filter without limit has none.

  wok scan '{"kinds":[1],"#t":["nostr"],"limit":20}'
  wok scan --count '[{"kinds":[7]},{"authors":["3bf0...459d"]}]'`

// scanCmd are the flags of scan.
type scanCmd struct {
	*globals
	count   bool
	packed  bool
	pause   int
	metrics bool
}

func newScan(g *globals) *cobra.Command {
	c := scanCmd{globals: g}
	cmd := &cobra.Command{
		Use:               "scan FILTER",
		Short:             "Print the events that match a filter",
		Long:              scanUsage,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.BoolVar(&c.count, "count", false, "print only how many match; limits are ignored, as in COUNT")
	fs.BoolVar(&c.packed, "packed", false, "print the packed form of each event, explained field by field")
	fs.IntVar(&c.pause, "pause", 0, "stop after `N` postings, and go on in a new transaction; again and again")
	fs.BoolVar(&c.metrics, "metrics", false, "print the work done to stderr")
	cmd.MarkFlagsMutuallyExclusive("count", "packed")
	return cmd
}

func (c *scanCmd) run(ctx context.Context, args []string, io stdio) error {
	if c.pause < 0 {
		return usageError{errors.New("--pause must be 0, for no pause, or more")}
	}
	filters, err := parseFilters(args[0])
	if err != nil {
		return err
	}
	return c.read(io.err, func(db *store.DB) error {
		s := newStream(db, io, c.pause)
		if c.packed {
			s.line = dumpEvent
		}
		if c.count {
			err = s.count(ctx, filters)
		} else {
			err = s.query(ctx, filters)
		}
		if c.metrics {
			s.printWork()
		}
		return err
	})
}

// dumpEvent appends the annotated bytes of an event and an empty line.
func dumpEvent(dst []byte, _ *store.Txn, levID uint64, v packed.View) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	fmt.Fprintf(b, "levId %d, %d bytes\n", levID, len(v))
	if err := packed.Dump(b, v); err != nil {
		return dst, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// count prints how many events match any of the filters.
func (s *stream) count(ctx context.Context, filters []*nostr.Filter) error {
	var c *planner.Counter
	err := s.run(ctx, func(tx *store.Txn, b planner.Budget) (bool, error) {
		if c == nil {
			var err error
			if c, err = planner.NewCount(tx, filters, planner.Options{}); err != nil {
				return false, err
			}
		}
		return c.Run(tx, b)
	})
	if err != nil {
		return err
	}
	s.lost, s.work = c.Lost(), c.Work()
	_, err = fmt.Fprintln(s.io.out, c.Count().N)
	return s.finish(err)
}
