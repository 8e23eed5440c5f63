package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"wok/internal/config"
	"wok/store"
)

// openReadOnly opens the database for reading; it must exist.
func openReadOnly(cfg *config.Config) (*store.DB, error) {
	if err := mustExist(cfg.DB); err != nil {
		return nil, err
	}
	opts := storeOptions(cfg)
	opts.ReadOnly = true
	return store.Open(opts)
}

// mustExist returns an error unless there is a database in dir.
func mustExist(dir string) error {
	switch _, err := os.Stat(filepath.Join(dir, "data.mdb")); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no database in %s (set --db or db in wok.conf)", dir)
	case err != nil:
		return fmt.Errorf("open database: %w", err)
	}
	return nil
}

// openExisting opens the database for writing; it must exist.
func openExisting(cfg *config.Config, stderr io.Writer) (*store.DB, error) {
	if err := mustExist(cfg.DB); err != nil {
		return nil, err
	}
	return openOrCreate(cfg, stderr)
}

// openOrCreate opens the database for writing. It may have to build an index
// first that an older version did not have, which it tells.
func openOrCreate(cfg *config.Config, stderr io.Writer) (*store.DB, error) {
	opts := storeOptions(cfg)
	opts.Building = func(name string, done, last uint64) {
		fmt.Fprintf(stderr, "building the new index %s: %d of %d\n", name, done, last)
	}
	db, err := store.Open(opts)
	if err == nil {
		followCompression(cfg, db)
	}
	return db, err
}

// read loads the configuration and runs fn on the database, read-only.
func (g *globals) read(stderr io.Writer, fn func(*store.DB) error) (err error) {
	cfg, err := g.load(stderr)
	if err != nil {
		return err
	}
	db, err := openReadOnly(&cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return fn(db)
}

// events returns how many events are stored.
func events(ctx context.Context, db *store.DB) (n uint64, err error) {
	err = db.View(ctx, func(tx *store.Txn) (err error) {
		n, err = tx.Events()
		return err
	})
	return n, err
}
