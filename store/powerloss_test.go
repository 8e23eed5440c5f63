package store_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"wok/internal/testdb"
	"wok/store"
)

const (
	powerPage   = 4096
	powerSector = 512 // what a disk writes whole
)

// TestPowerLoss cuts the power at every commit of a run. Until a commit has
// synced its pages the disk may have any of them, or parts, in any order: then
// the state before is there. When the meta page is written, which is one sector,
// the state after is. That commits sync and write in this order is shown by
// TestSyncOrder in cmd/wok.
func TestPowerLoss(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(11, 12))
	before, ids := snapshotOf(t, dir), readable(t, db)
	events := generated(t, 400)
	for i := 0; i < len(events); i += 25 {
		if i == 100 {
			trained(t, db, 1<<10)
			before, ids = snapshotOf(t, dir), readable(t, db)
		}
		put(t, db, events[i:i+25]...)
		after, idsAfter := snapshotOf(t, dir), readable(t, db)
		for range 3 {
			survives(t, torn(rng, before, after), ids)
		}
		survives(t, whole(before, after, false), ids)
		survives(t, whole(before, after, true), idsAfter)
		before, ids = after, idsAfter
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func snapshotOf(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "data.mdb"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// torn returns before with some sectors of after, but none of its meta pages.
func torn(rng *rand.Rand, before, after []byte) []byte {
	size := len(before)
	if rng.IntN(2) == 0 {
		size = len(after)
	}
	disk := append(bytes.Clone(before), make([]byte, max(0, size-len(before)))...)
	pages := rng.IntN(101)
	for at := 2 * powerPage; at < size; at += powerPage {
		switch n := rng.IntN(100); {
		case n < pages:
			copy(disk[at:at+powerPage], after[at:])
		case n < pages+10:
			for s := at; s < at+powerPage; s += powerSector {
				if rng.IntN(2) == 0 {
					copy(disk[s:s+powerSector], after[s:])
				}
			}
		}
	}
	return disk
}

// whole returns after with all its pages, and its meta pages or those of before.
func whole(before, after []byte, meta bool) []byte {
	disk := bytes.Clone(after)
	if !meta {
		copy(disk[:2*powerPage], before)
	}
	return disk
}

// survives opens what a disk is left with and shows that it is sound and holds
// the events given.
func survives(t *testing.T, disk []byte, want map[string]bool) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data.mdb"), disk, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	testdb.Check(t, db)
	if got := readable(t, db); !maps.Equal(got, want) {
		t.Errorf("%d events are there of %d", len(got), len(want))
	}
}
