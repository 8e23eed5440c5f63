package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"wok/internal/config"
	"wok/internal/lmdbx"
	"wok/store"
)

const backupUsage = `Write a backup of the database: a whole one, or with --incremental only what has
changed since the last one. The relay goes on writing; what is written is the
database as it was when the backup began.

To a directory backups go under numbered names, wok-0001-full.tar.zst and so on,
and wok restore takes them from there. A name that ends in .tar or .tar.zst is a
file, and - is stdout. In a directory all are compressed, unless --plain is given;
elsewhere the name decides.

An increment holds the events that came since, and what is needed to remove those
that have gone. It can only be restored after what it goes on from. To a file or
to stdout it needs --since-levid, the last levId of a backup, which each one tells
at its end.

While a backup is being written, pages of the database that become free cannot be
used again: it may grow by what is written to it meanwhile. So send it to
something fast; where a line is slow, write to a file and copy that.

  wok backup --compact /backups                       a full one
  wok backup --incremental /backups                   what has changed since
  wok backup - | zstd | ssh host 'cat > wok.tar.zst'
  wok backup --since-levid 20000 new.tar.zst`

// backupCmd are the flags of backup.
type backupCmd struct {
	*globals
	compact     bool
	incremental bool
	plain       bool
	since       uint64
	hasSince    bool
}

func newBackup(g *globals) *cobra.Command {
	c := backupCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "backup DIR|FILE|-",
		Short: "Write a backup, whole or incremental",
		Long:  backupUsage,
		Args:  cobra.ExactArgs(1),
	}
	fs := cmd.Flags()
	fs.BoolVar(&c.compact, "compact", false, "leave out free pages, in a full backup")
	fs.BoolVar(&c.incremental, "incremental", false, "only what has changed since the last backup in the directory")
	fs.Uint64Var(&c.since, "since-levid", 0, "only what has changed since levId `N`")
	fs.BoolVar(&c.plain, "plain", false, "do not compress, in a directory")
	cmd.MarkFlagsMutuallyExclusive("incremental", "since-levid")
	cmd.RunE = g.begin(func(ctx context.Context, args []string, io stdio) error {
		c.hasSince = fs.Changed("since-levid")
		return c.run(ctx, args, io)
	})
	return cmd
}

func (c *backupCmd) run(ctx context.Context, args []string, io stdio) error {
	cfg, err := c.load(io.err)
	if err != nil {
		return err
	}
	opts := store.BackupOptions{
		Compact:     c.compact,
		Incremental: c.incremental || c.hasSince,
		Since:       c.since,
		Wok:         buildVersion(),
	}
	if opts.Incremental && opts.Compact {
		return usageError{errors.New("an increment has no pages: --compact is for a full backup")}
	}
	switch to := args[0]; {
	case to == "":
		return usageError{errors.New("the backup has no name")}
	case c.incremental && (to == "-" || isArchiveName(to)):
		return usageError{errors.New("only a directory knows the last backup: give --since-levid")}
	case to == "-":
		return c.stdout(ctx, &cfg, opts, io)
	case isArchiveName(to):
		return c.file(ctx, &cfg, opts, to, io)
	default:
		return c.dir(ctx, &cfg, opts, to, io)
	}
}

// isArchiveName reports whether path names an archive, and not a directory.
func isArchiveName(path string) bool {
	return strings.HasSuffix(path, ".tar") || strings.HasSuffix(path, ".tar.zst")
}

// stdout writes to stdout, and what there is to tell to stderr.
func (c *backupCmd) stdout(ctx context.Context, cfg *config.Config, opts store.BackupOptions, io stdio) error {
	b, err := c.write(ctx, cfg, opts, io.out, false, io.err)
	if err != nil {
		return err
	}
	return b.tell(io.err, "stdout")
}

