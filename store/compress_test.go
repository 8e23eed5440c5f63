package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// weird returns events of the small world in which everything collides, and the
// extremes of size and spelling.
func weird(t testing.TB) []*nostr.Event {
	t.Helper()
	var events []*nostr.Event
	r := testdb.NewRandom(7)
	for range 300 {
		events = append(events, parse(t, r.Event()))
	}
	for i, content := range []string{
		"", "\x00\x01\x1f\u007f\u2028\u2029 \\ \" \b\f\n\r\t", "\U0001F600\ufffd",
		string(bytes.Repeat([]byte("wok "), 70_000)), // a frame of several blocks
		string(bytes.Repeat([]byte{'a'}, 255)),
	} {
		events = append(events, parse(t, testdb.Sign(9, testdb.Event{Kind: 1, CreatedAt: int64(i), Content: content})))
	}
	return events
}

// contents returns the JSON of all events by levId.
func contents(t testing.TB, db *store.DB) map[uint64]string {
	t.Helper()
	all := map[uint64]string{}
	err := db.View(t.Context(), func(tx *store.Txn) error {
		return tx.EachEvent(0, func(levID uint64, _ packed.View) error {
			json, ok, err := tx.JSON(levID)
			if err == nil && !ok {
				t.Errorf("event %d has no JSON", levID)
			}
			all[levID] = string(json)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// trained adds a dictionary made from some of the events of db.
func trained(t testing.TB, db *store.DB, size int) store.Form {
	t.Helper()
	var samples [][]byte
	for levID, json := range contents(t, db) {
		if levID%4 == 0 {
			samples = append(samples, []byte(json))
		}
	}
	dict, err := store.TrainDictionary(samples, size)
	if err != nil {
		t.Fatal(err)
	}
	id, err := db.AddDictionary(dict)
	if err != nil {
		t.Fatal(err)
	}
	return store.Form(id)
}

func all(f store.Form) func(packed.View) (store.Form, bool) {
	return func(packed.View) (store.Form, bool) { return f, true }
}

func compress(t testing.TB, db *store.DB, opts store.CompressOptions) store.Compressed {
	t.Helper()
	done, err := db.Compress(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestCompress takes a database from form to form: no answer changes a byte, and
// a dictionary goes only when nobody needs it.
func TestCompress(t *testing.T) {
	db := testdb.Open(t)
	put(t, db, generated(t, 1500)...)
	put(t, db, weird(t)...)
	before := contents(t, db)
	d1, d2 := trained(t, db, 16<<10), trained(t, db, 4<<10)
	same := func(step string) {
		t.Helper()
		if !maps.Equal(contents(t, db), before) {
			t.Errorf("%s has changed events", step)
		}
		testdb.Check(t, db)
	}
	remove := func(f store.Form) error { return db.RemoveDictionary(t.Context(), uint32(f)) }

	done := compress(t, db, store.CompressOptions{Form: all(d1)})
	if done.Seen != uint64(len(before)) || done.Changed < done.Seen*9/10 || done.After > done.Before*6/10 {
		t.Errorf("compressed: %+v", done)
	}
	same("compression")
	if again := compress(t, db, store.CompressOptions{Form: all(d1)}); again.Changed != 0 {
		t.Errorf("compressed again: %+v", again)
	}
	if err := remove(d1); !errors.Is(err, store.ErrInUse) {
		t.Errorf("remove a dictionary in use: %v", err)
	}

	only := func(v packed.View) (store.Form, bool) { return d2, v.Kind() != 1 }
	if done = compress(t, db, store.CompressOptions{Form: only, Level: 3}); done.Changed == 0 {
		t.Errorf("with two dictionaries: %+v", done)
	}
	same("a second dictionary")
	compress(t, db, store.CompressOptions{Form: all(0)})
	same("no dictionary")
	if err := errors.Join(remove(d1), remove(d2)); err != nil {
		t.Errorf("remove what is not in use: %v", err)
	}
	compress(t, db, store.CompressOptions{Form: all(store.Plain)})
	same("decompression")
	if err := remove(d1); !errors.Is(err, store.ErrNoDictionary) {
		t.Errorf("remove a dictionary twice: %v", err)
	}
	if d3 := trained(t, db, 4<<10); d3 <= d2 {
		t.Errorf("id %d was given again", d3)
	}
}

// TestEncode compresses events on their way in.
func TestEncode(t *testing.T) {
	db := testdb.Open(t)
	events := generated(t, 600)
	put(t, db, events[:300]...)
	d := trained(t, db, 8<<10)
	set(t, db, "1=1 7=0 *=off")
	payloads := map[string][]byte{}
	err := db.Update(func(b *store.Batch) error {
		for _, ev := range events[300:] {
			payload := db.Encode(ev)
			payloads[ev.ID()] = payload
			if _, err := b.PutEncoded(ev, payload); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	compressed := 0
	for _, ev := range events[300:] {
		if payload := payloads[ev.ID()]; payload != nil {
			compressed++
			if k := ev.Packed.Kind(); k != 1 && k != 7 || len(payload) > len(ev.JSON) {
				t.Errorf("kind %d has become %d of %d bytes", k, len(payload), len(ev.JSON))
			}
		}
	}
	if compressed < 50 {
		t.Errorf("%d events were compressed", compressed)
	}
	contents(t, db)

	if done := compress(t, db, store.CompressOptions{Form: all(d)}); done.Changed == 0 {
		t.Errorf("the rest: %+v", done)
	}
	set(t, db, "*=77")
	if payload := db.Encode(events[0]); payload != nil {
		t.Errorf("compressed with a dictionary that is not there: %x", payload)
	}
	db.View(t.Context(), func(tx *store.Txn) error {
		if l, err := tx.Lacking(parseCompression(t, "1=1 2=77 *=78 7=0")); !slices.Equal(l, []uint32{77, 78}) || err != nil {
			t.Errorf("lacking %d, %v", l, err)
		}
		return nil
	})
}

func parseCompression(t testing.TB, text string) store.Compression {
	t.Helper()
	c, err := store.ParseCompression(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func set(t testing.TB, db *store.DB, text string) {
	t.Helper()
	db.SetCompression(parseCompression(t, text))
}

// TestEncodeRaces removes the dictionary between the compression of an event and
// its commit: the event is stored plain.
func TestEncodeRaces(t *testing.T) {
	db := testdb.Open(t)
	events := generated(t, 301)
	put(t, db, events[:300]...)
	d := trained(t, db, 8<<10)
	set(t, db, "1")
	ev := parse(t, testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: 5, Content: "a note of some words, as they are"}))
	payload := db.Encode(ev)
	if payload == nil {
		t.Fatal("not compressed")
	}
	if err := db.RemoveDictionary(t.Context(), uint32(d)); err != nil {
		t.Fatal(err)
	}
	err := db.Update(func(b *store.Batch) error {
		st, err := b.PutEncoded(ev, payload)
		if st != store.Stored {
			t.Errorf("status %v", st)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := slices.Collect(maps.Values(contents(t, db))); !slices.Contains(all, string(ev.JSON)) {
		t.Error("the event is not there")
	}
}

// TestCompressEnds cuts a pass off after its first transaction; the next one goes on.
func TestCompressEnds(t *testing.T) {
	db := testdb.Open(t)
	put(t, db, generated(t, 1500)...)
	before := contents(t, db)
	d := trained(t, db, 8<<10)
	ctx, cancel := context.WithCancel(t.Context())
	done, err := db.Compress(ctx, store.CompressOptions{Form: all(d), Gentle: true, Progress: func(store.Compressed) { cancel() }})
	if !errors.Is(err, context.Canceled) || done.Changed == 0 || done.Changed > 600 {
		t.Fatalf("cut off: %+v, %v", done, err)
	}
	rest := compress(t, db, store.CompressOptions{Form: all(d), From: done.Next})
	if rest.Seen+done.Seen != uint64(len(before)) {
		t.Errorf("seen %d and %d of %d", done.Seen, rest.Seen, len(before))
	}
	if !maps.Equal(contents(t, db), before) {
		t.Error("events have changed")
	}
}

// payloadOf returns the payload of an event as it is stored.
func payloadOf(t testing.TB, db *store.DB, levID uint64) (payload []byte) {
	t.Helper()
	err := db.UpdateRaw(func(tx *lmdbx.Txn) error {
		b, _, err := tx.Get(int(index.TableEventPayload), lmdbx.AppendInt(nil, levID))
		payload = bytes.Clone(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// TestDamagedFrame damages a frame in every place: no damage yields other JSON.
func TestDamagedFrame(t *testing.T) {
	db := testdb.Open(t)
	put(t, db, generated(t, 400)...)
	before := contents(t, db)
	compress(t, db, store.CompressOptions{Form: all(trained(t, db, 8<<10))})
	whole := payloadOf(t, db, 3)
	if whole[0] != 1 {
		t.Fatal("event 3 is not compressed")
	}
	try := func(what string, at int, b []byte) {
		t.Helper()
		json, err := db.DecodePayload(b)
		if err == nil && string(json) != before[3] || err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s at %d: %v, %.40q", what, at, err, json)
		}
	}
	for i := range whole {
		try("cut", i, whole[:i])
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			try("flip", i, b)
		}
	}
	try("more", 0, append(bytes.Clone(whole), 0))
	try("twice", 0, append(bytes.Clone(whole), whole[5:]...))

	// A frame that claims to be of 3 GiB, and one that is not damaged but larger
	// than ours are.
	for _, size := range []uint32{3 << 30, 5 << 20} {
		b := []byte{1, 0, 0, 0, 0, 0x28, 0xb5, 0x2f, 0xfd, 0xa0}
		b = binary.LittleEndian.AppendUint32(b, size)
		b = append(b, 3, 0, 16, 'a') // a run
		if _, err := db.DecodePayload(b); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("a frame of %d bytes: %v", size, err)
		}
	}
}

// TestParseCompression reads the syntax of the configuration.
func TestParseCompression(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
		form map[uint16]store.Form
	}{
		{"", "off", map[uint16]store.Form{1: store.Plain}},
		{"off", "*=off", map[uint16]store.Form{1: store.Plain}},
		{"3", "*=3", map[uint16]store.Form{0: 3, 65535: 3}},
		{"*=3 1=4", "1=4 *=3", map[uint16]store.Form{1: 4, 2: 3}},
		{"30000-39999=2, 30023=1,1059=off *=0", "30023=1 1059=off 30000-39999=2 *=0",
			map[uint16]store.Form{30023: 1, 30024: 2, 1059: store.Plain, 7: 0}},
		{"1=1 1=2", "1=1 1=2", map[uint16]store.Form{1: 1, 2: store.Plain}},
	} {
		got := parseCompression(t, c.text)
		if got.String() != c.want || got.Off() != (c.text == "" || c.text == "off") {
			t.Errorf("%q is %q, off %v", c.text, got, got.Off())
		}
		for kind, form := range c.form {
			if f := got.Form(kind); f != form {
				t.Errorf("%q: kind %d is %v", c.text, kind, f)
			}
		}
	}
	for _, text := range []string{"on", "1=", "=3", "x=3", "5-4=1", "65536=1", "1=-1", "1=4294967296", "1==2", "1-=2"} {
		if c, err := store.ParseCompression(text); err == nil {
			t.Errorf("%q is %q", text, c)
		}
	}
}

// FuzzPayload decodes any bytes as a payload.
func FuzzPayload(f *testing.F) {
	db := testdb.Open(f)
	put(f, db, generated(f, 300)...)
	compress(f, db, store.CompressOptions{Form: all(trained(f, db, 4<<10))})
	for levID := range uint64(20) {
		f.Add(payloadOf(f, db, levID+1))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if json, err := db.DecodePayload(b); err != nil && !errors.Is(err, store.ErrCorrupt) || len(json) > 4<<20 {
			t.Errorf("%d bytes, %v", len(json), err)
		}
	})
}

// TestKeepCompressed compresses what is there and what comes, and goes on after
// a restart where it was.
func TestKeepCompressed(t *testing.T) {
	db := testdb.Open(t)
	events := generated(t, 900)
	put(t, db, events[:600]...)
	before := contents(t, db)
	trained(t, db, 8<<10)
	keep := func(text string, more func()) (total store.Compressed) {
		ctx, cancel := context.WithCancel(t.Context())
		set(t, db, text)
		passes := 0
		db.KeepCompressed(ctx, 1, func(done store.Compressed, err error) {
			if err != nil {
				t.Error(err)
			}
			total.Seen += done.Seen
			total.Changed += done.Changed
			if passes++; passes == 1 && more != nil {
				more()
				return
			}
			cancel()
		})
		cancel()
		return total
	}
	first := keep("*=1", func() { put(t, db, events[600:]...) })
	if first.Changed < uint64(len(before)) {
		t.Errorf("%+v of %d events", first, len(before))
	}
	for levID, json := range contents(t, db) {
		if old, ok := before[levID]; ok && old != json {
			t.Errorf("event %d has changed", levID)
		}
	}
	if again := keep("*=1 1=0", nil); again.Changed == 0 || again.Seen < uint64(len(before)) {
		t.Errorf("with another rule: %+v", again)
	}
}
