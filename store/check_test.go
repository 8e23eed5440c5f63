package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
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
}

// The events of a small database to damage.
type damaged struct {
	note    *nostr.Event // levId 1: tags, expires
	list    *nostr.Event // levId 2: addressable
	request *nostr.Event // levId 3: a deletion of what never came
	bye     *nostr.Event // levId 4: a request to vanish of an author of nothing else
}

func damagedEvents(t *testing.T) damaged {
	id := strings.Repeat("ab", 32)
	return damaged{
		note: parse(t, testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: 1000, Content: "hi",
			Tags: [][]string{{"t", "x"}, {"t", "y"}, {"e", id}, {"expiration", "9999999999"}}})),
		list: parse(t, testdb.Sign(2, testdb.Event{Kind: 30000, CreatedAt: 2000, Tags: [][]string{{"d", "a:b"}}})),
		request: parse(t, testdb.Sign(3, testdb.Event{Kind: 5, CreatedAt: 3000,
			Tags: [][]string{{"e", id}, {"a", "30000:" + testdb.Key(3).Pubkey() + ":gone"}}})),
		bye: parse(t, testdb.Sign(4, testdb.Event{Kind: 62, CreatedAt: 4000, Tags: [][]string{{"relay", "ALL_RELAYS"}}})),
	}
}

// A finding is a problem but for its key and text.
type finding struct {
	class store.Class
	table index.TableID
}

