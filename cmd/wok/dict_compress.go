package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"wok/packed"
	"wok/store"
)

const dictCompressUsage = `Compress the stored events, or those that match a filter, with one dictionary:
also those that are compressed with another. An event that would hardly get
shorter stays, or becomes, plain. Dictionary 0 is none; it pays only for long
events.

It goes in small transactions beside a running relay, and may be interrupted at
any time; what was done stays. Level 3 is some 1% smaller than 1 for twice the
time; the levels from 10 on are very slow for what they save.

  wok dict compress
  wok dict compress --filter '{"kinds":[9735]}' --dictId 2`

const dictDecompressUsage = `Make the stored events, or those that match a filter, plain again.`

// dictCompress are the flags of dict compress and decompress.
type dictCompress struct {
	*globals
	filter string
	dictID int64
	level  int
}

func newDictCompress(g *globals) *cobra.Command {
	c := dictCompress{globals: g}
	cmd := &cobra.Command{
		Use:   "compress",
		Short: "Compress stored events",
		Long:  dictCompressUsage,
		Args:  cobra.NoArgs,
		RunE:  g.begin(c.compress),
	}
	filterFlag(cmd, &c.filter)
	cmd.Flags().Int64Var(&c.dictID, "dictId", -1, "use dictionary `ID`; the newest where it is not given")
	cmd.Flags().Lookup("dictId").DefValue = "0" // not worth a word in the help
	cmd.Flags().IntVar(&c.level, "level", 3, "compress by level `N` of zstd, 1 to 22")
	return cmd
}

func newDictDecompress(g *globals) *cobra.Command {
	c := dictCompress{globals: g}
	cmd := &cobra.Command{
		Use:   "decompress",
		Short: "Make stored events plain again",
		Long:  dictDecompressUsage,
		Args:  cobra.NoArgs,
		RunE: g.begin(func(ctx context.Context, _ []string, io stdio) error {
			return c.run(ctx, io, func(*store.DB) (store.Form, error) { return store.Plain, nil })
		}),
	}
	filterFlag(cmd, &c.filter)
	return cmd
}

func (c *dictCompress) compress(ctx context.Context, _ []string, io stdio) error {
	if c.level < 1 || c.level > 22 {
		return usageError{errors.New("--level must be from 1 to 22")}
	}
	return c.run(ctx, io, func(db *store.DB) (store.Form, error) {
		ds, err := dictionaries(ctx, db)
		if err != nil {
			return 0, err
		}
		return chooseDictionary(ds, c.dictID)
	})
}

// chooseDictionary returns the form of a dictionary, of the newest one where id
// is below 0. One whose removal was cut off takes no more events.
func chooseDictionary(ds []store.Dictionary, id int64) (store.Form, error) {
	if id == 0 {
		return 0, nil
	}
	for _, d := range slices.Backward(ds) {
		switch {
		case id < 0 && !d.Retired, int64(d.ID) == id && !d.Retired:
			return store.Form(d.ID), nil
		case int64(d.ID) == id:
			return 0, fmt.Errorf("the removal of dictionary %d has begun: wok dict remove %d goes on with it", id, id)
		}
	}
	if id < 0 {
		return 0, errors.New("there is no dictionary yet; see wok dict train")
	}
	return 0, fmt.Errorf("%w: %d", store.ErrNoDictionary, id)
}

// run gives the chosen events the form that choose returns.
func (c *dictCompress) run(ctx context.Context, io stdio, choose func(*store.DB) (store.Form, error)) error {
	match, err := chosen(c.filter)
	if err != nil {
		return err
	}
	return c.change(io.err, func(db *store.DB) error {
		form, err := choose(db)
		if err != nil {
			return err
		}
		total, err := events(ctx, db)
		if err != nil {
			return err
		}
		m := newMeter(io.err, "events", int64(total), false)
		done, err := db.Compress(ctx, store.CompressOptions{
			Form:     func(v packed.View) (store.Form, bool) { return form, match(v) },
			Level:    c.level,
			Progress: func(done store.Compressed) { m.now(int64(done.Seen), int(done.Seen)) },
		})
		m.clear()
		return errors.Join(err, printCompressed(io, form, done, err != nil))
	})
}

// printCompressed says what was done.
func printCompressed(io stdio, form store.Form, done store.Compressed, cut bool) error {
	if done.Corrupt > 0 {
		fmt.Fprintf(io.err, "%d events could not be read and were left; see wok check\n", done.Corrupt)
	}
	_, err := fmt.Fprintf(io.out, "%s: %d of %d events changed", form, done.Changed, done.Seen)
	if done.Changed > 0 {
		_, err = fmt.Fprintf(io.out, ", from %s to %s, %s", size(int64(done.Before)), size(int64(done.After)), percent(done.After, done.Before))
	}
	if cut {
		fmt.Fprint(io.out, "; what was done stays, and the same command goes on with the rest")
	}
	fmt.Fprintln(io.out)
	return err
}
