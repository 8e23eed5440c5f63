package store_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// day is a day in seconds, and today when the events of these tests are looked at.
const (
	day   = 24 * 60 * 60
	today = 1000 * day
)

// aged returns events of some authors and kinds, created on the 100 days before
// today, in no order.
func aged(t *testing.T, n int) []*nostr.Event {
	rng := rand.New(rand.NewPCG(1, 1))
	var events []*nostr.Event
	for i := range n {
		by := author{t, rng.IntN(3)}
		kind := []int{1, 1, 1, 1, 6, 7, 7, 0, 3, 5, 62, 1059, 10002, 30023}[rng.IntN(14)]
		tags := [][]string{{"d", fmt.Sprint(rng.IntN(20))}, {"n", fmt.Sprint(i)}}
		if kind == 62 {
			by = author{t, 100 + i} // or nothing would be left of the others
		}
		events = append(events, by.event(kind, int64(today-rng.IntN(100*day)), tags...))
	}
	return events
}

// A row is what there is to know of a stored event.
type row struct {
	id      string
	levID   uint64
	created uint64
	kind    uint16
	author  string
}

// rows returns all stored events, newest first.
func rows(t *testing.T, db *store.DB) (rows []row) {
	view(t, db, func(tx *store.Txn) error {
		return tx.EachEvent(0, func(levID uint64, v packed.View) error {
			rows = append(rows, row{fmt.Sprintf("%x", v.ID()), levID, v.CreatedAt(), v.Kind(), string(v.Pubkey())})
			return nil
		})
	})
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.id, b.id))
	})
	return rows
}

// clockAt opens a database at a time.
func clockAt(t *testing.T, unix int64) (*store.DB, *watch) {
	var clock watch
	clock.unix.Store(unix)
	return clock.open(t, nil, t.TempDir()), &clock
}

// beyond returns the rows of which so many of the same group are newer.
func beyond(rows []row, n int, group func(row) string) (gone []row) {
	seen := map[string]int{}
	for _, r := range rows {
		if seen[group(r)]++; seen[group(r)] > n {
			gone = append(gone, r)
		}
	}
	return gone
}

// Each rule removes what a plain reading of it says, no less and no more, also
// where that takes many transactions.
func TestRetain(t *testing.T) {
	events := aged(t, 4000)
	kinds := func(ks ...uint16) (rs []store.KindRange) {
		for _, k := range ks {
			rs = append(rs, store.KindRange{First: k, Last: k})
		}
		return rs
	}
	all := []store.KindRange{{First: 0, Last: 65535}}
	oneOf := func(rows []row, r *store.Rule) []row {
		return slices.DeleteFunc(slices.Clone(rows), func(e row) bool { return !r.Covers(e.kind) })
	}
	for _, c := range []struct {
		name string
		rule store.Rule
	}{
		{"age of all", store.Rule{Age: 30 * day}},
		{"age of kinds", store.Rule{Kinds: kinds(7, 30023, 9999), Age: 50 * day}},
		{"age of any", store.Rule{Kinds: all, Age: 1 * day}},
		{"age of nothing yet", store.Rule{Kinds: all, Age: 200 * day}},
		{"age before the clock began", store.Rule{Kinds: all, Age: 1 << 62}},
		{"by author", store.Rule{PerAuthor: 10}},
		{"by author, one kind", store.Rule{Kinds: kinds(1), PerAuthor: 300}},
		{"by author, many kinds", store.Rule{Kinds: []store.KindRange{{First: 1, Last: 10}}, PerAuthor: 1}},
		{"by author, all there are", store.Rule{Kinds: all, PerAuthor: 5000}},
		{"events", store.Rule{MaxEvents: 700}},
		{"events of kinds", store.Rule{Kinds: kinds(1, 5, 62), MaxEvents: 10}},
		{"events, all there are", store.Rule{MaxEvents: 5000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, _ := clockAt(t, today)
			put(t, db, events...)
			before := rows(t, db)
			var gone []row
			switch r := &c.rule; {
			case r.Age > 0:
				gone = slices.DeleteFunc(oneOf(before, r), func(e row) bool { return e.created+r.Age > today || r.Age > today })
			case r.PerAuthor > 0:
				gone = beyond(oneOf(before, r), int(r.PerAuthor), func(e row) string { return fmt.Sprint(e.author, e.kind) })
			default:
				gone = beyond(oneOf(before, r), int(r.MaxEvents), func(row) string { return "" })
			}
			told := store.Pruned{}
			sum, err := db.Retain(t.Context(), &c.rule, func(so store.Pruned) { told = so })
			if err != nil || sum.Events != uint64(len(gone)) || sum != told {
				t.Errorf("removed %+v, told of %+v (%v), want %d", sum, told, err, len(gone))
			}
			want := slices.DeleteFunc(before, func(e row) bool { return slices.Contains(gone, e) })
			if got := rows(t, db); !slices.Equal(got, want) {
				t.Errorf("%d events are left, want %d", len(got), len(want))
			}
			if sum, err := db.Retain(t.Context(), &c.rule, nil); err != nil || sum.Events != 0 {
				t.Errorf("a second time removed %+v (%v)", sum, err)
			}
		})
	}
}

