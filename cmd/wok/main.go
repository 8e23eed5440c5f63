package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes. A signal that ended the command makes it 128 and its number, as
// shells do.
const (
	exitOK     = 0
	exitFailed = 1 // the database, a file, the network; or check found something
	exitUsage  = 2 // the command line, a filter or the configuration is wrong
)

func main() {
	// A reader that has seen enough closes the pipe. Where the signal is asked
	// for, it does not end the process, and the write fails instead. (Ignored
	// signals would be passed on to children.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := untilSignal(context.Background())
	code := execute(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// stdio is what a command reads and writes: results go to out, all talk to err.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, io stdio) int {
	var g globals
	root := newRoot(&g)
	root.SetArgs(args)
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !g.running { // cobra's own, about the command line
		err = usageError{err}
	}
	return report(io.err, cmd.CommandPath(), err)
}

// report tells what is left to tell of err and returns the exit code for it.
func report(w io.Writer, command string, err error) int {
	var sig interrupted
	var usage usageError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return exitOK
	case errors.As(err, &sig):
		return 128 + int(sig.signal)
	case errors.Is(err, errUnclean):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(w, "%s: %v\nSee '%s --help'.\n", command, err, command)
		return exitUsage
	}
	fmt.Fprintf(w, "%s: %v\n", command, err)
	return exitFailed
}

// A usageError is an error of whoever wrote the command line or the
// configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// interrupted is the cause of a context that a signal has ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "ended by a signal: " + i.signal.String() }

// untilSignal returns a context that ends with the first SIGINT or SIGTERM,
// which is then its cause. The second one ends the process at once.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(interrupted{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
