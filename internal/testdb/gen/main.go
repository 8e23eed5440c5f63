package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/term"

	"wok/internal/testdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer, stderr *os.File) error {
	var o testdb.Options
	flags := flag.NewFlagSet("gen", flag.ExitOnError)
	flags.IntVar(&o.Events, "n", 1000, "number of `events`")
	flags.Uint64Var(&o.Seed, "seed", 1, "other seeds give other events")
	flags.IntVar(&o.Authors, "authors", 0, "number of authors (default n/20)")
	flags.IntVar(&o.Hashtags, "hashtags", 0, "number of different hashtags (default n/40)")
	flags.Int64Var(&o.Start, "start", 0, "unix `time` of the first event (default 1700000000)")
	flags.DurationVar(&o.Span, "span", 0, "`time` from the first to the last event (default 720h)")
	flags.DurationVar(&o.Jitter, "jitter", 0, "how far events lie out of order (default 1m)")
	flags.IntVar(&o.Follows, "follows", 0, "`tags` of the longest follow lists (default 800)")
	flags.IntVar(&o.Ephemeral, "ephemeral", 0, "ephemeral events in a thousand (default none)")
	flags.BoolVar(&o.Shuffle, "shuffle", false, "in random order")
	summarise := flags.Bool("summary", false, "print a table of kinds on stderr at the end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.Events < 1 {
		return fmt.Errorf("-n %d: want 1 or more", o.Events)
	}

	var summary testdb.Summary
	out := bufio.NewWriterSize(stdout, 1<<20)
	progress := newProgress(stderr, o.Events)
	for line := range testdb.Lines(o) {
		if err := ctx.Err(); err != nil {
			break
		}
		out.Write(line) // an error stays and shows in Flush
		if err := out.WriteByte('\n'); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		if *summarise {
			summary.Add(line)
		}
		progress.step()
	}
	progress.clear()
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	if *summarise {
		fmt.Fprint(stderr, summary.String())
	}
	return ctx.Err()
}

// progress shows on a terminal how far the work is, and elsewhere nothing.
type progress struct {
	w           *os.File
	done, total int
	started     time.Time
}

func newProgress(w *os.File, total int) *progress {
	if !term.IsTerminal(int(w.Fd())) {
		w = nil
	}
	return &progress{w: w, total: total, started: time.Now()}
}

func (p *progress) step() {
	p.done++
	if p.w == nil || p.done%5000 != 0 {
		return
	}
	rate := float64(p.done) / time.Since(p.started).Seconds()
	fmt.Fprintf(p.w, "\r\x1b[K%d of %d events, %.0f/s", p.done, p.total, rate)
}

func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
