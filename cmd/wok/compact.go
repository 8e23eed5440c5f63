package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"wok/store"
)

const compactUsage = `Write a copy of the database without its free pages: a file that is a data.mdb,
or - for stdout. The relay goes on meanwhile; the space it frees is used again
only afterwards.

With --in-place the copy takes the place of the database itself, which gives the
free space back to the file system. Nobody may have the database open then, so
the relay must be stopped; who opens it meanwhile waits. The disk needs room for
both. Until the copy is whole and on disk the database is the old one, and from
then on the new one, whenever the command is killed.

  wok compact copy.mdb
  wok compact --in-place`

// compactCmd are the flags of compact.
type compactCmd struct {
	*globals
	inPlace bool
}

func newCompact(g *globals) *cobra.Command {
	c := compactCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "compact OUTPUT|-",
		Short: "Write a copy without free pages",
		Long:  compactUsage,
		Args:  cobra.MaximumNArgs(1),
		RunE:  g.begin(c.run),
	}
	cmd.Flags().BoolVar(&c.inPlace, "in-place", false, "put the copy into the place of the database, with the relay stopped")
	return cmd
}

func (c *compactCmd) run(ctx context.Context, args []string, io stdio) error {
	switch {
	case c.inPlace && len(args) > 0:
		return usageError{errors.New("--in-place takes no output")}
	case c.inPlace:
		return c.replace(ctx, io)
	case len(args) == 0 || args[0] == "":
		return usageError{errors.New("where to? Give a file, - or --in-place")}
	case args[0] == "-":
		return c.read(io.err, func(db *store.DB) error { return c.copy(ctx, db, io.out, io.err, io.err, "stdout") })
	}
	return c.toFile(ctx, args[0], io)
}

// toFile writes the copy to a file that must not be there yet.
func (c *compactCmd) toFile(ctx context.Context, path string, std stdio) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already", path)
	}
	return c.read(std.err, func(db *store.DB) error {
		return wholeFile(path, func(w io.Writer) error { return c.copy(ctx, db, w, std.err, std.out, path) })
	})
}

// copy writes the copy, shows progress, and tells what has come out.
func (c *compactCmd) copy(ctx context.Context, db *store.DB, w, talk, tell io.Writer, name string) error {
	progress, stop := backupProgress(talk, false)
	n, err := db.Compact(ctx, w, progress)
	stop()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(tell, "%s: %s\n", name, size(n))
	return err
}

// replace puts the copy into the place of the database.
func (c *compactCmd) replace(ctx context.Context, io stdio) error {
	cfg, err := c.load(io.err)
	if err != nil {
		return err
	}
	db, err := openReadOnly(&cfg) // for what it says where there is none
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	done, err := store.CompactInPlace(ctx, storeOptions(&cfg))
	if errors.Is(err, store.ErrBusy) {
		return fmt.Errorf("%w; stop the relay, or write a copy with wok compact OUTPUT", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(io.out, "%s: %s, %s before\n", cfg.DB, size(done.After), size(done.Before))
	return err
}
