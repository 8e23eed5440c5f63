package store_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"wok/internal/testdb"
	"wok/packed"
	"wok/store"
)

// keep makes TestFormats write the database of a format that has none yet:
//
//	go test ./store -run TestFormats -keep
var keep = flag.Bool("keep", false, "keep a database of this format in testdata")

// formatFile is the database of a released format, compressed. It never changes
// once it is there: that is what people have on their disks.
func formatFile(format int) string {
	return filepath.Join("testdata", "formats", fmt.Sprintf("%d.mdb.gz", format))
}

// formatEvents are what the database of each format was made of.
const formatEvents = 150

// TestFormats opens a database of every format that there was, checks it, reads
// all of it and writes to it.
func TestFormats(t *testing.T) {
	if *keep {
		keepFormat(t)
	}
	for format := 1; format <= store.FormatVersion; format++ {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			dir := t.TempDir()
			unpack(t, formatFile(format), filepath.Join(dir, "data.mdb"))
			db, err := store.Open(store.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			testdb.Check(t, db)
			want := testdb.Open(t)
			put(t, want, generated(t, formatEvents)...)
			if got, want := jsonOf(t, db), jsonOf(t, want); len(got) != len(want) || len(got) < formatEvents/2 {
				t.Errorf("%d events, want %d", len(got), len(want))
			} else {
				for levID, json := range want {
					if got[levID] != json {
						t.Errorf("event %d is %s", levID, got[levID])
					}
				}
			}
			put(t, db, generated(t, 300)...)
			testdb.Check(t, db)
		})
	}
}

// jsonOf returns the JSON of every event of db.
func jsonOf(t *testing.T, db *store.DB) map[uint64]string {
	t.Helper()
	all := map[uint64]string{}
	err := db.View(t.Context(), func(tx *store.Txn) error {
		return tx.EachEvent(1, func(levID uint64, _ packed.View) error {
			json, _, err := tx.JSON(levID)
			all[levID] = string(json)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// keepFormat makes the database of this build's format.
func keepFormat(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, generated(t, formatEvents)...)
	form := trained(t, db, 1<<10)
	compress(t, db, store.CompressOptions{Form: func(v packed.View) (store.Form, bool) { return form, v.Kind() != 1 }})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "data.mdb"))
	if err != nil {
		t.Fatal(err)
	}
	var packedData bytes.Buffer
	w, err := gzip.NewWriterLevel(&packedData, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Close()
	f, err := os.OpenFile(formatFile(store.FormatVersion), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal("what is there must stay: ", err)
	}
	defer f.Close()
	if _, err := f.Write(packedData.Bytes()); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
