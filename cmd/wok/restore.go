package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"wok/store"
)

const restoreUsage = `Make a database, in the directory that --db or the configuration names, out of
backups: a full one and the increments after it, in their order. There must be
no database yet, and none appears before all has been read and verified: the
checksums of each archive, that each goes on from the one before, that the same
events and deletions come out as there were, and all that wok check looks at.

Of a directory the last full backup is taken and what follows it, of files those
that are given, and - is one archive on stdin.

The database is a new one by its identity: the next backup of it is a full one.

  wok --db restored restore /backups
  wok --db restored restore --until 3 /backups     as of archive number 3
  wok --db restored restore full.tar.zst monday.tar.zst tuesday.tar.zst
  ssh host cat wok.tar.zst | wok --db restored restore -`

// restoreCmd are the flags of restore.
type restoreCmd struct {
	*globals
	until      int
	untilLevID uint64
	noCheck    bool
}

func newRestore(g *globals) *cobra.Command {
	c := restoreCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "restore DIR|FILE...|-",
		Short: "Make a database out of backups",
		Long:  restoreUsage,
		Args:  cobra.MinimumNArgs(1),
		RunE:  g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.IntVar(&c.until, "until", 0, "stop after archive number `N` of the directory, or after the first N files")
	fs.Uint64Var(&c.untilLevID, "until-levid", 0, "stop before the first archive that goes past levId `N`")
	fs.BoolVar(&c.noCheck, "no-check", false, "do not check the result as wok check does")
	cmd.MarkFlagsMutuallyExclusive("until", "until-levid")
	return cmd
}

func (c *restoreCmd) run(ctx context.Context, args []string, io stdio) (err error) {
	cfg, err := c.load(io.err)
	if err != nil {
		return err
	}
	archives, err := c.archives(args)
	if err != nil {
		return err
	}
	opts := storeOptions(&cfg)
	r, err := store.NewRestore(opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	last, err := c.apply(ctx, r, archives, io)
	if err != nil {
		return err
	}
	if err := r.Verify(ctx); err != nil {
		return err
	}
	if !c.noCheck {
		if err := c.check(ctx, r.DB(), io); err != nil {
			return err
		}
	}
	if err := r.Place(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(io.out, "restored %s: %d events, last levId %d, as of %s\n",
		cfg.DB, last.Events, last.Last, last.Taken.Format("2006-01-02 15:04:05 MST"))
	return err
}

// archives returns the archives that the arguments name, up to --until.
func (c *restoreCmd) archives(args []string) ([]archiveFile, error) {
	if len(args) == 1 && args[0] != "-" {
		fi, err := os.Stat(args[0])
		if err != nil {
			return nil, err
		}
		if fi.IsDir() {
			return c.chain(args[0])
		}
	}
	var all []archiveFile
	for i, path := range args {
		if path == "-" && len(args) > 1 {
			return nil, usageError{errors.New("stdin holds one archive: it cannot be one of several")}
		}
		if c.until == 0 || i < c.until {
			all = append(all, archiveFile{path: path, number: i + 1})
		}
	}
	return all, nil
}

// chain returns the archives of a directory that are to be applied: the last full
// one up to the end that is asked for, and those after it up to there.
func (c *restoreCmd) chain(dir string) ([]archiveFile, error) {
	all, err := listArchives(dir)
	if err != nil {
		return nil, err
	}
	from, to := -1, 0
	for i, a := range all {
		if c.until > 0 && a.number > c.until {
			break
		}
		if c.untilLevID > 0 {
			m, err := a.manifest()
			if err != nil {
				return nil, err
			}
			if m.Last > c.untilLevID {
				break
			}
		}
		if a.full {
			from = i
		}
		to = i + 1
	}
	if from < 0 {
		return nil, fmt.Errorf("%s has no full backup to begin with", filepath.Clean(dir))
	}
	return all[from:to], nil
}

// apply applies the archives, up to --until-levid, and returns the manifest of
// the last one.
func (c *restoreCmd) apply(ctx context.Context, r *store.Restore, archives []archiveFile, std stdio) (last store.Manifest, err error) {
	for _, a := range archives {
		m, err := c.applyOne(ctx, r, a, std)
		switch {
		case errors.Is(err, store.ErrStop) && r.DB() != nil:
			return last, nil
		case errors.Is(err, store.ErrStop):
			return last, fmt.Errorf("%s goes to levId %d already", a.path, m.Last)
		case err != nil:
			return last, err
		}
		last = m
		fmt.Fprintf(std.err, "applied %s: %d events, last levId %d\n", a.path, m.Events, m.Last)
	}
	return last, nil
}

// applyOne applies an archive, or returns ErrStop where it goes too far.
func (c *restoreCmd) applyOne(ctx context.Context, r *store.Restore, a archiveFile, std stdio) (m store.Manifest, err error) {
	var progress func(done, total int64)
	stop := func() {}
	before := func(m *store.Manifest) error {
		progress, stop = backupProgress(std.err, m.Incremental)
		if c.untilLevID > 0 && m.Last > c.untilLevID {
			return store.ErrStop
		}
		return nil
	}
	apply := func(in io.Reader) (err error) {
		m, err = r.Apply(ctx, in, before, func(done, total int64) { progress(done, total) })
		return err
	}
	if a.path == "-" {
		err = readArchive(std.in, apply)
	} else {
		err = a.read(apply)
	}
	stop()
	return m, err
}

// check checks the restored database.
func (c *restoreCmd) check(ctx context.Context, db *store.DB, io stdio) error {
	progress, end := lateMeter(io.err, "events checked")
	report, err := db.Check(ctx, store.CheckOptions{Limit: 10, Progress: progress})
	end()
	if err != nil {
		return err
	}
	if !report.OK() {
		fmt.Fprint(io.err, &report)
		return errors.New("what was backed up was damaged already; with --no-check it is restored all the same")
	}
	return nil
}