// TestCheckFinds damages each table in turn, in each way it can be damaged,
// and expects exactly the problems that follow.
func TestCheckFinds(t *testing.T) {
	ev := damagedEvents(t)
	posting := func(e *nostr.Event, levID uint64) []byte {
		return index.NewPosting(e.Packed, levID).Append(nil)
	}
	lev := func(n uint64) []byte { return lmdbx.AppendInt(nil, n) }
	address, _ := index.AddressOf(nil, ev.list.Packed)
	otherAddress := index.AppendAddress(nil, ev.note.Packed.Pubkey(), 0, nil)
	mark := append(binary.BigEndian.AppendUint64(nil, 2000), make([]byte, 32)...)
	tag := packed.AppendTag(nil, 't', "x")
	payload := func(json []byte) []byte { return append([]byte{0}, json...) }
	const (
		event, json, id, replace = index.TableEvent, index.TableEventPayload, index.TableEventID, index.TableReplace
		tomb, marks, expiration  = index.TableDeletion, index.TableReplaceDeletion, index.TableExpiration
		all, author, kind        = index.TableCreatedAt, index.TableByPubkey, index.TableByKind
		authorKind, tags, meta   = index.TableByPubkeyKind, index.TableByTag, index.TableMeta
		vanish, vanishing        = index.TableVanish, index.TableVanishing
	)
	uint64s := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	type op = func(x *lmdbx.Txn) error
	put := func(table index.TableID, key, val []byte) op {
		return func(x *lmdbx.Txn) error { return x.Put(int(table), key, val) }
	}
	del := func(table index.TableID, key, val []byte) op {
		return func(x *lmdbx.Txn) error {
			ok, err := x.Delete(int(table), key, val)
			if err == nil && !ok {
				err = errors.New("there is nothing to damage")
			}
			return err
		}
	}
	// All rows of the note but its Event row, as they look when that is gone.
	orphans := []finding{{store.Extra, json}, {store.Extra, id}, {store.Extra, expiration}, {store.Extra, all},
		{store.Extra, author}, {store.Extra, kind}, {store.Extra, authorKind},
		{store.Extra, tags}, {store.Extra, tags}, {store.Extra, tags}}
	noteBytes := []byte(ev.note.Packed)
	changed := func(at int, b byte) []byte {
		c := bytes.Clone(noteBytes)
		c[at] ^= b
		return c
	}
	tests := []struct {
		name   string
		damage []op
		want   []finding
		text   string // stands in the report
	}{
		{"event gone", []op{del(event, lev(1), nil)}, orphans, "there is no event 1"},
		{"event empty", []op{put(event, lev(1), nil)}, append(orphans, finding{store.BadValue, event}), "shorter than its header"},
		{"event cut in its header", []op{put(event, lev(1), noteBytes[:87])}, append(orphans, finding{store.BadValue, event}), "event 1 cannot be read"},
		{"event cut in a tag", []op{put(event, lev(1), noteBytes[:len(noteBytes)-1])}, append(orphans, finding{store.BadValue, event}), "is cut to"},
		{"event with a kind too large", []op{put(event, lev(1), changed(75, 1))}, append(orphans, finding{store.BadValue, event}), "has kind"},
		{"event of another time", []op{put(event, lev(1), changed(64, 1))}, []finding{
			{store.BadValue, json}, {store.Wrong, id}, {store.Extra, id},
			{store.Missing, all}, {store.Missing, author}, {store.Missing, kind}, {store.Missing, authorKind},
			{store.Missing, tags}, {store.Missing, tags}, {store.Missing, tags},
			{store.Extra, all}, {store.Extra, author}, {store.Extra, kind}, {store.Extra, authorKind},
			{store.Extra, tags}, {store.Extra, tags}, {store.Extra, tags},
		}, "not that of the packed event"},
		{"event of another expiration", []op{put(event, lev(1), changed(80, 1))}, []finding{
			{store.BadValue, json}, {store.Missing, expiration}, {store.Extra, expiration},
		}, "the event expires at"},
		{"event with a levId to come", []op{put(meta, []byte("nextLevId"), uint64s(4))},
			[]finding{{store.BadKey, event}}, "nextLevId is 4"},
		{"event 0", []op{put(event, lev(0), noteBytes)}, []finding{{store.BadKey, event}}, "key 0"},
		{"event past the last levId", []op{put(event, lev(1<<40), noteBytes)}, []finding{{store.BadKey, event}}, "key 1099511627776"},
		{"event twice", []op{put(event, lev(2), noteBytes)}, []finding{
			{store.BadValue, json}, {store.Wrong, id}, {store.Missing, expiration}, {store.Extra, id}, {store.Extra, replace},
			{store.Missing, all}, {store.Missing, author}, {store.Missing, kind}, {store.Missing, authorKind},
			{store.Missing, tags}, {store.Missing, tags}, {store.Missing, tags},
			{store.Extra, all}, {store.Extra, author}, {store.Extra, kind}, {store.Extra, authorKind}, {store.Extra, tags},
		}, "in place of"},

		{"payload gone", []op{del(json, lev(1), nil)}, []finding{{store.Missing, json}}, "EventPayload, key 1: is missing"},
		{"payload without event", []op{put(json, lev(77), payload(ev.note.JSON))}, []finding{{store.Extra, json}}, "there is no event 77"},
		{"payload empty", []op{put(json, lev(1), nil)}, []finding{{store.BadValue, json}}, ""},
		{"payload of no type", []op{put(json, lev(1), append([]byte{9}, ev.note.JSON...))}, []finding{{store.BadValue, json}}, "type 9"},
		{"payload of another event", []op{put(json, lev(1), payload(ev.list.JSON))}, []finding{{store.BadValue, json}}, "not that of the packed"},
		{"payload not canonical", []op{put(json, lev(1), payload(bytes.Replace(ev.note.JSON, []byte(`,"kind"`), []byte(`, "kind"`), 1)))},
			[]finding{{store.BadValue, json}}, "not canonical"},
		{"payload changed", []op{put(json, lev(1), payload(bytes.Replace(ev.note.JSON, []byte(`"hi"`), []byte(`"ho"`), 1)))},
			[]finding{{store.BadValue, json}}, "id does not match"},
		{"payload cut", []op{put(json, lev(1), payload(ev.note.JSON[:100]))}, []finding{{store.BadValue, json}}, "the JSON is no event"},

		{"id gone", []op{del(id, ev.note.Packed.ID(), nil)}, []finding{{store.Missing, id}}, ""},
		{"id of another event", []op{put(id, ev.note.Packed.ID(), posting(ev.list, 2))}, []finding{{store.Wrong, id}, {store.Extra, id}}, "does not belong there"},
		{"id of nobody", []op{put(id, make([]byte, 32), posting(ev.note, 1))}, []finding{{store.Extra, id}}, "does not belong there"},
		{"id without posting", []op{put(id, ev.note.Packed.ID(), []byte("x"))}, []finding{{store.Wrong, id}, {store.Extra, id}}, "a value of 1 bytes"},

		{"replace gone", []op{del(replace, address, nil)}, []finding{{store.Missing, replace}}, ""},
		{"replace points elsewhere", []op{put(replace, address, posting(ev.note, 1))}, []finding{{store.Wrong, replace}, {store.Extra, replace}}, "in place of"},
		{"replace of nobody", []op{put(replace, otherAddress, posting(ev.note, 1))}, []finding{{store.Extra, replace}}, "does not belong there"},
		{"replace dangles", []op{put(replace, otherAddress, posting(ev.note, 9))}, []finding{{store.Extra, replace}}, "no event 9"},

		{"expiration gone", []op{del(expiration, lev(9999999999), lev(1))}, []finding{{store.Missing, expiration}}, "event 1 is missing"},
		{"expiration of nobody", []op{put(expiration, lev(5), lev(8))}, []finding{{store.Extra, expiration}}, "no event 8"},
		{"expiration at another time", []op{put(expiration, lev(5), lev(1))}, []finding{{store.Extra, expiration}}, "expires at 9999999999"},

		{"tombstone cut", []op{put(tomb, make([]byte, 64), []byte("x"))}, []finding{{store.BadValue, tomb}}, ""},
		{"tombstone with half a key", []op{put(tomb, make([]byte, 32), make([]byte, 8))}, []finding{{store.BadKey, tomb}}, ""},
		{"event with a tombstone", []op{put(tomb, append(bytes.Clone(ev.note.Packed.ID()), ev.note.Packed.Pubkey()...), make([]byte, 8))},
			[]finding{{store.Undead, event}}, "in spite of its tombstone"},
		{"mark cut", []op{put(marks, address, []byte("x"))}, []finding{{store.BadValue, marks}}, ""},
		{"mark of no address", []op{put(marks, []byte("x"), mark)}, []finding{{store.BadKey, marks}}, ""},
		{"mark of a regular kind", []op{put(marks, append(make([]byte, 32), 0, 1, 'd', 0), mark)}, []finding{{store.BadKey, marks}}, ""},
		{"mark of two tags", []op{put(marks, append(bytes.Clone(address), 'd', 0), mark)}, []finding{{store.BadKey, marks}}, ""},
		{"event under a mark", []op{put(marks, address, mark)}, []finding{{store.Undead, event}}, "mark of its address"},

		{"vanish mark cut", []op{put(vanish, ev.note.Packed.Pubkey(), []byte("x"))}, []finding{{store.BadValue, vanish}}, "the mark has 1 bytes"},
		{"vanish mark of no key", []op{put(vanish, []byte("x"), uint64s(5))}, []finding{{store.BadKey, vanish}}, ""},
		{"vanish mark of somebody", []op{put(vanish, make([]byte, 32), uint64s(5))}, nil, "no problems"},
		{"vanish mark of before", []op{put(vanish, ev.note.Packed.Pubkey(), uint64s(999))}, nil, "no problems"},
		{"event under a vanish mark", []op{put(vanish, ev.note.Packed.Pubkey(), uint64s(1000))}, []finding{{store.Undead, event}}, "in spite of a request to vanish"},
		{"event under a vanish mark, to be removed", []op{put(vanish, ev.note.Packed.Pubkey(), uint64s(1000)), put(vanishing, append(bytes.Clone(ev.note.Packed.Pubkey()), 0), index.NotAfter(1000).Append(nil))},
			nil, "no problems"},
		{"event under a vanish mark, passed over", []op{put(vanish, ev.note.Packed.Pubkey(), uint64s(1000)), put(vanishing, append(bytes.Clone(ev.note.Packed.Pubkey()), 0), index.NotAfter(999).Append(nil))},
			[]finding{{store.Undead, event}}, ""},
		{"event under a vanish mark, only its wraps to be removed", []op{put(vanish, ev.note.Packed.Pubkey(), uint64s(1000)), put(vanishing, append(bytes.Clone(ev.note.Packed.Pubkey()), 1), index.NotAfter(1000).Append(nil))},
			[]finding{{store.Undead, event}}, ""},
		{"removal of nobody", []op{put(vanishing, make([]byte, 33), index.NotAfter(5).Append(nil))}, []finding{{store.Extra, vanishing}}, "nobody of that key"},
		{"removal beyond the mark", []op{put(vanish, make([]byte, 32), uint64s(5)), put(vanishing, make([]byte, 33), index.NotAfter(6).Append(nil))}, []finding{{store.BadValue, vanishing}}, "begins after the mark"},
		{"removal of no part", []op{put(vanishing, append(make([]byte, 32), 2), index.NotAfter(5).Append(nil))}, []finding{{store.BadKey, vanishing}}, ""},
		{"removal cut", []op{put(vanishing, make([]byte, 33), []byte("x"))}, []finding{{store.BadKey, vanishing}}, "a value of 1"},
		{"removal with a short key", []op{put(vanishing, []byte("x"), index.NotAfter(5).Append(nil))}, []finding{{store.BadKey, vanishing}}, ""},
		{"request gone unheard", []op{del(vanish, ev.bye.Packed.Pubkey(), nil), del(vanishing, append(bytes.Clone(ev.bye.Packed.Pubkey()), 0), nil), del(vanishing, append(bytes.Clone(ev.bye.Packed.Pubkey()), 1), nil)},
			[]finding{{store.Missing, vanish}}, "the mark of request"},
		{"request half heard", []op{put(vanish, ev.bye.Packed.Pubkey(), uint64s(3999)), del(vanishing, append(bytes.Clone(ev.bye.Packed.Pubkey()), 0), nil), del(vanishing, append(bytes.Clone(ev.bye.Packed.Pubkey()), 1), nil)},
			[]finding{{store.Missing, vanish}}, ""},

		{"all: posting gone", []op{del(all, []byte{0}, posting(ev.note, 1))}, []finding{{store.Missing, all}}, ""},
		{"author: posting gone", []op{del(author, ev.note.Packed.Pubkey(), nil)}, []finding{{store.Missing, author}}, ""},
		{"kind: posting gone", []op{del(kind, []byte{0, 1}, posting(ev.note, 1))}, []finding{{store.Missing, kind}}, ""},
		{"author and kind: posting gone", []op{del(authorKind, append(bytes.Clone(ev.note.Packed.Pubkey()), 0, 1), nil)}, []finding{{store.Missing, authorKind}}, ""},
		{"tag: posting gone", []op{del(tags, tag, posting(ev.note, 1))}, []finding{{store.Missing, tags}}, "table tag"},
		{"all: wrong key", []op{put(all, []byte{1}, posting(ev.note, 1))}, []finding{{store.Extra, all}}, "does not belong there"},
		{"author: wrong key", []op{put(author, make([]byte, 32), posting(ev.note, 1))}, []finding{{store.Extra, author}}, ""},
		{"kind: wrong key", []op{put(kind, []byte{0, 2}, posting(ev.note, 1))}, []finding{{store.Extra, kind}}, "key 0002"},
		{"kind: key of no length", []op{put(kind, []byte{2}, posting(ev.note, 1))}, []finding{{store.Extra, kind}}, ""},
		{"author and kind: wrong key", []op{put(authorKind, make([]byte, 34), posting(ev.note, 1))}, []finding{{store.Extra, authorKind}}, ""},
		{"tag: wrong key", []op{put(tags, packed.AppendTag(nil, 't', "z"), posting(ev.note, 1))}, []finding{{store.Extra, tags}}, ""},
		{"tag: another posting", []op{put(tags, tag, posting(ev.list, 1))}, []finding{{store.Extra, tags}}, "the event has time 1000"},
		{"tag: posting of no event", []op{put(tags, tag, posting(ev.note, 6))}, []finding{{store.Extra, tags}}, "no event 6"},
		{"one gone and one too many", []op{del(tags, tag, nil), put(tags, []byte("junk"), posting(ev.note, 1))},
			[]finding{{store.Missing, tags}, {store.Extra, tags}}, "2 problems, 1 missing, 1 extra"},

		{"format gone", []op{del(meta, []byte("format"), nil)}, []finding{{store.Missing, meta}}, `"format"`},
		{"next levId cut", []op{put(meta, []byte("nextLevId"), []byte("x"))}, []finding{{store.BadValue, meta}}, "1 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report := damage(t, ev, test.damage...)
			var got []finding
			for _, p := range report.Problems {
				got = append(got, finding{p.Class, p.Table})
			}
			if sorted(got); !slices.Equal(got, sorted(test.want)) || !strings.Contains(report.String(), test.text) {
				t.Errorf("got %v\nwant %v\nwith %q in\n%s", got, test.want, test.text, &report)
			}
		})
	}
}

