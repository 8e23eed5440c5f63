package store_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/store"
)

// TestCheckDictionary damages dictionaries and frames, one at a time, and expects
// each to be found where it is.
func TestCheckDictionary(t *testing.T) {
	db, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put(t, db, generated(t, 300)...)
	d := trained(t, db, 4<<10)
	compress(t, db, store.CompressOptions{Form: all(d)})
	dictKey, eventKey := lmdbx.AppendInt(nil, uint64(d)), lmdbx.AppendInt(nil, 1)
	frame := payloadOf(t, db, 1)
	with := func(b []byte, at int, v byte) []byte {
		b = bytes.Clone(b)
		b[at] = v
		return b
	}
	const dicts, payloads, meta = index.TableCompressionDictionary, index.TableEventPayload, index.TableMeta
	for _, c := range []struct {
		name  string
		table index.TableID
		key   []byte
		val   []byte // nil: remove
		want  string
	}{
		{"no dictionary", dicts, dictKey, nil, "missing: table CompressionDictionary, key 1: is missing, and events need it"},
		{"no zstd dictionary", dicts, dictKey, []byte("words"), "bad value: table CompressionDictionary, key 1: not a zstd dictionary"},
		{"id to come", dicts, lmdbx.AppendInt(nil, 9), []byte("words"), "bad key: table CompressionDictionary, key 9: the id is to be given out next"},
		{"id of none", dicts, lmdbx.AppendInt(nil, 1<<32), []byte("words"), "bad key: table CompressionDictionary, key 4294967296: no dictionary"},
		{"other dictionary", payloads, eventKey, with(frame, 4, 7), "missing: table CompressionDictionary, key 7: is missing"},
		{"wrong frame", payloads, eventKey, with(frame, len(frame)-1, ^frame[len(frame)-1]), "bad value: table EventPayload, key 1: corrupt: frame with dictionary 1"},
		{"frame of another event", payloads, eventKey, payloadOf(t, db, 3), "bad value: table EventPayload, key 1: the JSON is not that of the packed event"},
		{"next id", meta, []byte("nextDictionary"), []byte{1}, `bad value: table Meta, key "nextDictionary": has 1 bytes and not 8`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old []byte
			var had bool
			set := func(val []byte) error {
				return db.UpdateRaw(func(tx *lmdbx.Txn) error {
					if val == nil {
						_, err := tx.Delete(int(c.table), c.key, nil)
						return err
					}
					return tx.Put(int(c.table), c.key, val)
				})
			}
			err := db.UpdateRaw(func(tx *lmdbx.Txn) (err error) {
				var b []byte
				b, had, err = tx.Get(int(c.table), c.key)
				old = bytes.Clone(b)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := set(c.val); err != nil {
				t.Fatal(err)
			}
			report, err := db.Check(t.Context(), store.CheckOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(report.Problems, func(p store.Problem) bool { return strings.HasPrefix(p.String(), c.want) }) {
				t.Errorf("no %q in %s", c.want, report.String())
			}
			if !had {
				old = nil
			}
			if err := set(old); err != nil {
				t.Fatal(err)
			}
			if report, err := db.Check(t.Context(), store.CheckOptions{}); err != nil || !report.OK() {
				t.Errorf("put back: %v, %s", err, report.String())
			}
		})
	}
}
