package planner

import (
	"testing"

	"wok/store"
)

func openStore(t testing.TB) *store.DB {
	db, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
