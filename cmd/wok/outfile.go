package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"wok/internal/lmdbx"
)

// partSuffix is what the name of a file ends in until the file is whole.
const partSuffix = ".part"

// An output is a file that is written, compressed as its name says: .zst, .gz,
// or else not at all. It is written beside its place and takes its place when
// it is whole and on the disk, so that under its name there is never half of it.
type output struct {
	name   string
	file   *os.File
	direct bool // name is a device or a pipe, which is written to as it is
	force  bool // a file of that name gives way

	plain   io.Writer // what is to be written comes in here
	packer  io.WriteCloser
	buffer  *bufio.Writer
	written int64 // bytes that came in
}

// createOutput begins a file, which must not be there yet unless force is set.
func createOutput(name string, force bool) (*output, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	o := &output{name: name, force: force}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory", name)
	case err == nil && !info.Mode().IsRegular():
		o.direct = true
		o.file, err = os.OpenFile(name, os.O_WRONLY, 0)
	case err == nil && !force:
		return nil, o.taken()
	case err == nil || errors.Is(err, fs.ErrNotExist):
		o.file, err = createPart(name + partSuffix)
	}
	if err != nil {
		return nil, err
	}
	return o, o.pack()
}

func (o *output) taken() error {
	return fmt.Errorf("%s is there already: name another file, or say --force", o.name)
}

// createPart opens a file for this process alone; one that a kill has left is
// begun anew.
func createPart(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || err == nil && !inPlace(f) {
		err = fmt.Errorf("another process is writing %s", name)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// inPlace reports whether f still has its name: who held the lock before may
// have given it another.
func inPlace(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(mine, named)
}

// pack puts the compression before the file.
func (o *output) pack() (err error) {
	o.buffer = bufio.NewWriterSize(o.file, 1<<20)
	o.plain = o.buffer
	switch {
	case strings.HasSuffix(o.name, ".zst"):
		// The relay beside this may need the other processors.
		o.packer, err = zstd.NewWriter(o.buffer, zstd.WithEncoderConcurrency(1))
	case strings.HasSuffix(o.name, ".gz"):
		o.packer = gzip.NewWriter(o.buffer)
	}
	if o.packer != nil {
		o.plain = o.packer
	}
	return err
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.plain.Write(b)
	o.written += int64(n)
	return n, err
}

// commit ends the file and lets it take its place.
func (o *output) commit() error {
	if err := o.end(); err != nil {
		return o.discard(err)
	}
	if o.direct {
		return nil
	}
	if _, err := os.Lstat(o.name); err == nil && !o.force {
		return o.taken() // since it was begun; the part stays
	}
	if err := os.Rename(o.part(), o.name); err != nil {
		return err
	}
	return lmdbx.SyncDir(filepath.Dir(o.name))
}

// keep ends the file where it is, as something that is sound as far as it goes.
func (o *output) keep() error {
	if err := o.end(); err != nil {
		return o.discard(err)
	}
	return nil
}

// part returns the name that the file has until it is whole.
func (o *output) part() string {
	if o.direct {
		return o.name
	}
	return o.name + partSuffix
}

// discard removes a file that could not be written, and returns err.
func (o *output) discard(err error) error {
	o.file.Close()
	if !o.direct {
		return errors.Join(err, os.Remove(o.part()))
	}
	return err
}

// end writes what is left, out to the disk.
func (o *output) end() error {
	if o.packer != nil {
		if err := o.packer.Close(); err != nil {
			return err
		}
	}
	if err := o.buffer.Flush(); err != nil {
		return err
	}
	if err := o.file.Sync(); err != nil && !o.direct { // a pipe has no disk
		return err
	}
	return o.file.Close()
}

// size returns how many bytes the file has.
func (o *output) size() int64 {
	info, err := os.Stat(o.name)
	if err != nil {
		return 0
	}
	return info.Size()
}
