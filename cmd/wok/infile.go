package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is how much of a zstd stream may have to be held at once. The zstd
// program takes no more either unless it is told to.
const maxWindow = 128 << 20

// An input is a file that is read, or stdin, decompressed where its first bytes
// say that it is compressed; its name is not asked. It is opened by the first
// Read, since stdin may have nothing to say before that.
type input struct {
	name string
	file io.Reader

	raw    atomic.Int64 // bytes of the file read so far
	plain  io.Reader    // what the file holds; nil before the first Read
	format string       // of the compression, or nothing
}

// Read reads what the file holds. Of a compressed file that is cut or damaged
// all comes that was before that, and then an error that says so.
func (in *input) Read(b []byte) (int, error) {
	if in.plain == nil {
		if err := in.open(); err != nil {
			return 0, err
		}
	}
	n, err := in.plain.Read(b)
	switch {
	case err == nil, in.format == "", err == io.EOF:
		return n, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, fmt.Errorf("the %s data is cut off: the file ends too early", in.format)
	}
	return n, fmt.Errorf("the %s data is damaged: %w", in.format, err)
}

// open looks at the first bytes.
func (in *input) open() (err error) {
	r := bufio.NewReaderSize(counter{in}, 256<<10)
	begin, err := r.Peek(4)
	if err != nil && err != io.EOF {
		return err
	}
	err = nil
	switch {
	case isZstd(begin):
		in.format = "zstd"
		// Without concurrency it has no goroutines, and need not be closed, which
		// a Read that waits for stdin would not allow.
		in.plain, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		in.format = "gzip"
		in.plain, err = gzip.NewReader(r)
	default:
		in.plain = r
	}
	if err != nil {
		in.plain = broken{err}
	}
	return nil
}

// broken is a file whose compression has no beginning.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) {
	if b.err == io.EOF {
		return 0, io.ErrUnexpectedEOF
	}
	return 0, b.err
}

// isZstd reports whether a file begins as a zstd frame, or as one to be skipped.
func isZstd(begin []byte) bool {
	return bytes.Equal(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		len(begin) == 4 && begin[0]&0xf0 == 0x50 && bytes.Equal(begin[1:], []byte{0x2a, 0x4d, 0x18})
}

// A counter reads the file of an input and counts.
type counter struct{ in *input }

func (c counter) Read(b []byte) (int, error) {
	n, err := c.in.file.Read(b)
	c.in.raw.Add(int64(n))
	return n, err
}

func (in *input) close() {
	if f, ok := in.file.(*os.File); ok && f != os.Stdin {
		f.Close() // only read
	}
}

type inputs []*input

// openInputs opens all files, or takes stdin where none is named, so that a
// name that is wrong shows before anything is written.
func openInputs(names []string, stdin io.Reader) (inputs, error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	var ins inputs
	for _, name := range names {
		if name == "-" {
			ins = append(ins, &input{name: "stdin", file: stdin})
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			ins.close()
			return nil, err
		}
		ins = append(ins, &input{name: name, file: f})
	}
	return ins, nil
}

func (ins inputs) close() {
	for _, in := range ins {
		in.close()
	}
}

// size returns how many bytes the files have, 0 where that is not known.
func (ins inputs) size() int64 {
	total := int64(0)
	for _, in := range ins {
		f, ok := in.file.(*os.File)
		if !ok {
			return 0
		}
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		total += info.Size()
	}
	return total
}
