package strfry

import (
	"errors"
	"fmt"
)

// The tables that are read. All indexes and what else there is can do without.
const (
	tableMeta    = "rasgueadb_defaultDb__Meta"
	tablePayload = "rasgueadb_defaultDb__EventPayload"
	tableDict    = "rasgueadb_defaultDb__CompressionDictionary"
	tableEvent   = "rasgueadb_defaultDb__Event" // packed events, read only in need
)

// The versions of strfry's database whose events are kept alike. Version 3 is
// that of strfry 1.0 and 1.1; before them the packed form differed, which is not
// read here.
const (
	oldestVersion = 1
	newestVersion = 3
)

// A DB is a database of strfry, open for reading. It is for one goroutine.
type DB struct {
	file    *file
	version uint64
	blind   bool // which tables there are is not known
	dicts   dictionaries
}

// Open opens the database in a directory, or the data.mdb that path names. A
// database of something else, or of a version that is not known, is refused.
// Where the error is [ErrDamaged], Salvage may be of help.
func Open(path string) (*DB, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("open strfry's database: %w", err)
	}
	db := &DB{file: f, dicts: dictionaries{}}
	if err := db.begin(); err != nil {
		return nil, fmt.Errorf("open strfry's database %s: %w", path, errors.Join(err, f.f.Close()))
	}
	return db, nil
}

// Salvage opens what is left of a database whose list of tables is lost. Its
// Rows are all events that stand anywhere in the file, also some that were
// deleted or replaced.
func Salvage(path string) (*DB, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("salvage strfry's database: %w", err)
	}
	return &DB{file: f, blind: true, dicts: dictionaries{}}, nil
}

// begin reads what is needed before the first event.
func (db *DB) begin() error {
	return db.file.read(func(s *snapshot, _ int) error {
		tables, err := s.tables()
		if err != nil {
			return err
		}
		if _, ok := tables[tablePayload]; !ok {
			return fmt.Errorf("it is not strfry's: it has no table %s", tablePayload)
		}
		db.version, err = s.version(tables[tableMeta])
		return err
	})
}

// Version returns the version of the database's format, 0 if it is not known.
func (db *DB) Version() uint64 { return db.version }

// Events returns how many events there are now, 0 if that is not known.
func (db *DB) Events() (n uint64, err error) {
	if db.blind {
		return 0, nil
	}
	err = db.file.read(func(s *snapshot, _ int) error {
		t, err := s.table(tablePayload)
		n = t.entries
		return err
	})
	return n, err
}

// Close closes the database.
func (db *DB) Close() error {
	db.dicts.close()
	return db.file.f.Close()
}

// tables returns the tables by name.
func (s *snapshot) tables() (map[string]tree, error) {
	found := map[string]tree{}
	err := s.each(s.main, false, func(n *node) error {
		if n.flags&nodeTable == 0 {
			return nil
		}
		val, err := s.value(n)
		if err == nil && len(val) != treeSize {
			err = fmt.Errorf("%w: table %q", ErrDamaged, n.key)
		}
		if err != nil {
			return err
		}
		found[string(n.key)] = readTree(val)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list of tables: %w", err)
	}
	return found, nil
}

func (s *snapshot) table(name string) (tree, error) {
	tables, err := s.tables()
	if err != nil {
		return tree{}, err
	}
	t, ok := tables[name]
	if !ok {
		return tree{}, fmt.Errorf("it has no table %s", name)
	}
	return t, nil
}

// each calls fn with each row of a small table that must be readable whole.
func (s *snapshot) each(t tree, integers bool, fn func(n *node) error) (err error) {
	w := walk{
		s:        s,
		integers: integers,
		leaf: func(p page, _ span) error {
			for i := range p.nodes() {
				n, err := p.node(i)
				if err != nil {
					return err
				}
				if err := fn(&n); err != nil {
					return err
				}
			}
			return nil
		},
		lost: func(_ span, e error) { err = e },
	}
	if e := w.tree(t); e != nil {
		return e
	}
	return err
}

// version reads the one row of Meta and refuses what is not known.
func (s *snapshot) version(meta tree) (version uint64, err error) {
	err = s.each(meta, true, func(n *node) error {
		val, err := s.value(n)
		if err != nil {
			return err
		}
		version, err = flatInt(val, 0)
		return err
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("table Meta: %w", err)
	case version < oldestVersion:
		return 0, fmt.Errorf("its format is %d, and formats %d to %d are known: let a newer strfry rewrite it, or export it", version, oldestVersion, newestVersion)
	case version > newestVersion:
		return 0, fmt.Errorf("its format is %d, and formats %d to %d are known: export it with strfry and import that, or use a newer wok", version, oldestVersion, newestVersion)
	}
	return version, nil
}
