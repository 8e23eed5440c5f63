package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// A bench is what all relays are measured with.
type bench struct {
	corpus      *corpus
	toPublish   []fresh
	toFan       []fresh
	toMix       []fresh
	seconds     time.Duration // of a scenario
	connections int           // idle ones
	only        *regexp.Regexp
	log         io.Writer
}

type options struct {
	events, fresh, dir, json, only string
	seconds                        time.Duration
	connections                    int
	relays                         []relay
}

func parse(args []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.events, "events", "", "`file` of the events that relays are filled with, one a line")
	flags.StringVar(&o.fresh, "fresh", "", "`file` of the events that are published")
	flags.StringVar(&o.dir, "dir", "bench-run", "`directory` for databases and logs; databases in it are overwritten")
	flags.StringVar(&o.json, "json", "", "`file` for all figures, some of which the table leaves out")
	flags.StringVar(&o.only, "only", "", "only scenarios that match the `expression`")
	flags.DurationVar(&o.seconds, "seconds", 5*time.Second, "`duration` of a scenario, of a query half of it")
	flags.IntVar(&o.connections, "connections", 10000, "idle `connections`")
	for name, builtIn := range map[string]func(string) relay{"wok": wok, "khatru": khatru, "strfry": strfry} {
		flags.Func(name, "measure "+name+", the executable at `path`", func(path string) error {
			path, err := filepath.Abs(path)
			o.relays = append(o.relays, builtIn(path))
			return err
		})
	}
	flags.Func("url", "measure the relay that runs at a URL, `NAME=URL`", func(s string) error {
		return o.named(s, func(r *relay, url string) { r.url = url })
	})
	flags.Func("start", "measure the relay that a command starts, `NAME=COMMAND` with {db} and {port}", func(s string) error {
		return o.named(s, func(r *relay, command string) { r.start = command })
	})
	flags.Func("load", "how to fill that relay from stdin, `NAME=COMMAND` with {db}; else events are published", func(s string) error {
		return o.named(s, func(r *relay, command string) { r.load = command })
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.events == "" || o.fresh == "" || len(o.relays) == 0 {
		return o, errors.New("want --events, --fresh and a relay; see --help")
	}
	return o, nil
}

// named sets something of a relay with a name, which is a new one at first.
func (o *options) named(s string, set func(*relay, string)) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("want a name and =")
	}
	for i := range o.relays {
		if o.relays[i].name == name {
			set(&o.relays[i], value)
			return nil
		}
	}
	r := relay{name: name}
	set(&r, value)
	o.relays = append(o.relays, r)
	return nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	b, err := newBench(o, stderr)
	if err != nil {
		return err
	}
	var reports []*report
	for _, r := range o.relays {
		r.dir = filepath.Join(o.dir, r.name)
		report, err := b.measure(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		reports = append(reports, report)
	}
	printTable(stdout, reports)
	if o.json == "" {
		return nil
	}
	return writeJSON(o.json, reports)
}

func newBench(o options, log io.Writer) (*bench, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	b := &bench{seconds: o.seconds, connections: min(o.connections, maxFiles()*9/10), only: only, log: log}
	if b.corpus, err = readCorpus(o.events); err != nil {
		return nil, err
	}
	events, err := readFresh(o.fresh)
	if err != nil {
		return nil, err
	}
	n := len(events)
	b.toPublish, b.toFan, b.toMix = events[:n*3/10], events[n*3/10:n*7/10], events[n*7/10:]
	return b, nil
}
