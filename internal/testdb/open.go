package testdb

import (
	"context"
	"errors"
	"testing"

	"wok/store"
)

// Open makes a database in a new directory. At the end of the test it is
// closed, after a [store.DB.Check] that must find nothing; a test that closes
// it earlier has it checked by [Check].
//
//	db := testdb.Open(t, func(o *store.Options) { o.Now = clock })
func Open(t testing.TB, set ...func(*store.Options)) *store.DB {
	t.Helper()
	o := store.Options{Dir: t.TempDir()}
	for _, f := range set {
		f(&o)
	}
	db, err := store.Open(o)
	if err != nil {
		t.Fatalf("open test database: %v", err)
	}
	t.Cleanup(func() {
		Check(t, db)
		if err := db.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("close test database: %v", err)
		}
	})
	return db
}

// Check fails the test if the database has a problem. One that is closed has
// none.
func Check(t testing.TB, db *store.DB) {
	t.Helper()
	report, err := db.Check(context.Background(), store.CheckOptions{Limit: 20})
	switch {
	case errors.Is(err, store.ErrClosed):
	case err != nil:
		t.Errorf("check test database: %v", err)
	case !report.OK():
		t.Errorf("check test database: %s", report.String())
	}
}
