package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"wok/ingest"
	"wok/internal/strfry"
	"wok/store"
)

const migrateUsage = `Bring in all events of another relay, from its database.`

const migrateStrfryUsage = `Bring in all events of strfry from the directory of its database, which is only
read, also while strfry runs: nothing of it is locked or written, and each look
at it is short. The events come in as by import: verified, unless --no-verify
takes signatures on trust (ids are always checked), and under the same rules.

In the end all events there are compared with those here, by kind, and for each
one that is not here the rule is named that keeps it out. One that is missing
without a rule is brought in then.

What was done is kept, and noted in the directory of wok's own database: started
again after a kill, the command goes on there, and after its end it brings in
what strfry has taken since. So the relay need not be down for longer than the
last run takes:

  wok migrate strfry /var/lib/strfry               while strfry runs
  systemctl stop strfry
  wok migrate strfry --no-compare /var/lib/strfry  what has come meanwhile
  wok relay

Where the database is damaged, what can be read is brought in, and the exit code
is 1.`

// migrateCmd are the flags of migrate strfry.
type migrateCmd struct {
	*globals
	noVerify     bool
	noCompare    bool
	fromStart    bool
	salvage      bool
	showRejected bool
}

func newMigrate(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring in the events of another relay",
		Long:  migrateUsage,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("say from what relay: migrate strfry DIR")}
		},
	}
	cmd.AddCommand(newMigrateStrfry(g))
	return cmd
}

func newMigrateStrfry(g *globals) *cobra.Command {
	c := migrateCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "strfry DIR",
		Short: "Bring in the events of strfry's database",
		Long:  migrateStrfryUsage,
		Args:  cobra.ExactArgs(1),
		RunE:  g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.BoolVar(&c.noVerify, "no-verify", false, "take signatures on trust; ids are still checked")
	fs.BoolVar(&c.noCompare, "no-compare", false, "do not compare both databases in the end")
	fs.BoolVar(&c.fromStart, "from-start", false, "begin with the first event, whatever was done before")
	fs.BoolVar(&c.salvage, "salvage", false, "look through the whole file where its list of tables is damaged")
	fs.BoolVar(&c.showRejected, "show-rejected", false, "print each event that is not stored, with the reason, to stderr")
	return cmd
}

