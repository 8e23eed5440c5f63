package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"wok/store"
)

const checkUsage = `Check the whole database: that each event can be read back from its JSON, stands
in every index where it belongs, and in no other, and is none that was deleted.
It goes on after a problem. Nothing is changed.

The exit code is 0 only when all is as it should be, 1 when it is not, and the
problems are listed by table and key.

A check holds one snapshot until its end, some 50,000 events a second. A relay
may run beside it; the space it frees meanwhile is used again only afterwards.`

// errUnclean is what check ends with after it has listed problems.
var errUnclean = errors.New("the database is damaged")

// checkCmd are the flags of check.
type checkCmd struct {
	*globals
	limit int
}

func newCheck(g *globals) *cobra.Command {
	c := checkCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the whole database",
		Long:  checkUsage,
		Args:  cobra.NoArgs,
		RunE:  g.begin(c.run),
	}
	cmd.Flags().IntVar(&c.limit, "limit", 100, "list up to `N` problems; all are counted")
	return cmd
}

func (c *checkCmd) run(ctx context.Context, _ []string, io stdio) error {
	return c.read(io.err, func(db *store.DB) error {
		var m *meter
		report, err := db.Check(ctx, store.CheckOptions{
			Limit: max(1, c.limit),
			Progress: func(done, total uint64) {
				if m == nil {
					m = newMeter(io.err, "events", int64(total), false)
				}
				m.at(int64(done), int(done))
			},
		})
		if m != nil {
			m.clear()
		}
		if err == nil && !report.OK() {
			err = errUnclean // also where nobody reads the list
		}
		if err == nil || !report.OK() {
			_, e := fmt.Fprint(io.out, &report)
			err = cmp.Or(err, e)
		}
		return err
	})
}
