package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wok/store"
)

const checkUsage = `Check the database: that every page of the file can be read, that each event can
be read back from its JSON, stands in every index where it belongs, and in no
other, and is none that was deleted. It goes on after a problem. Nothing is
changed unless --repair is given.

The exit code is 0 only when all is as it should be, 1 when it is not, and the
problems are listed by page, or by table and key.

A check holds one snapshot until its end, some 50,000 events a second. A relay
may run beside it; the space it frees meanwhile is used again only afterwards.
With --sample only events and rows chosen by chance are looked at.

--repair makes all rows of each event from its JSON again, in small transactions
beside a running relay, and checks once more. What cannot be right is removed
and set aside: in set-aside.jsonl beside the data, a row a line, as an event where
it is one. Where pages of the file are broken, stop the relay: --into DIR makes a
new database there of all that can be read, and leaves the old one as it is. A
repair that was cut off is run again.

  wok check --sample 1%
  wok check --verify
  wok check --repair
  wok check --repair --into DIR
  jq -c 'select(.event).event' DIR/set-aside.jsonl | wok --db DIR import`

// errUnclean is what check ends with after it has listed problems.
var errUnclean = errors.New("the database is damaged")

// checkCmd are the flags of check.
type checkCmd struct {
	*globals
	limit  int
	sample string
	verify bool
	mends  bool
	into   string
	aside  string
}

func newCheck(g *globals) *cobra.Command {
	c := checkCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the database",
		Long:  checkUsage,
		Args:  cobra.NoArgs,
		RunE:  g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.IntVar(&c.limit, "limit", 100, "list up to `N` problems; all are counted")
	fs.StringVar(&c.sample, "sample", "", "look at `N` events only, or at so many percent of them (1%)")
	fs.BoolVar(&c.verify, "verify", false, "verify signatures too")
	fs.BoolVar(&c.mends, "repair", false, "repair what is wrong")
	fs.StringVar(&c.into, "into", "", "repair into a new database in `DIR`; the relay must be stopped")
	fs.StringVar(&c.aside, "aside", "", "set rows aside in `FILE` (default set-aside.jsonl in the directory of the database)")
	return cmd
}

// options are the options of a check that the flags ask for.
func (c *checkCmd) options() (opts store.CheckOptions, err error) {
	opts = store.CheckOptions{Limit: max(1, c.limit), Verify: c.verify}
	switch {
	case c.mends && c.sample != "":
		return opts, usageError{errors.New("--repair looks at everything: it goes without --sample")}
	case !c.mends && (c.into != "" || c.aside != ""):
		return opts, usageError{errors.New("--into and --aside go with --repair")}
	}
	if c.sample == "" {
		return opts, nil
	}
	if text, ok := strings.CutSuffix(c.sample, "%"); ok {
		percent, err := strconv.ParseFloat(text, 64)
		if err != nil || !(percent > 0 && percent <= 100) { // NaN, too
			return opts, usageError{fmt.Errorf("--sample: %q is no part of all events", c.sample)}
		}
		if percent < 100 {
			opts.Share = percent / 100
		}
		return opts, nil
	}
	if opts.Sample, err = strconv.ParseUint(c.sample, 10, 32); err != nil || opts.Sample == 0 {
		return opts, usageError{fmt.Errorf("--sample: %q is no number of events", c.sample)}
	}
	return opts, nil
}

func (c *checkCmd) run(ctx context.Context, _ []string, io stdio) error {
	opts, err := c.options()
	if err != nil {
		return err
	}
	cfg, err := c.load(io.err)
	if err != nil {
		return err
	}
	if err := mustExist(cfg.DB); err != nil {
		return err
	}
	report, err := c.check(ctx, cfg.DB, opts, io)
	if err := c.tell(report, err, io); !c.mends || err != nil && !errors.Is(err, errUnclean) {
		return err
	} else if err == nil && c.into == "" {
		return nil
	}
	return c.repair(ctx, cfg.DB, &report, io)
}

// tell prints what a check has found.
func (c *checkCmd) tell(report store.Report, err error, io stdio) error {
	if err == nil && !report.OK() {
		err = errUnclean // also where nobody reads the list
	}
	if err == nil || !report.OK() {
		_, e := fmt.Fprint(io.out, &report)
		err = cmp.Or(err, e)
	}
	return err
}

// check checks the database in dir and shows how far it has come.
func (c *checkCmd) check(ctx context.Context, dir string, opts store.CheckOptions, io stdio) (store.Report, error) {
	progress, end := lateMeter(io.err, "events")
	defer end()
	opts.Progress = progress
	return store.CheckDir(ctx, dir, opts)
}
