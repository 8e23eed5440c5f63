package packed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestView(t *testing.T) {
	h := Header{CreatedAt: MaxCreatedAt, Kind: MaxKind, Expiration: 1<<64 - 1}
	for i := range h.ID {
		h.ID[i], h.Pubkey[i] = byte(i), byte(i+100)
	}
	b := AppendHeader([]byte("before"), &h)[len("before"):]
	v, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(v) != HeaderSize || !bytes.Equal(v.ID(), h.ID[:]) || !bytes.Equal(v.Pubkey(), h.Pubkey[:]) {
		t.Errorf("%x", []byte(v))
	}
	if v.CreatedAt() != h.CreatedAt || v.Kind() != h.Kind || v.Expiration() != h.Expiration {
		t.Errorf("created_at %d, kind %d, expiration %d", v.CreatedAt(), v.Kind(), v.Expiration())
	}
	if cap(v.ID()) != 32 || cap(v.Pubkey()) != 32 {
		t.Error("appending to a borrowed field would write into the event")
	}
	c := v.Clone()
	b[0] ^= 1
	if bytes.Equal(c, b) {
		t.Error("a clone shares its bytes")
	}
}

func TestExpired(t *testing.T) {
	for _, c := range []struct {
		expiration, now uint64
		want            bool
	}{{0, 0, false}, {0, 1 << 63, false}, {5, 4, false}, {5, 5, true}, {5, 6, true}, {1, 1700000000, true}} {
		v := View(AppendHeader(nil, &Header{Expiration: c.expiration}))
		if v.Expired(c.now) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// Which form a value takes, and that the form is the only one there is.
func TestAppendTag(t *testing.T) {
	digits := strings.Repeat("0123456789abcdef", 4)
	bin, _ := hex.DecodeString(digits)
	long := strings.Repeat("x", MaxText+1)
	sum := sha256.Sum256([]byte(long))
	for _, c := range []struct {
		value string
		form  Form
		want  string
	}{
		{"", Text, ""},
		{"a", Text, "a"},
		{digits, Hex, string(bin)},
		{digits[1:], Text, digits[1:]},
		{digits + "0", Text, digits + "0"},
		{strings.ToUpper(digits), Text, strings.ToUpper(digits)},
		{digits[:63] + "g", Text, digits[:63] + "g"},
		{"\x00" + digits[1:], Text, "\x00" + digits[1:]},
		{string(bin), Text, string(bin)}, // 32 bytes are not an id
		{string(sum[:]), Text, string(sum[:])},
		{long[1:], Text, long[1:]},
		{long, Hash, string(sum[:])},
	} {
		for _, letter := range []byte("azAZ") {
			got := Tag(AppendTag([]byte("before"), letter, c.value)[len("before"):])
			if got.Letter() != letter || got.Form() != c.form || string(got.Value()) != c.want {
				t.Errorf("%.70q: letter %c, %s, value %q", c.value, got.Letter(), got.Form(), got.Value())
			}
			if fromBytes := AppendTag(nil, letter, []byte(c.value)); !bytes.Equal(fromBytes, got) {
				t.Errorf("%.70q: from bytes %x", c.value, fromBytes)
			}
			if n, err := checkTag(got); err != nil || n != len(got) {
				t.Errorf("%.70q: %d %v", c.value, n, err)
			}
		}
	}
}

// No tag's bytes begin another's, and none of other form equals it: keys of
// the tag index are looked up whole.
func TestTagsArePrefixFree(t *testing.T) {
	digits := strings.Repeat("0123456789abcdef", 4)
	bin, _ := hex.DecodeString(digits)
	long := strings.Repeat("x", MaxText+1)
	sum := sha256.Sum256([]byte(long))
	values := []string{"", "a", "ab", "abc", digits, string(bin), string(bin[:31]), long, long[1:], string(sum[:]), hex.EncodeToString(sum[:])}
	var tags []Tag
	for _, letter := range []byte("eE") {
		for _, v := range values {
			tags = append(tags, AppendTag(nil, letter, v))
		}
	}
	for i, a := range tags {
		for j, b := range tags {
			if i != j && bytes.HasPrefix(b, a) {
				t.Errorf("%s begins %s", a, b)
			}
		}
	}
}

func TestTags(t *testing.T) {
	v := everyForm()
	var letters []byte
	ts := v.Tags()
	for tag, ok := ts.Next(); ok; tag, ok = ts.Next() {
		letters = append(letters, tag.Letter())
		if cap(tag) != len(tag) {
			t.Error("appending to a borrowed tag would write into the event")
		}
	}
	if string(letters) != "dteExrrZ" {
		t.Errorf("letters %s", letters)
	}
	if first, ok := v.First('r'); !ok || first.Form() != Text {
		t.Errorf("first r: %v %v", first, ok)
	}
	if _, ok := v.First('q'); ok {
		t.Error("there is no q")
	}
	if _, ok := View(AppendHeader(nil, &Header{})).First('d'); ok {
		t.Error("there is no tag")
	}
}

// A row that is damaged on disk is read to where it is cut, without a panic.
func TestTagsCut(t *testing.T) {
	v := everyForm()
	for n := HeaderSize; n <= len(v); n++ {
		ts, read := v[:n:n].Tags(), HeaderSize
		for tag, ok := ts.Next(); ok; tag, ok = ts.Next() {
			read += len(tag)
		}
		if read > n || isBoundary(v, n) && read != n {
			t.Errorf("of %d bytes %d are read", n, read)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good := everyForm()
	header := good[:HeaderSize]
	with := func(tags ...byte) []byte { return append(bytes.Clone(header), tags...) }
	set := func(at int, value byte) []byte {
		b := bytes.Clone(good)
		b[at] = value
		return b
	}
	digits := []byte(strings.Repeat("0123456789abcdef", 4))
	for name, b := range map[string][]byte{
		"empty":                 nil,
		"header cut":            header[:HeaderSize-1],
		"created_at 2^40":       set(offCreatedAt+5, 1),
		"created_at with top":   set(offCreatedAt+7, 0x80),
		"kind 65536":            set(offKind+2, 1),
		"kind with top":         set(offKind+7, 0x80),
		"one stray byte":        with('a'),
		"value cut":             with('a', 2, 'x'),
		"zeros":                 with(0, 0),
		"no form":               with('a'&letterBits, 0),
		"no letter":             with('@', 0),
		"no letter, above":      with('['|0x40, 0),
		"hex of 31 bytes":       with(append([]byte{tagName('a', Hex), 31}, digits[:31]...)...),
		"hash of 33 bytes":      with(append([]byte{tagName('a', Hash), 33}, digits[:33]...)...),
		"hex of none":           with(tagName('a', Hex), 0),
		"hex digits as text":    with(append([]byte{'a', 64}, digits...)...),
		"fault in a second tag": with('a', 0, 'b', 9),
	} {
		if v, err := Parse(b); err == nil {
			t.Errorf("%s: parsed %x", name, []byte(v))
		}
	}
	for n := range len(good) {
		if _, err := Parse(good[:n]); err == nil && !isBoundary(good, n) {
			t.Errorf("the first %d bytes parse", n)
		}
	}
}

// isBoundary reports whether a tag of v ends at byte n.
func isBoundary(v View, n int) bool {
	at := HeaderSize
	ts := v.Tags()
	for tag, ok := ts.Next(); ok && at < n; tag, ok = ts.Next() {
		at += len(tag)
	}
	return at == n
}

func TestDecodeHex(t *testing.T) {
	src := []byte(strings.Repeat("0123456789abcdef", 8))
	want, _ := hex.DecodeString(string(src))
	dst := make([]byte, 64)
	if !DecodeHex(dst, src) || !bytes.Equal(dst, want) {
		t.Fatalf("%x", dst)
	}
	// Every byte in every place of a group of eight.
	for c := range 256 {
		for at := range 16 {
			text := []byte("0123456789abcdef")
			text[at] = byte(c)
			valid := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
			var eight [8]byte
			if DecodeHex(eight[:], text) != valid {
				t.Fatalf("byte %#x at %d: %v", c, at, !valid)
			}
			if want, err := hex.DecodeString(string(text)); valid && (err != nil || !bytes.Equal(eight[:], want)) {
				t.Fatalf("%s: %x", text, eight)
			}
		}
	}
	for _, n := range []int{0, 63, 65, 128} {
		var id [32]byte
		if DecodeHex(id[:], src[:n]) {
			t.Errorf("%d digits fill 32 bytes", n)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	v := everyForm()
	value := bytes.Repeat([]byte("0123456789abcdef"), 4)
	buf := make([]byte, 0, 2*MaxTag)
	sum := uint64(0)
	for name, f := range map[string]func(){
		"fields": func() {
			sum += v.CreatedAt() + uint64(v.Kind()) + v.Expiration() + uint64(v.ID()[0]) + uint64(v.Pubkey()[0])
		},
		"tags": func() {
			ts := v.Tags()
			for tag, ok := ts.Next(); ok; tag, ok = ts.Next() {
				sum += uint64(tag.Letter()) + uint64(tag.Form()) + uint64(len(tag.Value()))
			}
		},
		"first": func() { v.First('Z') },
		"parse": func() {
			if _, err := Parse(v); err != nil {
				t.Fatal(err)
			}
		},
		"append": func() { AppendTag(AppendTag(buf, 'e', value), 't', "text") },
	} {
		if n := testing.AllocsPerRun(100, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// FuzzParse: what Parse takes can be read to its end, and building it anew from
// what is read gives the same bytes, so that there is one packed form only.
func FuzzParse(f *testing.F) {
	good := everyForm()
	f.Add([]byte(good))
	f.Add([]byte(good[:HeaderSize]))
	f.Add(append(bytes.Clone(good[:HeaderSize]), 'a', 200, 1))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err != nil {
			return
		}
		h := Header{ID: [32]byte(v.ID()), Pubkey: [32]byte(v.Pubkey()), CreatedAt: v.CreatedAt(), Kind: v.Kind(), Expiration: v.Expiration()}
		built := AppendHeader(nil, &h)
		ts := v.Tags()
		for tag, ok := ts.Next(); ok; tag, ok = ts.Next() {
			switch tag.Form() {
			case Text:
				built = AppendTag(built, tag.Letter(), tag.Value())
			case Hex:
				built = AppendTag(built, tag.Letter(), hex.EncodeToString(tag.Value()))
			case Hash:
				built = append(built, tag...)
			}
		}
		if len(ts) != 0 || !bytes.Equal(built, b) {
			t.Fatalf("built\n%x from\n%x", built, b)
		}
		if err := Dump(new(bytes.Buffer), v); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkPackedView(b *testing.B) {
	v := everyForm()
	b.Run("fields", func(b *testing.B) {
		b.ReportAllocs()
		sum := uint64(0)
		for b.Loop() {
			sum += v.CreatedAt() + uint64(v.Kind()) + uint64(v.ID()[0])
		}
	})
	b.Run("tags", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.First('Z')
		}
	})
}

func BenchmarkDecodeHex(b *testing.B) {
	src := []byte(strings.Repeat("0123456789abcdef", 4))
	var dst [32]byte
	for b.Loop() {
		if !DecodeHex(dst[:], src) {
			b.Fatal("no hex")
		}
	}
}

func BenchmarkAppendTag(b *testing.B) {
	src := []byte(strings.Repeat("0123456789abcdef", 4))
	buf := make([]byte, 0, MaxTag)
	b.ReportAllocs()
	for b.Loop() {
		AppendTag(buf, 'e', src)
	}
}
