package store_test

import (
	"testing"

	"wok/internal/testdb"
	"wok/store"
)

// TestCheckClean shows that what Put wrote is what Check expects.
func TestCheckClean(t *testing.T) {
	db := testdb.Open(t)
	put(t, db, generated(t, 3000)...)
	var seen []uint64
	report, err := db.Check(t.Context(), store.CheckOptions{Progress: func(done, total uint64) {
		if done > total {
			t.Errorf("progress %d of %d", done, total)
		}
		seen = append(seen, done)
	}})
	if err != nil || !report.OK() {
		t.Fatalf("err %v, report %s", err, &report)
	}
	if report.Events < 1500 || report.Rows < 10*report.Events || len(seen) < 3 || seen[len(seen)-1] != report.Events {
		t.Errorf("report %s, progress %d", &report, seen)
	}
	info, err := db.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, ti := range info.Tables {
		t.Logf("%+v", ti)
	}
	info.Tables = nil
	t.Logf("%+v", info)
}
