package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"wok/nostr"
	"wok/packed"
	"wok/store"
)

const dictUsage = `Compress stored events, each by itself, with zstd dictionaries made from events.
What is read is the same bytes before and after; a database shrinks by the part
of it that is JSON.

  wok dict train                     make a dictionary from a sample of all events
  wok dict compress                  compress what is stored with the newest one
  wok relay --set dbParams.compression=1
                                     compress new events with dictionary 1, and in
                                     the background those that are stored
  wok dict stats                     see what it came to

Kinds that have little in common do better with a dictionary of their own:

  wok dict train --filter '{"kinds":[9735]}'
  wok dict compress --filter '{"kinds":[9735]}' --dictId 2
  wok relay --set dbParams.compression='9735=2 *=1'

The pages that become free are used again by later events. The file itself gets
smaller by wok compact.`

func newDict(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dict",
		Short: "Compress stored events with dictionaries",
		Long:  dictUsage,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDictTrain(g), newDictCompress(g), newDictDecompress(g), newDictStats(g), newDictRemove(g))
	return cmd
}

// change runs fn on the database, which must exist, opened for writing.
func (g *globals) change(stderr io.Writer, fn func(*store.DB) error) (err error) {
	cfg, err := g.load(stderr)
	if err != nil {
		return err
	}
	if err := mustExist(cfg.DB); err != nil {
		return err
	}
	db, err := openOrCreate(&cfg, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return fn(db)
}

// chosen returns whether an event matches the FILTER of a flag; all do where it
// is empty.
func chosen(filter string) (func(packed.View) bool, error) {
	if filter == "" {
		return func(packed.View) bool { return true }, nil
	}
	filters, err := parseFilters(filter)
	if err != nil {
		return nil, err
	}
	return func(v packed.View) bool { return matchAny(filters, v) }, nil
}

func matchAny(filters []*nostr.Filter, v packed.View) bool {
	for _, f := range filters {
		if f.Match(v) {
			return true
		}
	}
	return false
}

// filterFlag declares --filter.
func filterFlag(cmd *cobra.Command, filter *string) {
	cmd.Flags().StringVar(filter, "filter", "", "only events that match `FILTER`, one filter or an array of them; its limit has no effect")
}

// dictionaries returns the dictionaries of the database.
func dictionaries(ctx context.Context, db *store.DB) (ds []store.Dictionary, err error) {
	err = db.View(ctx, func(tx *store.Txn) (err error) {
		ds, err = tx.Dictionaries()
		return err
	})
	return ds, err
}

// percent writes a share of a whole for a person.
func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
