package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"wok/nostr"
	"wok/packed"
	"wok/planner"
	"wok/store"
)

const deleteUsage = `Remove stored events: those that are older than --age, those that match --filter
(one filter object, or an array of them), or with both, those that are and do.
How many there are of each kind is printed first; with --dry-run that is all.

Deletions (kind 5) and requests to vanish (kind 62) stay, unless a filter names
their kinds or ids. What they have deleted does not come back either way.

An event that was removed may come in again, from whoever still has it. With
--tombstones it cannot, nor can older versions of it where it was replaceable;
a client that sends it is told that it was deleted. Of the kinds 5 and 62 nobody
can prevent that.

It goes in small transactions, and rests after each for as long as that took, so
that a relay beside it has its turn. After Ctrl-C, or a kill, what was removed
until then is removed: run it again, and it goes on. The file does not become
smaller; what is free in it is used again.

  wok delete --age 90d --filter '{"kinds":[1,6,7]}' --dry-run
  wok delete --filter '{"authors":["3bf0...459d"]}' --tombstones`

// deleteCmd are the flags of delete.
type deleteCmd struct {
	*globals
	age        string
	filter     string
	dryRun     bool
	tombstones bool
}

func newDelete(g *globals) *cobra.Command {
	c := deleteCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Remove events",
		Long:  deleteUsage,
		Args:  cobra.NoArgs,
		RunE:  g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.StringVar(&c.age, "age", "", "only events created that many `SECONDS` ago, or earlier; also 12h, 90d, 8w, 2y")
	fs.StringVar(&c.filter, "filter", "", "only events that match `FILTER`")
	fs.BoolVar(&c.dryRun, "dry-run", false, "only count what would be removed")
	fs.BoolVar(&c.tombstones, "tombstones", false, "keep what is removed from coming back")
	return cmd
}

func (c *deleteCmd) run(ctx context.Context, _ []string, io stdio) (err error) {
	filters, err := c.filters(time.Now())
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.read(io.err, func(db *store.DB) error {
			d := deletion{db: db, filters: filters, io: io}
			if err := d.count(ctx, "would be removed"); err != nil {
				return err
			}
			return unreadable(d.lost)
		})
	}
	cfg, err := c.load(io.err)
	if err != nil {
		return err
	}
	db, err := openExisting(&cfg, io.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	d := deletion{db: db, filters: filters, io: io, tombstones: c.tombstones}
	if err := d.count(ctx, "to be removed"); err != nil {
		return err
	}
	return d.carryOut(ctx)
}

// filters returns what is to be removed.
func (c *deleteCmd) filters(now time.Time) ([]*nostr.Filter, error) {
	if c.age == "" && c.filter == "" {
		return nil, usageError{errors.New("say which events: --age, --filter or both")}
	}
	filters := []*nostr.Filter{nostr.NewFilter()}
	if c.filter != "" {
		var err error
		if filters, err = parseFilters(c.filter); err != nil {
			return nil, err
		}
	}
	if c.age == "" {
		return filters, nil
	}
	age, err := parseUnits(c.age, timeUnits)
	if err != nil {
		return nil, usageError{fmt.Errorf("--age: %w", err)}
	}
	unix := uint64(max(0, now.Unix()))
	if age > unix {
		return nil, usageError{fmt.Errorf("--age: %s ago there was no unix time", c.age)}
	}
	return span{0, unix - age}.filters(filters), nil
}

// A deletion is one run of delete.
type deletion struct {
	db         *store.DB
	filters    []*nostr.Filter
	io         stdio
	tombstones bool
	total      uint64 // as counted
	lost       uint64 // of those that were looked at for that, unreadable
}

// spared reports whether an event is kept for what it has deleted.
func (d *deletion) spared(v packed.View) bool {
	kind := v.Kind()
	if kind != 5 && kind != 62 {
		return false
	}
	return !slices.ContainsFunc(d.filters, func(f *nostr.Filter) bool {
		return f.IDs != nil || slices.Contains(f.Kinds, kind)
	})
}

// A query goes through the events that are to be removed, slice by slice.
type query struct {
	of *deletion
	lateQuery
}

// run runs a slice and reports whether there is more.
func (q *query) run(tx *store.Txn, fn func(uint64, packed.View) bool) (more bool, err error) {
	opts := planner.Options{Visible: func(v packed.View) bool { return !q.of.spared(v) }}
	if ok, err := q.plan(tx, q.of.filters, opts); !ok {
		return true, err
	}
	done, err := q.Run(tx, planner.Budget{Deadline: time.Now().Add(sliceTime)}, fn)
	return !done, err
}

// unreadable returns an error where there are events that cannot be read.
func unreadable(n uint64) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d events cannot be read, and stay; see wok check", n)
}

// count prints how many events there are of each kind.
func (d *deletion) count(ctx context.Context, what string) error {
	kinds := map[uint16]uint64{}
	q := query{of: d}
	for more := true; more; {
		err := d.db.View(ctx, func(tx *store.Txn) (err error) {
			more, err = q.run(tx, func(_ uint64, v packed.View) bool {
				kinds[v.Kind()]++
				d.total++
				return true
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	d.lost = uint64(q.Lost())
	return d.printKinds(d.io.out, what, kinds)
}

func (d *deletion) printKinds(out io.Writer, what string, kinds map[uint16]uint64) error {
	const row = "%-16v %10v\n"
	fmt.Fprintf(out, row, "kind", what)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(out, row, kind, kinds[kind])
	}
	_, err := fmt.Fprintf(out, row, "all", d.total)
	return err // an earlier error comes again
}

// carryOut removes the events.
func (d *deletion) carryOut(ctx context.Context) error {
	began := time.Now()
	m := newMeter(d.io.err, "events", int64(d.total), false)
	q := query{of: d}
	pick := func(tx *store.Txn, n int) (levIDs []uint64, more bool, err error) {
		more, err = q.run(tx, func(levID uint64, _ packed.View) bool {
			levIDs = append(levIDs, levID)
			return len(levIDs) < n
		})
		return levIDs, more, err
	}
	sum, err := d.db.Prune(ctx, pick, store.PruneOptions{
		Tombstones: d.tombstones,
		Progress:   func(so store.Pruned) { m.now(int64(so.Events), int(so.Events)) },
	})
	m.clear()
	if err != nil && sum.Events > 0 {
		fmt.Fprintf(d.io.out, "removed %d events, and then ended early; the same command goes on\n", sum.Events)
	}
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(d.io.out, "removed %d events in %v\n", sum.Events, time.Since(began).Round(time.Millisecond)); err != nil {
		return err
	}
	return unreadable(sum.Unreadable + uint64(q.Lost()))
}
