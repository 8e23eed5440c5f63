package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// A lineReader reads lines of any length, and holds no more of one than maxBytes.
type lineReader struct {
	r        *bufio.Reader
	maxBytes int

	number int   // of the last line, from 1
	read   int64 // bytes of all lines so far
}

func newLineReader(r io.Reader, maxBytes int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10), maxBytes: maxBytes}
}

// next reads the next line over dst and returns it without white space around
// it. A line over maxBytes is skipped to its end and reported as long. The last
// line may lack a newline; after it the error is io.EOF. Where reading fails
// within a line, that line is dropped.
func (l *lineReader) next(dst []byte) (line []byte, long bool, err error) {
	dst = dst[:0]
	empty := true
	for {
		part, err := l.r.ReadSlice('\n')
		l.read += int64(len(part))
		empty = empty && len(part) == 0
		if !long {
			dst = append(dst, part...)
		}
		if len(dst) > l.maxBytes+len("\r\n") {
			dst, long = dst[:0], true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && empty, err != nil && err != io.EOF:
			return nil, false, err
		}
		return l.trim(dst), long, nil
	}
}

// trim counts a line and returns it without what surrounds it; the first one
// also without a byte order mark, as some editors leave.
func (l *lineReader) trim(line []byte) []byte {
	l.number++
	if l.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return bytes.TrimSpace(line)
}
