package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"wok/store"
)

// asideName is the file, in the directory of the database, for rows set aside.
const asideName = "set-aside.jsonl"

// repair mends what a check has found, and checks again what has become of it.
func (c *checkCmd) repair(ctx context.Context, dir string, found *store.Report, io stdio) error {
	into := dir
	if c.into != "" {
		into = c.into
	}
	path := c.aside
	if path == "" {
		path = filepath.Join(into, asideName)
	}
	if found.Counts[store.Broken] > 0 && c.into == "" {
		return fmt.Errorf("pages of the file are broken, which cannot be mended in place: " +
			"stop the relay and copy what can be read into a new database with wok check --repair --into DIR")
	}
	aside := &asideFile{path: path}
	opts := store.RepairOptions{Aside: aside.add, Verify: c.verify}
	err := c.mend(ctx, dir, opts, io)
	if err = errors.Join(err, aside.close()); aside.rows > 0 {
		fmt.Fprintf(io.err, "%d rows were set aside in %s\n", aside.rows, path)
	}
	if err != nil {
		return err
	}
	report, err := c.check(ctx, into, store.CheckOptions{Limit: max(1, c.limit)}, io)
	return c.tell(report, err, io)
}

// mend repairs the database in dir, in place or into a new one.
func (c *checkCmd) mend(ctx context.Context, dir string, opts store.RepairOptions, io stdio) error {
	progress, end := lateMeter(io.err, "events")
	defer end()
	opts.Progress = progress
	cfg, err := c.load(io.err)
	if err != nil {
		return err
	}
	storing := storeOptions(&cfg)
	if c.into != "" {
		storing.Dir = c.into
		done, err := store.Salvage(ctx, dir, storing, opts)
		fmt.Fprintf(io.err, "copied %d events into %s; %d pages of the old file are broken\n", done.Events, c.into, done.Broken)
		if done.Missing > 0 {
			fmt.Fprintf(io.err, "the old file was cut: its last %d pages are not there, and nobody knows what events stood on them\n", done.Missing)
		}
		if errors.Is(err, store.ErrBusy) {
			err = fmt.Errorf("%w: stop the relay first", err)
		}
		return err
	}
	db, err := store.Open(storing)
	if err != nil {
		return err
	}
	done, err := db.Repair(ctx, opts)
	fmt.Fprintf(io.err, "repaired: %d events mended, %d rows removed\n", done.Mended, done.Aside)
	return errors.Join(err, db.Close())
}

// An asideFile holds rows that were removed, one a line. It is made when there is
// the first one, and added to where it exists.
type asideFile struct {
	path string
	file *os.File
	rows int
}

// add writes rows, and returns when they are on the disk.
func (a *asideFile) add(rows []store.Aside) error {
	if a.file == nil {
		if err := os.MkdirAll(filepath.Dir(a.path), 0o750); err != nil {
			return err
		}
		f, err := os.OpenFile(a.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
		if err != nil {
			return fmt.Errorf("set rows aside: %w", err)
		}
		a.file = f
	}
	var text []byte
	for i := range rows {
		text = append(appendAside(text, &rows[i]), '\n')
	}
	a.rows += len(rows)
	if _, err := a.file.Write(text); err != nil {
		return fmt.Errorf("set rows aside: %w", err)
	}
	return a.file.Sync()
}

func (a *asideFile) close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}

// appendAside appends a row as an object of JSON: table, key and value in hex,
// why, and the event where it could be read, in place of the value.
func appendAside(dst []byte, row *store.Aside) []byte {
	v := struct {
		Table string          `json:"table"`
		Key   string          `json:"key"`
		Why   string          `json:"why"`
		Event json.RawMessage `json:"event,omitempty"`
		Value string          `json:"value,omitempty"`
	}{Table: row.Table, Key: hex.EncodeToString(row.Key), Why: row.Why}
	if utf8.Valid(row.JSON) && json.Valid(row.JSON) { // Valid lets any bytes pass within a string
		v.Event = row.JSON
	} else {
		v.Value = hex.EncodeToString(row.Val)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic("check: a row that is no JSON: " + err.Error())
	}
	return append(dst, b...)
}
