package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"wok/nostr"
	"wok/packed"
	"wok/store"
)

const exportUsage = `Write all stored events as JSON, one a line, in the order of created_at: oldest
first, or with --reverse newest first. Events of one second are in the order of
their ids, descending, or with --reverse ascending as relays send them; so the
one output is the other read backwards, and the same events always give the same
bytes. Events that have expired are left out. With --filter, one filter object or
an array of them, only what matches any of them.

They go to stdout, or else to FILE: compressed where its name ends in .zst or
.gz. FILE is written as FILE.part and gets its name when it is whole and on the
disk. One that is there already is left alone, unless --force is given, and in
place until then. After Ctrl-C what came until then is in FILE.part.

Beside a running relay, events that come or go meanwhile may be there or not.
What cannot be read is left out and told of; the exit code is 1 then.

With --fried each line has one more field, strfry's packed form of the event, by
which strfry import --fried takes it without looking further.

  wok export backup.jsonl.zst
  wok export --since 1735689600 --until 1767225599 2025.jsonl.gz
  wok export --filter '{"kinds":[0,3,10002]}' | ssh other wok import`

// exportCmd are the flags of export.
type exportCmd struct {
	*globals
	since, until uint64
	reverse      bool
	filter       string
	force        bool
	fried        bool
}

func newExport(g *globals) *cobra.Command {
	c := exportCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all events to a file",
		Long:  exportUsage,
		Args:  cobra.MaximumNArgs(1),
		RunE:  g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.Uint64Var(&c.since, "since", 0, "only events created at `T`, in unix seconds, or later")
	fs.Uint64Var(&c.until, "until", packed.MaxCreatedAt, "only events created at `T`, in unix seconds, or earlier")
	fs.BoolVar(&c.reverse, "reverse", false, "newest first")
	fs.StringVar(&c.filter, "filter", "", "only events that match `FILTER`")
	fs.BoolVar(&c.force, "force", false, "replace FILE where it exists")
	fs.BoolVar(&c.fried, "fried", false, "with strfry's packed form in each line")
	fs.Lookup("since").DefValue, fs.Lookup("until").DefValue = "0", "0" // no bound: not worth a word in the help
	return cmd
}

func (c *exportCmd) run(ctx context.Context, args []string, io stdio) error {
	filters, err := c.filters()
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "-" {
		args = nil
	}
	return c.read(io.err, func(db *store.DB) error {
		if len(args) == 0 {
			return c.write(ctx, newStream(db, io, 0), filters)
		}
		return c.toFile(ctx, db, args[0], filters, io)
	})
}

// filters returns what is asked for.
func (c *exportCmd) filters() ([]*nostr.Filter, error) {
	if c.filter == "" {
		return []*nostr.Filter{nostr.NewFilter()}, nil
	}
	filters, err := parseFilters(c.filter)
	for _, f := range filters {
		if f.Limit != nostr.NoLimit {
			return nil, usageError{errors.New("a filter of export has no limit; those of wok scan may have one")}
		}
	}
	return filters, err
}

func (c *exportCmd) write(ctx context.Context, s *stream, filters []*nostr.Filter) error {
	if c.fried {
		s.line = friedLine
	}
	return s.export(ctx, filters, span{c.since, c.until}, c.reverse, windowEvents)
}

// toFile exports into a file. Where the end is not reached, it keeps the name
// of a part; events that cannot be read do not prevent the end.
func (c *exportCmd) toFile(ctx context.Context, db *store.DB, name string, filters []*nostr.Filter, io stdio) error {
	total, err := events(ctx, db)
	if err != nil {
		return err
	}
	out, err := createOutput(name, c.force)
	if err != nil {
		return err
	}
	if c.filter != "" || c.since > 0 || c.until < packed.MaxCreatedAt {
		total = 0 // not known
	}
	s := newStream(db, stdio{out: out, err: io.err}, 0)
	s.meter = newMeter(io.err, "events", int64(total), false)
	began := time.Now()
	err = c.write(ctx, s, filters)
	s.meter.clear()
	var lost lostError
	switch {
	case err == nil || errors.As(err, &lost):
		err = cmp.Or(out.commit(), err)
	case s.failed:
		return out.discard(err)
	default:
		if e := out.keep(); e != nil {
			return e
		}
		fmt.Fprintf(io.err, "ended early: %d events are in %s\n", s.events, out.part())
		return err
	}
	if err == nil || errors.As(err, &lost) {
		fmt.Fprintf(io.err, "%d events, %s, in %s of %s, in %v\n",
			s.events, size(out.written), out.name, size(out.size()), time.Since(began).Round(time.Millisecond))
	}
	return err
}
