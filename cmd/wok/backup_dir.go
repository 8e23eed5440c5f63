package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"wok/store"
)

// A backupDir is a directory of backups, locked.
type backupDir struct {
	path     string
	lock     *os.File
	archives []archiveFile // by number
}

// An archiveFile is an archive in a file.
type archiveFile struct {
	path   string
	number int  // in its directory, or in the command line; from 1
	full   bool // by its name
}

var archiveName = regexp.MustCompile(`^wok-(\d{4,9})-(full|incremental)\.tar(\.zst)?$`)

// openBackupDir makes the directory if need be, and locks it, as two backups at
// once would take the same number.
func openBackupDir(path string) (*backupDir, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, err
	}
	lock, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	d := &backupDir{path: path, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		d.close()
		return nil, fmt.Errorf("another backup to %s is at work: %w", path, err)
	}
	if d.archives, err = listArchives(path); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *backupDir) close() { d.lock.Close() }

// listArchives returns the archives in a directory, by number.
func listArchives(dir string) ([]archiveFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []archiveFile
	for _, e := range entries {
		m := archiveName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, err
		}
		all = append(all, archiveFile{filepath.Join(dir, e.Name()), n, m[2] == "full"})
	}
	slices.SortFunc(all, func(a, b archiveFile) int { return cmp.Compare(a.number, b.number) })
	for i := 1; i < len(all); i++ {
		if all[i].number == all[i-1].number {
			return nil, fmt.Errorf("%s and %s have one number", all[i-1].path, all[i].path)
		}
	}
	return all, nil
}

// next returns the number of the next archive.
func (d *backupDir) next() int {
	if len(d.archives) == 0 {
		return 1
	}
	return d.archives[len(d.archives)-1].number + 1
}

// last returns the manifest of the last archive.
func (d *backupDir) last() (*store.Manifest, error) {
	if len(d.archives) == 0 {
		return nil, fmt.Errorf("%s has no backup to go on from: take a full one first", d.path)
	}
	m, err := d.archives[len(d.archives)-1].manifest()
	return &m, err
}

// manifest reads the beginning of the archive.
func (a archiveFile) manifest() (m store.Manifest, err error) {
	err = a.read(func(r io.Reader) (err error) {
		m, err = store.ReadManifest(r)
		return err
	})
	return m, err
}

// read hands the archive to fn, and puts its name before an error.
func (a archiveFile) read(fn func(io.Reader) error) error {
	f, err := os.Open(a.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := readArchive(f, fn); err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	return nil
}

// readArchive hands an archive to fn, decompressed if it is compressed, whatever
// its name.
func readArchive(r io.Reader, fn func(io.Reader) error) error {
	return fn(&input{file: r})
}
