package store_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// archive returns a backup of db.
func archive(t testing.TB, db *store.DB, opts store.BackupOptions) ([]byte, store.Manifest) {
	t.Helper()
	var b bytes.Buffer
	m, err := db.Backup(t.Context(), &b, opts)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), m
}

// restore restores archives into a new directory.
func restore(t testing.TB, archives ...[]byte) (*store.DB, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	const mapSize = 1 << 30 // many are open at once
	r, err := store.NewRestore(store.Options{Dir: dir, MapSize: mapSize})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range archives {
		if _, err = r.Apply(t.Context(), bytes.NewReader(a), nil, nil); err != nil {
			break
		}
	}
	if err == nil {
		err = r.Verify(t.Context())
	}
	if err == nil {
		err = r.Place()
	}
	if e := r.Close(); e != nil {
		t.Error(e)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		if len(names) > 0 {
			t.Errorf("a restore that failed has left %q", names)
		}
		return nil, err
	}
	if len(names) != 1 {
		t.Errorf("a restore has left %q", names)
	}
	return testdb.Open(t, func(o *store.Options) { o.Dir, o.MapSize = dir, mapSize }), nil
}

// content returns all events of db as text, with their levIds.
func content(t testing.TB, db *store.DB) (lines []string) {
	t.Helper()
	err := db.View(t.Context(), func(tx *store.Txn) error {
		next, err := tx.LastLevID()
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprint("last ", next))
		return tx.EachEvent(0, func(levID uint64, _ packed.View) error {
			json, _, err := tx.JSON(levID)
			lines = append(lines, fmt.Sprint(levID, " ", string(json)))
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestBackupChain: a chain of increments, up to any of them, restores the same
// database as a full backup of that moment: the same events under the same
// levIds, and every event that ever was is answered alike by both. Between the
// backups events come, replace and delete one another, vanish, expire, are
// deleted without a trace, and are compressed.
func TestBackupChain(t *testing.T) {
	const points = 5
	for seed := range uint64(4) {
		random, rng := testdb.NewRandom(seed), rand.New(rand.NewPCG(seed, 9))
		clock := int64(now)
		db := testdb.Open(t, func(o *store.Options) { o.Now = func() time.Time { return time.Unix(clock, 0) } })
		var all []*nostr.Event
		var fulls, chain [][]byte
		last := store.Manifest{}
		for point := range points {
			all = append(all, mix(t, db, random, rng, point, &clock)...)
			full, m := archive(t, db, store.BackupOptions{Compact: point%2 == 1})
			fulls = append(fulls, full)
			if point == 0 {
				chain, last = append(chain, full), m
				continue
			}
			// Increments may overlap.
			since := last.Last - uint64(rng.IntN(3))
			inc, m := archive(t, db, store.BackupOptions{Incremental: true, Since: since, Base: &last})
			chain, last = append(chain, inc), m
		}
		for point := range points {
			whole, err := restore(t, fulls[point])
			if err != nil {
				t.Fatalf("seed %d, full backup %d: %v", seed, point, err)
			}
			parts, err := restore(t, chain[:point+1]...)
			if err != nil {
				t.Fatalf("seed %d, chain up to %d: %v", seed, point, err)
			}
			a, b := content(t, whole), content(t, parts)
			if !slices.Equal(a, b) {
				t.Errorf("seed %d, point %d: %d events and not %d\n%s", seed, point, len(b)-1, len(a)-1, strings.Join(b, "\n"))
			}
			if a, b := put(t, whole, all...), put(t, parts, all...); !slices.Equal(a, b) {
				t.Errorf("seed %d, point %d: events that come again are answered by\n%v and not\n%v", seed, point, b, a)
			}
		}
	}
}

// mix changes db at random and returns the events that it was given.
func mix(t *testing.T, db *store.DB, random *testdb.Random, rng *rand.Rand, point int, clock *int64) (evs []*nostr.Event) {
	t.Helper()
	for range 30 {
		evs = append(evs, parse(t, random.Event()))
	}
	a := author{t, 7 + rng.IntN(2)}
	for i := range int64(10) {
		evs = append(evs, a.event(1, *clock+i, []string{"t", fmt.Sprint(point)}))
		evs = append(evs, a.event(1, *clock-i, []string{"expiration", fmt.Sprint(*clock + 5 + 10*i)}))
	}
	if rng.IntN(2) == 0 {
		evs = append(evs, a.event(62, *clock-5, []string{"relay", "ALL_RELAYS"}))
	}
	put(t, db, evs...)
	*clock += 20
	if rng.IntN(2) == 0 {
		if _, err := db.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// Without a trace: the newest, whose levIds are not given out again, and others.
	last, some := uint64(0), []uint64{}
	err := db.View(t.Context(), func(tx *store.Txn) (err error) {
		last, err = tx.LastLevID()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		some = append(some, 1+rng.Uint64N(last))
	}
	err = db.Update(func(b *store.Batch) error {
		for _, levID := range append(some, last) {
			if _, err := b.Delete(levID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

// numbered puts n notes of one author, from number i on.
func numbered(t *testing.T, db *store.DB, key, i, n int) {
	t.Helper()
	var evs []*nostr.Event
	for j := range n {
		evs = append(evs, author{t, key}.event(1, int64(now+i+j)))
	}
	put(t, db, evs...)
}

// TestRestoreRefuses: archives that do not follow one another.
func TestRestoreRefuses(t *testing.T) {
	db := testdb.Open(t)
	numbered(t, db, 1, 0, 20)
	since := func(n uint64) store.BackupOptions { return store.BackupOptions{Incremental: true, Since: n} }
	full, m := archive(t, db, store.BackupOptions{})
	numbered(t, db, 1, 20, 20)
	inc40, _ := archive(t, db, since(20))
	numbered(t, db, 1, 40, 20)
	inc60, _ := archive(t, db, since(40))
	late, _ := archive(t, db, store.BackupOptions{})
	if err := db.Update(func(b *store.Batch) error { _, err := b.Delete(7); return err }); err != nil {
		t.Fatal(err)
	}
	removed, _ := archive(t, db, since(60))

	// A copy that goes its own way has the same identity.
	fork := copied(t, full)
	numbered(t, fork, 2, 0, 20)
	forked, forkedManifest := archive(t, fork, since(20))
	numbered(t, fork, 2, 20, 20)
	forked60, _ := archive(t, fork, since(40))

	stranger := testdb.Open(t)
	numbered(t, stranger, 1, 0, 60)
	strange, strangeManifest := archive(t, stranger, since(20))

	for _, test := range []struct {
		name     string
		archives [][]byte
		text     string // "" where it is fine
	}{
		{"in order", [][]byte{full, inc40, inc60, removed}, ""},
		{"overlapping", [][]byte{late, removed}, ""},
		{"an increment again", [][]byte{full, inc40, inc40}, ""},
		{"a fork by itself", [][]byte{full, forked, forked60}, ""},
		{"nothing", nil, "there is none"},
		{"no full one", [][]byte{inc40}, "the first is incremental, from levId 20 on"},
		{"two full ones", [][]byte{full, late}, "a full one comes first"},
		{"one missing", [][]byte{full, inc60}, "one is missing, with levIds 21 to 40"},
		{"out of order", [][]byte{full, inc40, inc60, inc40}, "it is older than the one before"},
		{"out of order, without new events", [][]byte{full, inc40, inc60, removed, inc60}, "there are 59 events where the last archive counts 60"},
		{"of another database", [][]byte{full, strange}, "it is of another database"},
		{"of a fork", [][]byte{full, forked, inc60}, "other events or deletions come out"},
		{"of a fork, overlapping", [][]byte{late, forked60}, "there is another event"},
		{"over a fork", [][]byte{full, inc40, forked}, "there is another event"},
		{"no archive", [][]byte{[]byte("hello\n")}, "ends too early"},
		{"another tar", [][]byte{otherTar(t)}, "this is no archive of wok backup"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := restore(t, test.archives...)
			if test.text == "" && err != nil || test.text != "" && (err == nil || !strings.Contains(err.Error(), test.text)) {
				t.Errorf("got %v, want %q", err, test.text)
			}
		})
	}
	for name, base := range map[string]*store.Manifest{
		"another database":                  &strangeManifest,
		"gone its own way":                  &forkedManifest,
		"come to levId 60 only, and not to": {Database: m.Database, Format: m.Format, Last: 61},
		"upgraded since":                    {Database: m.Database, Format: m.Format + 1, Last: 60},
	} {
		opts := store.BackupOptions{Incremental: true, Since: base.Last, Base: base}
		if _, err := db.Backup(t.Context(), io.Discard, opts); !errors.Is(err, store.ErrBase) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}

// copied returns a copy of the database in a full archive, its identity with it.
func copied(t *testing.T, full []byte) *store.DB {
	t.Helper()
	dir := t.TempDir()
	tr := tar.NewReader(bytes.NewReader(full))
	for {
		h, err := tr.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != "data.mdb" {
			continue
		}
		data, err := io.ReadAll(tr)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, h.Name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return testdb.Open(t, func(o *store.Options) { o.Dir = dir })
	}
}

func otherTar(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return b.Bytes()
}

// TestRestoreExists: a database that is there is not touched.
func TestRestoreExists(t *testing.T) {
	db := testdb.Open(t)
	full, _ := archive(t, db, store.BackupOptions{})
	if _, err := store.NewRestore(store.Options{Dir: db.Dir()}); !errors.Is(err, store.ErrExists) {
		t.Errorf("got %v", err)
	}
	// Nor one that comes meanwhile.
	dir := t.TempDir()
	r, err := store.NewRestore(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.NewRestore(store.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another restore") {
		t.Errorf("two at once: %v", err)
	}
	if _, err := r.Apply(t.Context(), bytes.NewReader(full), nil, nil); err != nil {
		t.Fatal(err)
	}
	other := reopen(t, nil, dir)
	numbered(t, other, 1, 0, 1)
	if err := r.Place(); !errors.Is(err, store.ErrExists) {
		t.Errorf("got %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := left(t, other); len(got) != 1 {
		t.Errorf("left are %q", got)
	}
}

// TestRestoreIdentity: a restored database is another one.
func TestRestoreIdentity(t *testing.T) {
	db := testdb.Open(t)
	full, m := archive(t, db, store.BackupOptions{})
	again, err := restore(t, full)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := again.Identity(t.Context()); err != nil || len(id) != 32 || id == m.Database {
		t.Errorf("identity %s of %s (%v)", id, m.Database, err)
	}
}

// TestRestoreDamaged: of an archive that was cut or changed anywhere nothing is
// restored, unless the change is in bytes that mean nothing.
func TestRestoreDamaged(t *testing.T) {
	db := testdb.Open(t)
	numbered(t, db, 1, 0, 5)
	full, _ := archive(t, db, store.BackupOptions{Compact: true})
	numbered(t, db, 1, 5, 5)
	put(t, db, author{t, 1}.event(5, now, []string{"e", strings.Repeat("ab", 32)}))
	inc, _ := archive(t, db, store.BackupOptions{Incremental: true, Since: 5})
	want := content(t, db)

	try := func(what string, full, inc []byte) {
		t.Helper()
		got, err := restore(t, full, inc)
		if err == nil && !slices.Equal(content(t, got), want) {
			t.Errorf("%s: another database was restored", what)
		}
		if err == nil && !strings.HasPrefix(what, "idle") {
			t.Errorf("%s: it was taken", what)
		}
	}
	for _, a := range []struct {
		name string
		data []byte
	}{{"full", full}, {"incremental", inc}} {
		damage := func(what string, data []byte) {
			t.Helper()
			if a.name == "full" {
				try(what, data, inc)
			} else {
				try(what, full, data)
			}
		}
		for _, r := range regions(t, a.data) {
			for _, at := range r.spots() {
				b := bytes.Clone(a.data)
				b[at] ^= 1 << (at % 8)
				damage(fmt.Sprintf("%s, %s, byte %d", r.name, a.name, at), b)
			}
			damage(fmt.Sprintf("%s, %s, cut before", r.name, a.name), a.data[:r.begin])
			damage(fmt.Sprintf("%s, %s, cut within", r.name, a.name), a.data[:(r.begin+r.end)/2])
		}
	}
}

// A region is a part of an archive; of one that is idle the bytes do not matter.
type region struct {
	name       string
	begin, end int
}

// spots returns some places in a region.
func (r region) spots() []int {
	n := r.end - r.begin
	return []int{r.begin, r.begin + n/3, r.begin + n/2, r.end - 1}
}

// regions parts an archive into headers and contents of its members.
func regions(t *testing.T, data []byte) (rs []region) {
	t.Helper()
	in := bytes.NewReader(data)
	tr := tar.NewReader(in)
	for at := 0; ; {
		h, err := tr.Next()
		if err == io.EOF {
			return rs
		}
		if err != nil {
			t.Fatal(err)
		}
		begin := len(data) - in.Len()
		rs = append(rs, region{"header of " + h.Name, at, at + 154}) // up to the checksum
		rs = append(rs, region{h.Name, begin, begin + int(h.Size)})
		at = begin + int(h.Size+511)/512*512
		if h.Size%512 != 0 {
			rs = append(rs, region{"idle behind " + h.Name, begin + int(h.Size), at})
		}
	}
}

// TestBackupEnds: a backup whose reader fails, or that is broken off, fails.
func TestBackupEnds(t *testing.T) {
	db := testdb.Open(t)
	numbered(t, db, 1, 0, 50)
	stop := errors.New("stop")
	for _, opts := range []store.BackupOptions{{}, {Compact: true}, {Incremental: true}} {
		full, _ := archive(t, db, opts)
		for n := 0; n < len(full)-1024; n += 1 + len(full)/10 {
			if _, err := db.Backup(t.Context(), &short{n, stop}, opts); !errors.Is(err, stop) {
				t.Errorf("%+v, after %d bytes: %v", opts, n, err)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		if _, err := db.Backup(ctx, io.Discard, opts); !errors.Is(err, stop) {
			t.Errorf("broken off: %v", err)
		}
		r, err := store.NewRestore(store.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Apply(ctx, bytes.NewReader(full), nil, nil); err == nil {
			t.Error("a restore that was broken off has gone on")
		}
		r.Close()
	}
}

// short takes n bytes and then fails.
type short struct {
	n   int
	err error
}

func (s *short) Write(b []byte) (int, error) {
	if s.n -= len(b); s.n < 0 {
		return 0, s.err
	}
	return len(b), nil
}

// FuzzRestoreStream: whatever the streams of an increment hold, reading them ends
// in an error or in a database that is sound, and takes no more memory than there
// are bytes.
func FuzzRestoreStream(f *testing.F) {
	f.Add([]byte{0, 3, 1, 1}, []byte{1, 1, 'k', 'v'}, []byte{9, 1, 1, 0, 0})
	f.Add(binary.AppendUvarint(nil, 1<<62), binary.AppendUvarint([]byte{1}, 1<<60), binary.AppendUvarint([]byte{9, 1}, 1<<60))
	db := testdb.Open(f)
	ev, err := nostr.ParseEvent(testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: now}), nostr.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	put(f, db, ev)
	present, rows, events := store.StreamsOf(f, db)
	f.Add(present, rows, events)
	f.Fuzz(func(_ *testing.T, present, rows, events []byte) { store.ReadStreams(present, rows, events) })
}

// TestBackupDictionaries: payloads come back in whichever form they have, old ones
// with the dictionary that the source has removed since.
func TestBackupDictionaries(t *testing.T) {
	db := testdb.Open(t)
	events := generated(t, 1200)
	put(t, db, events[:600]...)
	first := trained(t, db, 8<<10)
	compress(t, db, store.CompressOptions{Form: all(first)})
	full, _ := archive(t, db, store.BackupOptions{})

	put(t, db, events[600:]...)
	second := trained(t, db, 8<<10)
	compress(t, db, store.CompressOptions{Form: all(second)})
	if err := db.RemoveDictionary(t.Context(), uint32(first)); err != nil {
		t.Fatal(err)
	}
	inc, _ := archive(t, db, store.BackupOptions{Incremental: true, Since: 600})

	again, err := restore(t, full, inc)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(contents(t, again), contents(t, db)) {
		t.Error("other events came back")
	}
	compress(t, again, store.CompressOptions{Form: all(second)})
	if err := again.RemoveDictionary(t.Context(), uint32(first)); err != nil {
		t.Error(err)
	}
}
