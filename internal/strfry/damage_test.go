package strfry_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"wok/internal/strfry"
	"wok/nostr"
)

const pageSize = 4096

// dictPages are those of the one dictionary, which 79 events need.
var dictPages = []int{2, 136, 137}

// damaged returns a copy of the database with some bytes changed.
func damaged(t testing.TB, change func(file []byte)) string {
	t.Helper()
	b, err := os.ReadFile("testdata/data.mdb")
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	path := t.TempDir() + "/data.mdb"
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// good returns those that are events with the right id.
func good(events map[uint64]string) map[uint64]string {
	events = maps.Clone(events)
	maps.DeleteFunc(events, func(_ uint64, json string) bool {
		_, err := nostr.ParseEvent([]byte(json), nostr.Limits{})
		return err != nil
	})
	return events
}

// A page that is lost costs the events on it and no others, and never makes an
// event that there is not. A page above others costs nothing.
func TestDamagedPages(t *testing.T) {
	all, _ := readAll(t, open(t, "testdata"), 0)
	whole, err := os.ReadFile("testdata/data.mdb")
	if err != nil {
		t.Fatal(err)
	}
	for number := 2; number < len(whole)/pageSize; number++ {
		kind := whole[number*pageSize+10]
		path := damaged(t, func(b []byte) { clear(b[number*pageSize:][:pageSize]) })
		db, err := strfry.Open(path)
		if err != nil {
			if number != 3 && number != 5 { // of Meta, and of the list of tables
				t.Errorf("page %d: %v", number, err)
			}
			continue
		}
		found, lost := readAll(t, db, 0)
		db.Close()
		right := good(found)
		missing := len(all) - len(right)
		for id, json := range right {
			if all[id] != json {
				t.Errorf("page %d: event %d is another one", number, id)
			}
		}
		most := 16 // events have more than 256 bytes
		switch {
		case kind == 1:
			most = 0
		case slices.Contains(dictPages, number):
			most = 79
		}
		if missing > most || len(found) < len(all) && len(lost) == 0 {
			t.Errorf("page %d of kind %d: %d events missing, %d found of %d, %v", number, kind, missing, len(found), len(all), lost)
		}
	}
}

// A file that is cut has what stands before the cut.
func TestCutFile(t *testing.T) {
	all, _ := readAll(t, open(t, "testdata"), 0)
	before := 0
	for pages := 6; pages <= 190; pages += 23 {
		path := damaged(t, func([]byte) {})
		if err := os.Truncate(path, int64(pages)*pageSize+100); err != nil {
			t.Fatal(err)
		}
		found, lost := readAll(t, open(t, path), 0)
		for id, json := range found {
			if all[id] != json {
				t.Errorf("%d pages: event %d is another one", pages, id)
			}
		}
		if len(found) < before || len(found) < len(all) && len(lost) == 0 {
			t.Errorf("%d pages: %d events, %v; a shorter one has %d", pages, len(found), lost, before)
		}
		before = len(found)
	}
	if before != len(all) {
		t.Errorf("%d events at the end, want %d", before, len(all))
	}
}

// Bytes that flip cost some events, wherever they are.
func TestFlippedBytes(t *testing.T) {
	all, _ := readAll(t, open(t, "testdata"), 0)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		at := 2*pageSize + rng.IntN(188*pageSize)
		bit := byte(1) << rng.IntN(8)
		path := damaged(t, func(b []byte) { b[at] ^= bit })
		db, err := strfry.Open(path)
		if err != nil {
			continue // the list of tables
		}
		found, _ := readAll(t, db, 0)
		db.Close()
		right := good(found)
		ids := map[string]bool{}
		for _, json := range right {
			ids[json] = true
		}
		missing := 0
		for _, json := range all {
			if !ids[json] {
				missing++
			}
		}
		if most := 16; missing > most && !slices.Contains(dictPages, at/pageSize) {
			t.Errorf("bit %#x of byte %d of page %d: %d events missing", bit, at%pageSize, at/pageSize, missing)
		}
	}
}

// Whatever the file holds, reading it ends, and without a panic.
func FuzzFile(f *testing.F) {
	f.Add(uint32(6*pageSize+12), []byte{0xff, 0xff})
	f.Add(uint32(5*pageSize+16), []byte{0, 0})
	f.Add(uint32(6*pageSize+16), binary.LittleEndian.AppendUint64(nil, 5))
	f.Add(uint32(3*pageSize+4040), bytes.Repeat([]byte{0xff}, 56))
	f.Add(uint32(0), bytes.Repeat([]byte{0xff}, 8192))
	f.Fuzz(func(t *testing.T, at uint32, text []byte) {
		path := damaged(t, func(b []byte) { copy(b[min(int(at), len(b)):], text) })
		db, err := strfry.Open(path)
		if err != nil {
			return
		}
		defer db.Close()
		readAll(t, db, 0)
	})
}
