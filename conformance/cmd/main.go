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
	"strings"
	"time"

	"wok/conformance"
)

const usage = `Plays the conversations of the conformance suite with a relay, and prints one
line for each rule of the protocol: held, broken, or not applicable. It exits
with 0 if no rule was broken, with 1 if one was, and with 2 if it could not run.

  go run ./conformance/cmd --url wss://relay.example.com
  go run ./conformance/cmd --url ws://127.0.0.1:7777 --only 01,42-R3
  go run ./conformance/cmd --wok bin/wok

It writes some hundred small events, by keys that it makes up, and reads nothing
but those.

`

// flags are what can be asked for.
type flags struct {
	url, own, wok, only, with, seed string
	list, verbose                   bool
	timeout, pace                   time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	broken, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	case broken > 0:
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (*flags, error) {
	f := &flags{}
	fs := flag.NewFlagSet("conformance", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
	}
	fs.StringVar(&f.url, "url", "", "the relay, as `URL`: ws:// or wss://")
	fs.StringVar(&f.own, "relay-url", "", "the `URL` by which the relay knows itself, where that is another")
	fs.StringVar(&f.wok, "wok", "", "start relays of this wok, one for each set of options that scripts need, in place of --url")
	fs.StringVar(&f.only, "only", "", "only these `RULES`: ids such as 01-R26, NIPs, levels such as MUST, or names of scripts, by commas")
	fs.StringVar(&f.with, "with", "", "`OPTIONS` that the relay was started with, such as pow=8,max-limit=5, by commas")
	fs.StringVar(&f.seed, "seed", "", "`WORD` that all keys follow from; without it they are new each time")
	fs.BoolVar(&f.list, "list", false, "list the rules and where their scripts are, and play nothing")
	fs.BoolVar(&f.verbose, "verbose", false, "say where each rule is, and show long lines whole")
	fs.DurationVar(&f.timeout, "timeout", 5*time.Second, "how long to wait for each answer")
	fs.DurationVar(&f.pace, "pace", 50*time.Millisecond, "rest between two conversations with --url")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if f.url == "" && fs.NArg() == 1 {
		f.url = fs.Arg(0)
	} else if fs.NArg() > 0 {
		return nil, fmt.Errorf("what is %q?", fs.Arg(0))
	}
	if !f.list && (f.url == "") == (f.wok == "") {
		return nil, errors.New("either --url or --wok; --help says more")
	}
	return f, nil
}

// run does what the arguments say, and returns how many rules were broken.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (broken int, err error) {
	f, err := parse(args, stderr)
	if err != nil {
		return 0, err
	}
	suite, err := conformance.Load()
	if err != nil {
		return 0, err
	}
	if f.list {
		suite.List(stdout)
		return 0, nil
	}
	relays, stop, err := f.relays()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	opts := conformance.Options{
		Only: words(f.only), Seed: f.seed, Timeout: f.timeout,
		Progress: func(r *conformance.Result) { r.Print(stdout, f.verbose) },
	}
	if f.url != "" {
		opts.Pace = f.pace
	}
	report, err := suite.Run(ctx, relays, opts)
	if err != nil {
		return 0, err
	}
	if len(report.Results) == 0 {
		return 0, fmt.Errorf("no rule is called %s", f.only)
	}
	report.Print(stdout)
	return report.Count(conformance.Broken), nil
}

// relays returns where relays come from, and what ends those that were started.
func (f *flags) relays() (conformance.Source, func() error, error) {
	if f.url != "" {
		return conformance.At(f.url, f.own, words(f.with)), func() error { return nil }, nil
	}
	path, err := filepath.Abs(f.wok)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, nil, err
	}
	p := conformance.NewProgram(path, dir)
	stop := func() error { return errors.Join(p.Close(), os.RemoveAll(dir)) }
	return p.Relay, stop, nil
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
