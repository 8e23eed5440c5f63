package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/internal/testdb"
	"wok/store"
)

// refused opens the database in dir, expects that to fail with a message that
// holds text, and the data untouched.
func refused(t *testing.T, dir, text string) {
	t.Helper()
	file := filepath.Join(dir, "data.mdb")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		db, err := store.Open(store.Options{Dir: dir, ReadOnly: readOnly})
		if err == nil {
			db.Close()
			t.Fatal("it was opened")
		}
		if !strings.Contains(err.Error(), text) || strings.ContainsAny(err.Error(), "\x00\n\x1b") {
			t.Errorf("got %q, want %q", err, text)
		}
		after, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("data.mdb has changed (%v)", err)
		}
	}
}

// TestRefuseForeign: LMDB databases of other programs.
func TestRefuseForeign(t *testing.T) {
	for name, test := range map[string]struct {
		tables []string
		text   string
	}{
		"other tables":          {[]string{"a", "b", "c", "d", "e", "f"}, `not wok's: it has tables "a" "b" "c" "d"`},
		"names of control keys": {[]string{"a\x1b[2J"}, `"a\x1b[2J"`},
		"a Meta table":          {[]string{"Meta"}, "names no format"},
		"strfry's":              {[]string{"rasgueadb_defaultDb__Meta"}, "strfry"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var tables []lmdbx.Table
			for _, name := range test.tables {
				tables = append(tables, lmdbx.Table{Name: name})
			}
			env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables}, nil, func(*lmdbx.Txn) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			env.Close()
			refused(t, dir, test.text)
		})
	}
}

// TestRefuseStrfry: a database that strfry has written.
func TestRefuseStrfry(t *testing.T) {
	data, err := os.ReadFile("../../shared/data/strfry-db/data.mdb")
	if err != nil {
		t.Skip("no strfry database here:", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data.mdb"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "this is a strfry database")
}

// TestRefuseFormat: formats that this build does not know.
func TestRefuseFormat(t *testing.T) {
	for _, test := range []struct {
		format []byte
		text   string
	}{
		{binary.BigEndian.AppendUint64(nil, store.FormatVersion+1), "use a newer wok"},
		{binary.BigEndian.AppendUint64(nil, 1<<63), "use a newer wok"},
		{binary.BigEndian.AppendUint64(nil, 0), "its format is 0"},
		{[]byte("1"), "names no format"},
	} {
		dir := t.TempDir()
		db := reopen(t, nil, dir)
		err := db.UpdateRaw(func(x *lmdbx.Txn) error { return x.Put(int(index.TableMeta), []byte("format"), test.format) })
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		refused(t, dir, test.text)
	}
}

// TestReadOnly: a database can be read where it must not be written.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	db := reopen(t, nil, dir)
	ev := author{t, 1}.event(1, 1)
	put(t, db, ev)
	db.Close()
	db = testdb.Open(t, func(o *store.Options) { o.Dir, o.ReadOnly = dir, true })
	if got := left(t, db); len(got) != 1 || got[0] != ev.ID() {
		t.Errorf("left are %v", got)
	}
	if err := db.Update(func(b *store.Batch) error { _, err := b.Put(author{t, 1}.event(1, 2)); return err }); err == nil {
		t.Error("a read-only database was written")
	}
	if _, err := store.Open(store.Options{Dir: t.TempDir(), ReadOnly: true}); err == nil {
		t.Error("a database was made to be read")
	}
}

// TestOpenUnbegun: where the making of a database was cut short, reading says
// that it is empty, and writing makes it after all.
func TestOpenUnbegun(t *testing.T) {
	whole := t.TempDir()
	env, err := lmdbx.Open(lmdbx.Options{Dir: whole}, nil, func(*lmdbx.Txn) error { return nil })
	if err == nil {
		err = env.Close()
	}
	noTables, err2 := os.ReadFile(filepath.Join(whole, "data.mdb"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"no bytes": nil, "no tables": noTables} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "data.mdb"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := store.Open(store.Options{Dir: dir, ReadOnly: true})
			if err == nil {
				db.Close()
			}
			if !errors.Is(err, lmdbx.ErrEmpty) || !strings.Contains(err.Error(), dir+": it is empty") {
				t.Errorf("opened for reading: %v", err)
			}
			db = reopen(t, nil, dir)
			put(t, db, author{t, 1}.event(1, 1))
		})
	}
}

// A database from before a table was declared gets it when it is opened for
// writing, and is refused for reading until then.
func TestOpenOlder(t *testing.T) {
	dir := t.TempDir()
	var tables []lmdbx.Table
	for _, def := range index.Tables {
		if def.ID != index.TableVanish && def.ID != index.TableVanishing {
			tables = append(tables, lmdbx.Table{Name: def.Name, IntegerKey: def.IntegerKey, DupSort: def.DupSort, DupFixed: def.DupFixed})
		}
	}
	env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables}, nil, func(x *lmdbx.Txn) error {
		one := binary.BigEndian.AppendUint64(nil, 1)
		return errors.Join(
			x.Put(int(index.TableMeta), []byte("format"), one),
			x.Put(int(index.TableMeta), []byte("nextLevId"), one),
			x.Put(int(index.TableMeta), []byte("indexes"), []byte(store.AllIndexes())))
	})
	if err == nil {
		err = env.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(store.Options{Dir: dir, ReadOnly: true})
	if err == nil {
		db.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "it has no table vanish yet") {
		t.Errorf("opened for reading: %v", err)
	}
	db = reopen(t, nil, dir)
	put(t, db, author{t, 1}.event(1, 1), author{t, 1}.event(62, 1))
	db = reopen(t, db, dir)
	if got := len(swept(t, db)); got != 1 {
		t.Errorf("%d events are left", got)
	}
}
