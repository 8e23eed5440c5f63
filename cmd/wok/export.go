package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"wok/index"
	"wok/nostr"
	"wok/packed"
	"wok/planner"
	"wok/store"
)

const exportUsage = `Print all stored events as JSON, one a line, in the order of created_at: oldest
first, or with --reverse newest first. Events of one second are in the order of
their ids, descending, or with --reverse ascending as relays send them; so the
one output is the other read backwards, and the same events always give the same
bytes. Events that have expired are left out.

Beside a running relay, events that come or go meanwhile may be there or not.

  wok export > backup.jsonl
  wok export --since 1735689600 --until 1767225599 | zstd > 2025.jsonl.zst`

// exportCmd are the flags of export.
type exportCmd struct {
	*globals
	since, until uint64
	reverse      bool
}

func newExport(g *globals) *cobra.Command {
	c := exportCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print all events",
		Long:  exportUsage,
		Args:  cobra.NoArgs,
		RunE:  g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.Uint64Var(&c.since, "since", 0, "only events created at `T`, in unix seconds, or later")
	fs.Uint64Var(&c.until, "until", packed.MaxCreatedAt, "only events created at `T`, in unix seconds, or earlier")
	fs.BoolVar(&c.reverse, "reverse", false, "newest first")
	fs.Lookup("since").DefValue, fs.Lookup("until").DefValue = "0", "0" // no bound: not worth a word in the help
	return cmd
}

func (c *exportCmd) run(ctx context.Context, _ []string, io stdio) error {
	all := span{c.since, c.until}
	return c.read(io.err, func(db *store.DB) error {
		s := newStream(db, io, 0)
		if c.reverse {
			return s.query(ctx, []*nostr.Filter{all.filter()})
		}
		return s.ascending(ctx, all, windowEvents)
	})
}

// A span is a span of created_at, both ends inclusive.
type span struct{ since, until uint64 }

func (s span) filter() *nostr.Filter {
	f := nostr.NewFilter()
	f.Since, f.Until = s.since, s.until
	return f
}

// windowEvents is how many events a window of an export has. Of each window one
// number an event is held at once, and of the whole export two a window.
const windowEvents = 4096

// ascending writes the events of a span, oldest first. Lists are only walked
// downwards, which costs some nanoseconds a posting. So the list of all events
// is walked once to part the span into windows of size events; then the windows
// are read from the oldest on, each turned around.
func (s *stream) ascending(ctx context.Context, all span, size int) error {
	windows, err := s.windows(ctx, all, size)
	if err != nil {
		return err
	}
	for _, w := range slices.Backward(windows) {
		if err := s.window(ctx, w); err != nil {
			return err
		}
	}
	return s.finish(nil)
}

// windows parts a span into spans of whole seconds that hold size events, or
// what more there are in the first second, newest first.
func (s *stream) windows(ctx context.Context, all span, size int) ([]span, error) {
	var windows []span
	key := index.All[index.CreatedAt].AppendKey(nil, nil, 0, nil)
	rest := all
	err := s.run(ctx, func(tx *store.Txn, _ planner.Budget) (bool, error) {
		list := tx.List(index.CreatedAt, key)
		since, more, err := windowStart(&list, rest, size)
		if err != nil {
			return false, err
		}
		windows = append(windows, span{since, rest.until})
		rest.until = since - 1 // not used where since is 0: no more comes then
		return !more, nil
	})
	return windows, err
}

// windowStart goes down a list through the newest events of a span. It returns
// the second of the last one, and whether more of the span lies before it.
func windowStart(list *store.List, in span, size int) (since uint64, more bool, err error) {
	low := index.NotBefore(in.since)
	ok, err := list.Seek(index.NotAfter(in.until))
	for range size {
		if err != nil || !ok || list.Posting().Less(low) {
			return in.since, false, err
		}
		since = list.Posting().Time()
		ok, err = list.Next()
	}
	return since, since > in.since, err
}

// window writes the events of a span, oldest first.
func (s *stream) window(ctx context.Context, w span) error {
	var found []uint64 // levIds, newest first
	return s.run(ctx, func(tx *store.Txn, _ planner.Budget) (bool, error) {
		if found == nil {
			var err error
			if found, err = s.levIDs(tx, w); err != nil {
				return false, err
			}
		}
		for len(found) > 0 && len(s.buf) < sliceBytes {
			levID := found[len(found)-1]
			found = found[:len(found)-1]
			v, ok, err := tx.Packed(levID)
			if err != nil {
				return false, err
			}
			if ok { // else it has gone since the last slice
				s.add(tx, levID, v)
			}
		}
		return len(found) == 0, nil
	})
}

// levIDs returns the events of a span, newest first.
func (s *stream) levIDs(tx *store.Txn, w span) (found []uint64, err error) {
	q, err := planner.New(tx, []*nostr.Filter{w.filter()}, planner.Options{})
	if err != nil {
		return nil, err
	}
	_, err = q.Run(tx, planner.Budget{}, func(levID uint64, _ packed.View) bool {
		found = append(found, levID)
		return true
	})
	s.lost += q.Lost()
	return found, err
}