func TestRuleCovers(t *testing.T) {
	every := store.Rule{Age: 1}
	some := store.Rule{Kinds: []store.KindRange{{First: 5, Last: 7}, {First: 30000, Last: 30000}}, Age: 1}
	for kind, want := range map[uint16][2]bool{
		1: {true, false}, 4: {true, false}, 7: {true, true}, 8: {true, false}, 1059: {true, false}, 65535: {true, false},
		5: {false, true}, 62: {false, false}, // what deletes
		0: {false, false}, 3: {false, false}, 10002: {false, false}, 30000: {false, true}, 39999: {false, false}, // what is replaced
	} {
		if got := [2]bool{every.Covers(kind), some.Covers(kind)}; got != want {
			t.Errorf("kind %d: %v, want %v", kind, got, want)
		}
	}
}

// The bound of age is inclusive.
func TestRetainAge(t *testing.T) {
	db, _ := clockAt(t, today)
	put(t, db, author{t, 1}.event(1, today), author{t, 1}.event(1, today-day+1), author{t, 1}.event(1, today-day), author{t, 1}.event(1, today-day-1))
	if sum, err := db.Retain(t.Context(), &store.Rule{Age: day}, nil); err != nil || sum.Events != 2 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// The size of a database is that of its used pages, and who came first goes first.
func TestRetainSize(t *testing.T) {
	db, _ := clockAt(t, today)
	put(t, db, generated(t, 3000)...)
	used := func() (n uint64) {
		view(t, db, func(tx *store.Txn) (err error) { n, err = tx.UsedBytes(); return err })
		return n
	}
	full, before := used(), rows(t, db)
	rule := store.Rule{MaxBytes: full * 2 / 3}
	sum, err := db.Retain(t.Context(), &rule, nil)
	if err != nil || used() > rule.MaxBytes || sum.Events == 0 {
		t.Errorf("%d of %d bytes are left, %d were asked for; %+v (%v)", used(), full, rule.MaxBytes, sum, err)
	}
	after := rows(t, db)
	first := slices.MinFunc(slices.DeleteFunc(slices.Clone(after), func(r row) bool { return !rule.Covers(r.kind) }),
		func(a, b row) int { return cmp.Compare(a.levID, b.levID) })
	for _, r := range before {
		gone := !slices.Contains(after, r)
		if want := rule.Covers(r.kind) && r.levID < first.levID; gone != want {
			t.Errorf("event %d of kind %d: gone %v; the first that is left is %d", r.levID, r.kind, gone, first.levID)
		}
	}
	if sum.Events > uint64(len(before))/2+1000 {
		t.Errorf("%d of %d events had to go", sum.Events, len(before))
	}
}

// A clock that has jumped ahead makes nothing old.
func TestRetainClock(t *testing.T) {
	db, clock := clockAt(t, today)
	put(t, db, author{t, 1}.event(1, today-60*day), author{t, 1}.event(1, today), author{t, 1}.event(1, 1<<39))
	rule := store.Rule{Age: 45 * day}
	clock.unix.Store(today + 31*day)
	if sum, err := db.Retain(t.Context(), &rule, nil); !errors.Is(err, store.ErrClock) || sum.Events != 0 {
		t.Errorf("31 days ahead: %+v, %v", sum, err)
	}
	clock.unix.Store(today + 30*day)
	if sum, err := db.Retain(t.Context(), &rule, nil); err != nil || sum.Events != 1 {
		t.Errorf("30 days ahead: %+v, %v", sum, err)
	}
	clock.unix.Store(1) // set back
	if sum, err := db.Retain(t.Context(), &rule, nil); err != nil || sum.Events != 0 {
		t.Errorf("set back: %+v, %v", sum, err)
	}
}

// What a rule removes, vanish and deletion marks outlive: nothing comes back that
// its author has deleted.
func TestRetainKeepsDeletions(t *testing.T) {
	db, _ := clockAt(t, today)
	alice, bob := author{t, 1}, author{t, 2}
	note, secret := alice.event(1, today-80*day), bob.event(1, today-80*day)
	put(t, db, alice.event(5, today-70*day, []string{"e", note.ID()}), bob.event(62, today-70*day, []string{"relay", "ALL_RELAYS"}))
	rule := store.Rule{Kinds: []store.KindRange{{First: 0, Last: 65535}}, Age: day}
	put(t, db, alice.event(1, today))
	if sum, err := db.Retain(t.Context(), &rule, nil); err != nil || sum.Events != 2 {
		t.Errorf("%+v, %v", sum, err)
	}
	if got := put(t, db, note, secret); !slices.Equal(got, []store.Status{store.Deleted, store.Vanished}) {
		t.Errorf("they came back: %v", got)
	}
}

// levIDsOf picks the events with these levIds.
func levIDsOf(levIDs ...uint64) store.Pick {
	return func(_ *store.Txn, n int) ([]uint64, bool, error) {
		n = min(n, len(levIDs))
		now := levIDs[:n]
		levIDs = levIDs[n:]
		return now, len(levIDs) > 0, nil
	}
}

// Tombstones keep what was removed from coming back, of an address older versions
// too, but no newer ones.
func TestBury(t *testing.T) {
	db, _ := clockAt(t, today)
	alice := author{t, 1}
	d := []string{"d", "x"}
	note, profile, article := alice.event(1, 10), alice.event(0, 10), alice.event(30023, 10, d)
	deletion := alice.event(5, 10)
	put(t, db, note, profile, article, deletion)
	sum, err := db.Prune(t.Context(), levIDsOf(1, 2, 3, 4, 77), store.PruneOptions{Tombstones: true})
	if err != nil || sum != (store.Pruned{Events: 4}) {
		t.Errorf("%+v, %v", sum, err)
	}
	got := put(t, db, note, profile, article, deletion,
		alice.event(0, 9), alice.event(30023, 9, d), alice.event(0, 11), alice.event(30023, 11, d), alice.event(1, 11))
	const deleted, stored = store.Deleted, store.Stored
	if want := []store.Status{deleted, deleted, deleted, stored, deleted, deleted, stored, stored, stored}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// An event that cannot be read stays, is counted, and does not keep others.
func TestPruneUnreadable(t *testing.T) {
	db, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put(t, db, aged(t, 50)...)
	before := len(rows(t, db))
	lev := levIDs(t, db)
	err = db.UpdateRaw(func(x *lmdbx.Txn) error {
		val, _, err := x.Get(int(index.TableEvent), lmdbx.AppendInt(nil, lev[3]))
		if err != nil {
			return err
		}
		return x.Put(int(index.TableEvent), lmdbx.AppendInt(nil, lev[3]), append(bytes.Clone(val), 'x'))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tombstones := range []bool{false, true} {
		sum, err := db.Prune(t.Context(), levIDsOf(lev[:10]...), store.PruneOptions{Tombstones: tombstones})
		if want := uint64(9); err != nil || sum.Unreadable != 1 || !tombstones && sum.Events != want {
			t.Errorf("%+v, %v", sum, err)
		}
	}
	if got := len(levIDs(t, db)); got != before-9 {
		t.Errorf("%d are left of %d", got, before)
	}
}
