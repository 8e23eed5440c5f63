package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"wok/planner"
	"wok/store"
)

const explainUsage = `Print how FILTER, one filter object or an array of them, would be answered: the
lists that would be read with their exact lengths, what would be tested on what
they yield, and the other ways there are. Nothing is read but the lengths.

  wok explain '{"kinds":[1],"authors":["3bf0...459d"],"#t":["nostr"]}'`

func newExplain(g *globals) *cobra.Command {
	c := explainCmd{g}
	return &cobra.Command{
		Use:               "explain FILTER",
		Short:             "Print how a filter would be answered",
		Long:              explainUsage,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              g.begin(c.run),
	}
}

// explainCmd are the flags of explain: it has none of its own.
type explainCmd struct{ *globals }

func (c *explainCmd) run(ctx context.Context, args []string, io stdio) error {
	filters, err := parseFilters(args[0])
	if err != nil {
		return err
	}
	var text strings.Builder
	err = c.view(ctx, io.err, func(tx *store.Txn) error {
		for i, f := range filters {
			p, err := planner.Explain(tx, f, planner.Options{})
			if err != nil {
				return err
			}
			if i > 0 {
				text.WriteByte('\n')
			}
			text.WriteString(p.String())
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(io.out, &text)
	return err
}
