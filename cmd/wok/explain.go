package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wok/nostr"
	"wok/packed"
	"wok/planner"
	"wok/store"
)

const explainUsage = `Print how FILTER, one filter object or an array of them, would be answered: the
lists that would be read with their exact lengths, what would be tested on what
they yield, what that is expected to cost, and the other ways there are. Nothing
is read but lengths, and what is looked up by id or address.

With --analyze the filters are run, each by itself, and what was really done is
printed as well. Where a way turned out dearer than expected, the way it was
left for is shown.

  wok explain '{"kinds":[1],"authors":["3bf0...459d"],"#t":["nostr"]}'
  wok explain --analyze '{"#e":["5c83...7e36"],"kinds":[7]}'`

// explainCmd are the flags of explain.
type explainCmd struct {
	*globals
	analyze bool
	json    bool
}

func newExplain(g *globals) *cobra.Command {
	c := explainCmd{globals: g}
	cmd := &cobra.Command{
		Use:               "explain FILTER",
		Short:             "Print how a filter would be answered",
		Long:              explainUsage,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.BoolVar(&c.analyze, "analyze", false, "run the filters, and print what that took")
	fs.BoolVar(&c.json, "json", false, "print JSON, one object a filter and line")
	return cmd
}

// An explanation is a plan and, where it was run, what came of it.
type explanation struct {
	Plan *planner.Plan `json:"plan"`
	Ran  *ran          `json:"ran,omitempty"`
}

// ran says what running a plan took. The time is that of the runs alone, with
// the planning.
type ran struct {
	Events   int     `json:"events"`
	Postings uint64  `json:"postings"`
	Pages    uint64  `json:"pages"`
	Seeks    uint64  `json:"seeks"`
	Reads    uint64  `json:"reads"`
	Micros   float64 `json:"micros"`
}

func (c *explainCmd) run(ctx context.Context, args []string, io stdio) error {
	filters, err := parseFilters(args[0])
	if err != nil {
		return err
	}
	return c.read(io.err, func(db *store.DB) error {
		for i, f := range filters {
			e, text, err := c.explain(ctx, db, f)
			if err != nil {
				return err
			}
			if c.json {
				b, err := json.Marshal(e)
				if err != nil {
					return err
				}
				text = string(b) + "\n"
			} else if i > 0 {
				text = "\n" + text
			}
			if _, err := fmt.Fprint(io.out, text); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *explainCmd) explain(ctx context.Context, db *store.DB, f *nostr.Filter) (explanation, string, error) {
	if c.analyze {
		return analyze(ctx, db, f)
	}
	var e explanation
	err := db.View(ctx, func(tx *store.Txn) (err error) {
		e.Plan, err = planner.Explain(tx, f, planner.Options{})
		return err
	})
	if err != nil {
		return e, "", err
	}
	return e, e.Plan.String(), nil
}

// analyze runs a filter, in slices, and says what that took.
func analyze(ctx context.Context, db *store.DB, f *nostr.Filter) (explanation, string, error) {
	var q *planner.Query
	var r ran
	var took time.Duration
	for done := false; !done; {
		err := db.View(ctx, func(tx *store.Txn) (err error) {
			start := time.Now()
			defer func() { took += time.Since(start) }()
			if q == nil {
				if q, err = planner.New(tx, []*nostr.Filter{f}, planner.Options{}); err != nil {
					return err
				}
			}
			done, err = q.Run(tx, planner.Budget{Deadline: start.Add(sliceTime)}, func(uint64, packed.View) bool {
				r.Events++
				return true
			})
			return err
		})
		if err != nil {
			return explanation{}, "", err
		}
	}
	w := q.Work()
	r.Postings, r.Pages, r.Seeks, r.Reads = w.Postings, w.Pages, w.Seeks, w.Reads
	r.Micros = float64(took.Nanoseconds()) / 1e3
	var text strings.Builder
	text.WriteString(q.String())
	fmt.Fprintf(&text, "  ran: %d events in %.0f us: %s\n", r.Events, r.Micros, w)
	return explanation{q.Plans()[0], &r}, text.String(), nil
}
