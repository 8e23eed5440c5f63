package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A bookmark says how far a migration has come. It is a file in the directory
// of wok's database. It is never ahead of what is committed, and it may well be
// behind or missing: then some events come again, and are known.
type bookmark struct {
	path string

	Source string `json:"source"` // the directory, absolute
	Inode  uint64 `json:"inode"`  // of its database: a new one is begun anew
	Next   uint64 `json:"next"`   // the levId to go on at
	Rows   int    `json:"rows"`   // events read so far
}

const bookmarkFile = "migrate-strfry.json"

// openBookmark returns the bookmark in dir for a source, at the start where
// there is none.
func openBookmark(dir, source string) (*bookmark, error) {
	m := bookmark{path: filepath.Join(dir, bookmarkFile)}
	var err error
	if m.Source, err = filepath.Abs(source); err != nil {
		return nil, err
	}
	if m.Inode, err = inode(source); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return &m, nil
	}
	if err != nil {
		return nil, err
	}
	var old bookmark
	if json.Unmarshal(text, &old) == nil && old.Source == m.Source && old.Inode == m.Inode {
		m.Next, m.Rows = old.Next, old.Rows
	}
	return &m, nil
}

// inode returns the number of the database's file, which another one at the
// same place does not have.
func inode(source string) (uint64, error) {
	info, err := os.Stat(source)
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(source, "data.mdb"))
	}
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, nil
	}
	return uint64(st.Ino), nil
}

// move moves the bookmark on by some rows, to next.
func (m *bookmark) move(next uint64, rows int) error {
	m.Next, m.Rows = max(m.Next, next), m.Rows+rows
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	beside := m.path + ".new"
	if err := os.WriteFile(beside, append(text, '\n'), 0o640); err != nil {
		return fmt.Errorf("note how far it has come: %w", err)
	}
	return os.Rename(beside, m.path)
}
