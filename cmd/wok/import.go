package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wok/ingest"
	"wok/internal/strfry"
	"wok/nostr"
	"wok/store"
)

const importUsage = `Read events from the FILEs, or else from stdin, as JSON, one a line, and store
them as a relay would: verified, each once, the newest version of what is
replaceable, nothing that its author has deleted. The events.reject... keys are
for clients and do not apply: events of any date may be imported. Ephemeral
events are read and not stored. The database is made where there is none.

Files, and stdin, that are compressed with zstd or gzip are decompressed; their
first bytes tell, not their names. One that was cut or damaged is an error, and
what came before that is stored.

An export of strfry's with packed events in it is read with or without --fried;
with it, a line whose packed event is not that of the line is rejected. Nothing
is taken from the packed event.

A bad line costs only itself. The summary at the end says how many there were,
why, and in which lines. The exit code is 0 when all input was read, also if
lines were rejected; 1 when a file could not be read or an event not be written;
2 for a mistake in the command line; 130 after Ctrl-C, which commits what has
been read, and prints the summary too.

  wok import < events.jsonl
  wok import --show-rejected 2023.jsonl 2024.jsonl
  wok import --no-verify backup.jsonl.zst`

// importCmd are the flags of import.
type importCmd struct {
	*globals
	showRejected bool
	noVerify     bool
	writeBatch   int
	debounce     int
	fried        bool
}

func newImport(g *globals) *cobra.Command {
	c := importCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "import [FILE...]",
		Short: "Bring events in",
		Long:  importUsage,
		RunE:  g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.BoolVar(&c.showRejected, "show-rejected", false, "print each line that is not stored, with the reason, to stderr")
	fs.BoolVar(&c.noVerify, "no-verify", false, "take signatures on trust; ids are still checked")
	fs.IntVar(&c.writeBatch, "write-batch", 10000, "write up to `N` events in one transaction")
	fs.IntVar(&c.debounce, "debounce-millis", 0, "no effect: `N` is taken for the sake of strfry's scripts")
	fs.BoolVar(&c.fried, "fried", false, "check strfry's packed form in each line")
	return cmd
}

func (c *importCmd) run(ctx context.Context, args []string, io stdio) (err error) {
	if c.writeBatch < 1 || c.writeBatch > maxWriteBatch {
		return usageError{fmt.Errorf("--write-batch must be from 1 to %d", maxWriteBatch)}
	}
	if c.debounce != 0 {
		fmt.Fprintln(io.err, "note: --debounce-millis has no effect: events are written as soon as they are verified")
	}
	cfg, err := c.load(io.err)
	if err != nil {
		return err
	}
	inputs, err := openInputs(args, io.in)
	if err != nil {
		return err
	}
	defer inputs.close()
	db, err := openOrCreate(&cfg, io.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return c.importAll(ctx, db, importRules(&cfg), inputs, io)
}

// maxWriteBatch bounds a transaction, whose pages are in memory until it ends.
const maxWriteBatch = 100_000

// queueBytes is how much of the input an import holds at once: one batch while
// it is written, and the next.
const queueBytes = 64 << 20

// importAll brings all inputs in and prints the summary, whatever happens.
func (c *importCmd) importAll(ctx context.Context, db *store.DB, rules ingest.Rules, inputs inputs, io stdio) error {
	sum := tally{began: time.Now(), several: len(inputs) > 1}
	before, err := events(ctx, db)
	if err != nil {
		return err
	}
	err = c.feed(ctx, db, rules, inputs, &sum, io)
	after, e := events(context.WithoutCancel(ctx), db)
	err = cmp.Or(err, e)
	sum.missing(before, after)
	if failed := sum.Outcomes[ingest.Failed]; err == nil && failed > 0 {
		err = fmt.Errorf("%d events could not be written", failed)
	}
	_, e = fmt.Fprint(io.out, &sum)
	return cmp.Or(err, e) // a reader of the summary that has left hides no failure
}

// feed runs all inputs through a pipeline into db. What was accepted is
// committed also after a signal.
func (c *importCmd) feed(ctx context.Context, db *store.DB, rules ingest.Rules, inputs inputs, sum *tally, io stdio) error {
	p := ingest.New(db, ingest.Options{
		Rules:          rules,
		SkipVerify:     c.noVerify,
		QueueEvents:    max(4096, 2*c.writeBatch),
		QueueBytes:     queueBytes,
		MaxBatchEvents: c.writeBatch,
		MaxBatchBytes:  queueBytes / 2,
		Inspect:        c.inspect(),
	})
	meter := newMeter(io.err, "events", inputs.size(), true)
	defer meter.clear()
	var err error
	for _, in := range inputs {
		if err = c.importOne(ctx, p, in, sum, meter, io); err != nil {
			break
		}
	}
	return errors.Join(err, p.Close(context.WithoutCancel(ctx)))
}

// importOne brings one input in and adds it to the summary.
func (c *importCmd) importOne(ctx context.Context, p *ingest.Pipeline, in *input, sum *tally, m *meter, io stdio) error {
	opts := ingest.ImportOptions{
		Source: ingest.Source{Kind: ingest.SourceImport, Info: in.name},
		Progress: func(_ int64, lines int) {
			m.at(sum.raw+in.raw.Load(), sum.Lines+lines)
		},
	}
	if c.showRejected {
		opts.Rejected = func(line int, _ []byte, res ingest.Result) {
			m.clear()
			fmt.Fprintln(io.err, strings.TrimSpace(fmt.Sprintf("%s:%d: %s %s", in.name, line, res.Reason, res.ID)))
		}
	}
	s, err := ingest.Import(ctx, in, p, opts)
	sum.add(in.name, s)
	sum.raw += in.raw.Load()
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	return nil
}

// inspect returns what else is asked about each line.
func (c *importCmd) inspect() func([]byte, *nostr.Event) error {
	if c.fried {
		return strfry.CheckFried
	}
	return nil
}