func sorted(fs []finding) []finding {
	slices.SortFunc(fs, func(a, b finding) int {
		return int(a.class)<<8 + int(a.table) - int(b.class)<<8 - int(b.table)
	})
	return fs
}

// damage puts the events into a new database, damages that, and checks it.
func damage(t *testing.T, ev damaged, ops ...func(*lmdbx.Txn) error) store.Report {
	t.Helper()
	db, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put(t, db, ev.note, ev.list, ev.request, ev.bye)
	testdb.Check(t, db)
	err = db.UpdateRaw(func(x *lmdbx.Txn) error {
		for _, op := range ops {
			if err := op(x); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := db.Check(t.Context(), store.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	repairs(t, db)
	return report
}

// TestCheckLimit: all problems are counted, some are listed.
func TestCheckLimit(t *testing.T) {
	db, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.UpdateRaw(func(x *lmdbx.Txn) error {
		for i := range uint64(50) {
			if err := x.Put(int(index.TableEventPayload), lmdbx.AppendInt(nil, i), []byte("x")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := db.Check(t.Context(), store.CheckOptions{Limit: 7})
	if err != nil {
		t.Fatal(err)
	}
	if report.Total() != 50 || len(report.Problems) != 7 || report.OK() || !strings.Contains(report.String(), "and 43 more") {
		t.Errorf("total %d, report %s", report.Total(), &report)
	}
}

// TestCheckEnds: a check ends with its context and with its database.
func TestCheckEnds(t *testing.T) {
	db := testdb.Open(t)
	put(t, db, generated(t, 50)...)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	_, err := db.Check(ctx, store.CheckOptions{Progress: func(done, total uint64) { cancel(stop) }})
	if !errors.Is(err, stop) {
		t.Errorf("with its context ended, Check returns %v", err)
	}
	testdb.Check(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Check(t.Context(), store.CheckOptions{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("on a closed database, Check returns %v", err)
	}
}
