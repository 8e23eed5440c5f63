package store_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wok/index"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// A patient is a database, closed, to be damaged in copies.
type patient struct {
	data []byte
	ids  map[string]bool

	older bool // the state before the last commit may come back
}

// newPatient makes a database that has seen deletions, of which some events are
// compressed.
func newPatient(t *testing.T, events int) patient {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	all := generated(t, events)
	for len(all) > 0 {
		n := min(len(all), 500)
		put(t, db, all[:n]...)
		all = all[n:]
	}
	form := trained(t, db, 4<<10)
	compress(t, db, store.CompressOptions{Form: func(v packed.View) (store.Form, bool) { return form, v.Kind() != 1 }})
	err = db.Update(func(b *store.Batch) error {
		for levID := range uint64(events / 4) {
			if _, err := b.Delete(levID*4 + 1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	testdb.Check(t, db)
	p := patient{ids: readable(t, db)}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if p.data, err = os.ReadFile(filepath.Join(dir, "data.mdb")); err != nil {
		t.Fatal(err)
	}
	return p
}

// damaged writes a copy that fn has changed and returns its directory.
func (p patient) damaged(t *testing.T, fn func(b []byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data.mdb"), fn(bytes.Clone(p.data)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A rescue is what has come of a damaged copy.
type rescue struct {
	report   store.Report // before
	salvaged store.Salvaged
	ids      map[string]bool // in the new database
	aside    map[string]bool // set aside with their JSON
	unread   int             // payloads set aside without
}

// rescue checks a damaged database, salvages it, and shows that what was made of
// it is sound.
func (p patient) rescue(t *testing.T, dir string) (r rescue) {
	t.Helper()
	var err error
	if r.report, err = store.CheckDir(t.Context(), dir, store.CheckOptions{Limit: 5}); err != nil {
		t.Errorf("check: %v", err)
	}
	into := filepath.Join(t.TempDir(), "new")
	r.aside = map[string]bool{}
	r.salvaged, err = store.Salvage(t.Context(), dir, store.Options{Dir: into}, store.RepairOptions{Aside: func(rows []store.Aside) error {
		for _, row := range rows {
			if ev, err := nostr.ParseEvent(row.JSON, nostr.Limits{}); err == nil {
				r.aside[hex.EncodeToString(ev.Packed.ID())] = true
			} else if row.Table == index.Tables[index.TableEventPayload].Name {
				r.unread++
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatalf("salvage: %v", err)
	}
	db, err := store.Open(store.Options{Dir: into})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	testdb.Check(t, db)
	r.ids = readable(t, db)
	for id := range r.ids {
		if !p.ids[id] && !p.older {
			t.Errorf("event %s was removed, and is there again", id)
		}
	}
	return r
}

// missing counts the events that are neither there nor set aside.
func (p patient) missing(r rescue) (n int) {
	for id := range p.ids {
		if !r.ids[id] && !r.aside[id] {
			n++
		}
	}
	return n
}

// pageOf returns the numbers of the pages of a table, and which events have
// their JSON on each.
func (p patient) pagesOf(t *testing.T) (tables map[string][]uint64, events map[uint64]int) {
	t.Helper()
	dir := p.damaged(t, func(b []byte) []byte { return b })
	tables, events, err := store.PagesOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tables, events
}

// TestSalvageWhole: nothing is lost of a sound database.
func TestSalvageWhole(t *testing.T) {
	p := newPatient(t, 800)
	r := p.rescue(t, p.damaged(t, func(b []byte) []byte { return b }))
	if !r.report.OK() || len(r.ids) != len(p.ids) || r.salvaged.Aside != 0 || r.salvaged.Broken != 0 || r.salvaged.Missing != 0 {
		t.Errorf("%d of %d events, %+v, %s", len(r.ids), len(p.ids), r.salvaged, &r.report)
	}
}

// TestSalvageTables damages pages of each table in turn, in several ways. The
// damage is found, and what is lost is at most what stood on those pages.
func TestSalvageTables(t *testing.T) {
	skipShort(t)
	p := newPatient(t, 600)
	tables, events := p.pagesOf(t)
	rng := rand.New(rand.NewPCG(5, 6))
	damages := map[string]func(page []byte){
		"zeroed":       func(b []byte) { clear(b) },
		"other number": func(b []byte) { b[0] ^= 0x55 },
		"header":       func(b []byte) { b[12] ^= 0xff },
		"noise": func(b []byte) {
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
		},
	}
	for table, pages := range tables {
		for name, damage := range damages {
			t.Run(table+" "+name, func(t *testing.T) {
				no := pages[rng.IntN(len(pages))]
				r := p.rescue(t, p.damaged(t, func(b []byte) []byte {
					damage(b[no*4096:][:4096])
					return b
				}))
				if r.report.OK() {
					t.Errorf("page %d: %s", no, &r.report)
				}
				if n := p.missing(r); n > events[no] && (n > r.unread || table != "CompressionDictionary") {
					t.Errorf("page %d: %d events are missing, and %d stood there", no, n, events[no])
				}
			})
		}
	}
}

// TestSalvageRoots damages the root of each table: all events are there, as none
// stands on a root.
func TestSalvageRoots(t *testing.T) {
	skipShort(t)
	p := newPatient(t, 600)
	tables, events := p.pagesOf(t)
	for table, pages := range tables {
		root := pages[0]
		r := p.rescue(t, p.damaged(t, func(b []byte) []byte {
			clear(b[root*4096:][:4096])
			return b
		}))
		if n := p.missing(r); n > events[root] && (n > r.unread || table != "CompressionDictionary") || r.report.OK() {
			t.Errorf("root of %s: %d events are missing, %s", table, n, &r.report)
		}
	}
}

// TestSalvageMetas damages meta pages: with one, the state before the last commit
// is there, and what that added is set aside; with none, all is.
func TestSalvageMetas(t *testing.T) {
	skipShort(t)
	p := newPatient(t, 600)
	p.older = true
	for _, metas := range [][]int{{0}, {1}, {0, 1}} {
		r := p.rescue(t, p.damaged(t, func(b []byte) []byte {
			for _, no := range metas {
				clear(b[no*4096:][:4096])
			}
			return b
		}))
		if n := p.missing(r); n > 0 || r.report.OK() {
			t.Errorf("metas %v: %d events are missing of %d, %s", metas, n, len(p.ids), &r.report)
		}
		t.Logf("metas %v: %d events, %d set aside", metas, len(r.ids), len(r.aside))
	}
}

// TestSalvageCut cuts the file: what stood before the cut is there or set aside.
func TestSalvageCut(t *testing.T) {
	p := newPatient(t, 600)
	_, events := p.pagesOf(t)
	for _, part := range []int{10, 50, 90, 99} {
		pages := len(p.data) / 4096 * part / 100
		most := 0
		for no, n := range events {
			if no >= uint64(pages) {
				most += n
			}
		}
		r := p.rescue(t, p.damaged(t, func(b []byte) []byte { return b[:pages*4096+100] }))
		if r.salvaged.Missing == 0 {
			t.Errorf("cut to %d%%, and nothing is said of missing pages", part)
		}
		if n := p.missing(r); n > most+r.unread || r.report.OK() {
			t.Errorf("cut to %d%%: %d events are missing, %d stood behind the cut; %s", part, n, most, &r.report)
		}
	}
}

// TestSalvageNoise flips bits anywhere: whatever comes of it, checking and
// salvaging come to their end and what they make is sound.
func TestSalvageNoise(t *testing.T) {
	skipShort(t)
	p := newPatient(t, 600)
	rng := rand.New(rand.NewPCG(7, 8))
	for range 15 {
		bits := 1 + rng.IntN(200)
		dir := p.damaged(t, func(b []byte) []byte {
			for range bits {
				b[8192+rng.IntN(len(b)-8192)] ^= 1 << rng.IntN(8)
			}
			return b
		})
		r := p.rescue(t, dir)
		if n := p.missing(r); n > 30*bits {
			t.Errorf("%d bits: %d events are missing of %d", bits, n, len(p.ids))
		}
	}
}

// TestSalvageRefuses: a database is refused that is none, and so is to copy it into
// one that has events, or into itself.
func TestSalvageRefuses(t *testing.T) {
	p := newPatient(t, 100)
	dir := p.damaged(t, func(b []byte) []byte { return b })
	into := p.damaged(t, func(b []byte) []byte { return b })
	_, err := store.Salvage(t.Context(), dir, store.Options{Dir: into}, store.RepairOptions{})
	if err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a database with events: %v", err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "data.mdb"))
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	_, err = store.Salvage(t.Context(), dir, store.Options{Dir: link}, store.RepairOptions{})
	if err == nil || !strings.Contains(err.Error(), "another directory") {
		t.Errorf("into itself: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "data.mdb")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database was changed by that (%v)", err)
	}
	if _, err := store.Salvage(t.Context(), t.TempDir(), store.Options{Dir: t.TempDir()}, store.RepairOptions{}); err == nil {
		t.Error("no database at all can be salvaged")
	}
}

// TestSalvageResumed: what a salvage that was cut off has made cannot be taken for
// a database, and the next run makes it whole. Each run is cut off by the first
// event that it reports, or by the repair at its end.
func TestSalvageResumed(t *testing.T) {
	skipShort(t)
	p := newPatient(t, 6000)
	dir := p.damaged(t, func(b []byte) []byte { return b })
	into := filepath.Join(t.TempDir(), "new")
	enough := errors.New("enough")
	salvage := func(cutAt uint64) (store.Salvaged, error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		return store.Salvage(ctx, dir, store.Options{Dir: into}, store.RepairOptions{Progress: func(done, _ uint64) {
			if done >= cutAt {
				cancel(enough)
			}
		}})
	}
	for range 2 {
		if done, err := salvage(1); !errors.Is(err, enough) || done.Events == 0 {
			t.Fatalf("cut off after %d events: %v", done.Events, err)
		}
		for _, readOnly := range []bool{false, true} {
			if _, err := store.Open(store.Options{Dir: into, ReadOnly: readOnly}); !errors.Is(err, store.ErrHalf) {
				t.Errorf("opened by halves: %v", err)
			}
		}
		if _, err := store.CheckDir(t.Context(), into, store.CheckOptions{}); !errors.Is(err, store.ErrHalf) {
			t.Errorf("checked by halves: %v", err)
		}
	}
	done, err := salvage(1 << 40)
	if err != nil || done.Events != uint64(len(p.ids)) || done.Aside != 0 {
		t.Fatalf("%d of %d events, %+v, %v", done.Events, len(p.ids), done, err)
	}
	db, err := store.Open(store.Options{Dir: into})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	testdb.Check(t, db)
}

// TestRepairRefuses: a file with broken pages is not repaired in place.
func TestRepairRefuses(t *testing.T) {
	p := newPatient(t, 600)
	tables, _ := p.pagesOf(t)
	pages := tables[index.Tables[index.TableByTag].Name]
	dir := p.damaged(t, func(b []byte) []byte {
		clear(b[pages[len(pages)-1]*4096:][:4096])
		return b
	})
	db, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Repair(t.Context(), store.RepairOptions{}); !strings.Contains(err.Error(), store.ErrBrokenPages.Error()) {
		t.Errorf("repair: %v", err)
	}
}