func (c *migrateCmd) run(ctx context.Context, args []string, io stdio) (err error) {
	cfg, err := c.load(io.err)
	if err != nil {
		return err
	}
	src, err := c.open(args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	db, err := openOrCreate(&cfg, io.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	mark, err := openBookmark(db.Dir(), args[0])
	if err != nil {
		return err
	}
	if c.fromStart {
		mark.Next, mark.Rows = 0, 0
	}
	m := migration{
		migrateCmd: c, name: args[0], src: src, db: db, mark: mark, io: io,
		pipeline: ingest.Options{
			Rules:          importRules(&cfg),
			SkipVerify:     c.noVerify,
			QueueEvents:    2 * migrateBatch,
			QueueBytes:     queueBytes,
			MaxBatchEvents: migrateBatch,
			MaxBatchBytes:  queueBytes / 2,
		},
	}
	return m.run(ctx)
}

// open opens the database there, or what is left of it.
func (c *migrateCmd) open(path string) (*strfry.DB, error) {
	src, err := strfry.Open(path)
	switch {
	case !errors.Is(err, strfry.ErrDamaged):
		return src, err
	case c.salvage:
		return strfry.Salvage(path)
	}
	return nil, fmt.Errorf("%w (with --salvage, all events are taken that are found anywhere in the file, deleted ones too)", err)
}

// migrateBatch is how many events one transaction writes at most.
const migrateBatch = 10_000

// A migration is one run of the command.
type migration struct {
	*migrateCmd
	name     string // of the source
	src      *strfry.DB
	db       *store.DB
	mark     *bookmark
	pipeline ingest.Options
	io       stdio
}

// run brings in what is new there, then compares.
func (m *migration) run(ctx context.Context) error {
	if m.mark.Next > 0 {
		fmt.Fprintf(m.io.err, "going on after %d events, at levId %d\n", m.mark.Rows, m.mark.Next)
	}
	w := walk{migration: m, began: time.Now(), mark: m.mark}
	err := w.run(ctx)
	fmt.Fprint(m.io.out, w.summary())
	if err != nil {
		return err
	}
	if m.noCompare {
		fmt.Fprint(m.io.out, w.reasons())
		return w.verdict()
	}
	w = walk{migration: m, began: time.Now()}
	if err := w.run(ctx); err != nil {
		return fmt.Errorf("comparing: %w", err)
	}
	here, err := events(ctx, m.db)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(m.io.out, w.comparison(here)); err != nil {
		return err
	}
	return w.verdict()
}

// A walk brings the events there through a pipeline, once.
type walk struct {
	*migration
	mark  *bookmark // is moved along; nil where all events are walked
	began time.Time

	mu     sync.Mutex
	census census
	legs   []*leg // not yet settled, in their order
	stop   context.CancelCauseFunc
}

// A leg is a batch of rows on its way.
type leg struct {
	next   uint64 // where to go on once it is settled
	rows   int    // before next
	left   int    // not yet answered
	failed bool   // something could not be written: this leg is to be walked again
}

// A parcel is a row on its way.
type parcel struct {
	leg   *leg
	levID uint64
	kind  int
}

// run walks to the end. What was accepted is committed also after a signal.
func (w *walk) run(ctx context.Context) error {
	ctx, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
	total, err := w.src.Events()
	if err != nil {
		return err
	}
	from, before := uint64(0), 0
	if w.mark != nil {
		from, before = w.mark.Next, w.mark.Rows
	}
	p := ingest.New(w.db, w.pipeline)
	unit := "events"
	if w.mark == nil {
		unit = "events compared"
	}
	meter := newMeter(w.io.err, unit, int64(total), false)
	err = w.feed(ctx, p, w.src.Rows(from), func(n int) { meter.at(int64(before+n), n) })
	err = errors.Join(err, p.Close(context.WithoutCancel(ctx)))
	meter.clear()
	w.census.total = total
	return errors.Join(err, w.settled())
}

// feed submits batch after batch.
func (w *walk) feed(ctx context.Context, p *ingest.Pipeline, rows *strfry.Rows, progress func(int)) error {
	from := p.Submitter(w.settle)
	n := 0
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		b, err := rows.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		l := w.begin(b)
		parcels := make([]parcel, len(b.Rows))
		for i, row := range b.Rows {
			parcels[i] = parcel{l, row.LevID, kindOf(row.JSON)}
			err := from.Submit(ctx, ingest.Submission{
				Raw:    row.JSON,
				Source: ingest.Source{Kind: ingest.SourceImport, Info: w.name},
				Ref:    &parcels[i],
			})
			if err != nil {
				return err
			}
			n++
			progress(n)
		}
		if err := w.settled(); err != nil {
			return err
		}
	}
}

// begin notes that a batch is on its way.
func (w *walk) begin(b *strfry.Batch) *leg {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.census.lose(b.Lost)
	l := &leg{next: b.Next, left: len(b.Rows)}
	for _, row := range b.Rows {
		if row.LevID < b.Next { // the others come again
			l.rows++
		}
	}
	w.legs = append(w.legs, l)
	return l
}

// settle takes the answers to rows.
func (w *walk) settle(results []ingest.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, res := range results {
		p := res.Ref.(*parcel)
		w.census.count(p.kind, &res)
		p.leg.left--
		if res.Outcome == ingest.Failed {
			p.leg.failed = true
		}
		if errors.Is(res.Err, store.ErrNoSpace) {
			w.stop(fmt.Errorf("levId %d: %w", p.levID, res.Err))
		}
		if w.showRejected && !res.OK && w.mark != nil {
			fmt.Fprintf(w.io.err, "levId %d: %s %s\n", p.levID, res.Reason, res.ID)
		}
	}
}

// settled moves the bookmark to where all rows are settled.
func (w *walk) settled() error {
	w.mu.Lock()
	done, rows, next := 0, 0, uint64(0)
	for _, l := range w.legs {
		if l.left > 0 || l.failed {
			break
		}
		done++
		rows += l.rows
		next = l.next
	}
	w.legs = w.legs[done:]
	w.mu.Unlock()
	if w.mark == nil || done == 0 {
		return nil
	}
	return w.mark.move(next, rows)
}