// file writes to a file that must not be there yet.
func (c *backupCmd) file(ctx context.Context, cfg *config.Config, opts store.BackupOptions, path string, std stdio) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already", path)
	}
	var b written
	err := wholeFile(path, func(w io.Writer) (err error) {
		b, err = c.write(ctx, cfg, opts, w, strings.HasSuffix(path, ".zst"), std.err)
		return err
	})
	if err != nil {
		return err
	}
	return b.tell(std.out, path)
}

// dir writes the next backup of a directory.
func (c *backupCmd) dir(ctx context.Context, cfg *config.Config, opts store.BackupOptions, path string, io stdio) error {
	d, err := openBackupDir(path)
	if err != nil {
		return err
	}
	defer d.close()
	kind := "full"
	if opts.Incremental {
		kind = "incremental"
	}
	if c.incremental {
		if opts.Base, err = d.last(); err != nil {
			return err
		}
		opts.Since = opts.Base.Last
	}
	name := fmt.Sprintf("wok-%04d-%s.tar", d.next(), kind)
	if !c.plain {
		name += ".zst"
	}
	return c.file(ctx, cfg, opts, filepath.Join(path, name), io)
}

// written is what has been written.
type written struct {
	store.Manifest
	bytes int64
	took  time.Duration
}

// tell says what has been written, and what the next increment can go on from.
func (b written) tell(w io.Writer, name string) error {
	what := "full"
	if b.Incremental {
		what = fmt.Sprintf("incremental since levId %d", b.Since)
	}
	_, err := fmt.Fprintf(w, "%s: %s, %d events, last levId %d, %s in %v\n",
		name, what, b.Events, b.Last, size(b.bytes), b.took.Round(time.Millisecond))
	return err
}

// write writes the archive.
func (c *backupCmd) write(ctx context.Context, cfg *config.Config, opts store.BackupOptions, to io.Writer, compressed bool, talk io.Writer) (b written, err error) {
	db, err := openIdentified(ctx, cfg, talk)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	began := time.Now()
	count := &countingWriter{w: to}
	w := io.WriteCloser(nopCloser{count})
	if compressed {
		if w, err = zstdWriter(count); err != nil {
			return b, err
		}
	}
	progress, stop := backupProgress(talk, opts.Incremental)
	opts.Progress = progress
	b.Manifest, err = db.Backup(ctx, w, opts)
	stop()
	err = cmp.Or(err, w.Close())
	b.bytes, b.took = count.n, time.Since(began)
	return b, err
}

// openIdentified opens the database for reading. One of an older version gets an
// identity first, for which it is written to.
func openIdentified(ctx context.Context, cfg *config.Config, talk io.Writer) (*store.DB, error) {
	db, err := openReadOnly(cfg)
	if err != nil {
		return nil, err
	}
	id, err := db.Identity(ctx)
	if err == nil && id != "" {
		return db, nil
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	if db, err = openOrCreate(cfg, talk); err != nil {
		return nil, err
	}
	if err := errors.Join(db.Identify(), db.Close()); err != nil {
		return nil, err
	}
	return openReadOnly(cfg)
}

// backupProgress returns what shows progress, and what ends that.
func backupProgress(talk io.Writer, incremental bool) (progress func(done, total int64), stop func()) {
	var m *meter
	progress = func(done, total int64) {
		unit, n := "MiB", int(done>>20)
		if incremental {
			unit, n = "levIds", int(done)
		}
		if m == nil {
			m = newMeter(talk, unit, total, !incremental)
		}
		m.at(done, n)
	}
	return progress, func() {
		if m != nil {
			m.clear()
		}
	}
}

// zstdWriter returns a writer that compresses on one core, since the relay is to
// have the others.
func zstdWriter(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
}

// wholeFile makes the file at path out of what write writes. It has that name
// only when it is whole and on disk: until then, and if that fails, never.
func wholeFile(path string, write func(io.Writer) error) error {
	part := path + ".part"
	err := lmdbx.WriteFile(part, nil, write)
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return lmdbx.SyncDir(filepath.Dir(path))
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
