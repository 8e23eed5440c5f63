package store

import (
	"archive/tar"
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
)

// StreamsOf returns the streams of an increment since the beginning: the set of
// levIds, the rows of all tables, and the events.
func StreamsOf(t testing.TB, db *DB) (present, rows, events []byte) {
	t.Helper()
	var b bytes.Buffer
	if _, err := db.Backup(t.Context(), &b, BackupOptions{Incremental: true}); err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(&b); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return present, rows, events
		}
		data, err2 := io.ReadAll(tr)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		switch {
		case strings.HasPrefix(h.Name, memberPresent):
			present = append(present, data...)
		case strings.HasPrefix(h.Name, memberTables):
			rows = append(rows, data...)
		case strings.HasPrefix(h.Name, memberEvents):
			events = append(events, data...)
		}
	}
}

// ReadStreams reads streams of an increment to their ends, or to an error.
func ReadStreams(present, rows, events []byte) {
	set := levIDReader{in: bufio.NewReader(bytes.NewReader(present))}
	for levID := uint64(0); levID < 100; levID++ {
		if _, err := set.has(levID); err != nil {
			break
		}
	}
	in := bufio.NewReader(bytes.NewReader(rows))
	for {
		if rs, err := readRows(in); err != nil || len(rs) == 0 {
			break
		}
	}
	in = bufio.NewReader(bytes.NewReader(events))
	for last := uint64(0); ; {
		if evs, err := readEvents(in, &last); err != nil || len(evs) == 0 {
			break
		}
	}
}
