package nostr

import (
	"fmt"
	"strings"
	"testing"

	gonostr "github.com/nbd-wtf/go-nostr"

	"wok/index"
	"wok/packed"
)

func TestMatch(t *testing.T) {
	url := "https://example.com/" + strings.Repeat("x", 580)
	raw32 := "\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa"
	at := func(sec int64) *gonostr.Event { return &gonostr.Event{CreatedAt: gonostr.Timestamp(sec)} }
	tagged := func(tags ...gonostr.Tag) *gonostr.Event { return &gonostr.Event{Tags: tags} }
	tests := []struct {
		name   string
		filter string
		event  *gonostr.Event
		want   bool
	}{
		{"no condition", `{}`, at(1), true},
		{"01-R27 since is inclusive", `{"since":5}`, at(5), true},
		{"01-R27 before since", `{"since":5}`, at(4), false},
		{"01-R27 until is inclusive", `{"until":5}`, at(5), true},
		{"01-R27 after until", `{"until":5}`, at(6), false},
		{"until 0 is a bound", `{"until":0}`, at(1), false},
		{"until 0 is inclusive", `{"until":0}`, at(0), true},
		{"since after until", `{"since":6,"until":5}`, at(5), false},
		{"01-R28 limit 0 is live", `{"limit":0}`, at(5), true},
		{"01-R25 no ids", `{"ids":[]}`, at(1), false},
		{"01-R25 no authors", `{"authors":[]}`, at(1), false},
		{"01-R25 no kinds", `{"kinds":[]}`, at(1), false},
		{"01-R25 no tag values", `{"#t":[]}`, tagged(gonostr.Tag{"t", ""}), false},

		{"tag", `{"#t":["ab"]}`, tagged(gonostr.Tag{"t", "ab"}), true},
		{"the value is longer", `{"#t":["a"]}`, tagged(gonostr.Tag{"t", "ab"}), false},
		{"the value is shorter", `{"#t":["ab"]}`, tagged(gonostr.Tag{"t", "a"}), false},
		{"another letter", `{"#t":["a"]}`, tagged(gonostr.Tag{"r", "a"}), false},
		{"01-R19 letters have case", `{"#t":["a"]}`, tagged(gonostr.Tag{"T", "a"}), false},
		{"01-R19 uppercase", `{"#T":["a"]}`, tagged(gonostr.Tag{"t", "x"}, gonostr.Tag{"T", "a"}), true},
		{"01-R19 only the first value of a tag", `{"#t":["b"]}`, tagged(gonostr.Tag{"t", "a", "b"}), false},
		{"values have case", `{"#t":["A"]}`, tagged(gonostr.Tag{"t", "a"}), false},
		{"empty value", `{"#t":[""]}`, tagged(gonostr.Tag{"t", ""}), true},
		{"no value is not the empty one", `{"#t":[""]}`, tagged(gonostr.Tag{"t"}), false},
		{"no tag is not the empty value", `{"#d":[""]}`, tagged(), false},
		{"the empty value is no prefix", `{"#t":[""]}`, tagged(gonostr.Tag{"t", "a"}), false},
		{"01-R24 any of the values", `{"#t":["a","b","c"]}`, tagged(gonostr.Tag{"t", "x"}, gonostr.Tag{"t", "b"}), true},
		{"01-R24 both conditions", `{"#t":["a"],"#r":["b"]}`, tagged(gonostr.Tag{"t", "a"}, gonostr.Tag{"r", "b"}), true},
		{"01-R24 the first of two conditions", `{"#t":["a"],"#r":["b"]}`, tagged(gonostr.Tag{"t", "a"}, gonostr.Tag{"r", "x"}), false},
		{"01-R24 the second of two conditions", `{"#t":["a"],"#r":["b"]}`, tagged(gonostr.Tag{"t", "x"}, gonostr.Tag{"r", "b"}), false},
		{"01-R24 one condition met twice", `{"#t":["a","b"],"#r":["b"]}`, tagged(gonostr.Tag{"t", "a"}, gonostr.Tag{"t", "b"}), false},
		{"01-R20 e that is no id", `{"#e":["` + hexA + `"]}`, tagged(gonostr.Tag{"e", "x"}, gonostr.Tag{"e", hexA}), true},
		{"01-R20 an id is not its bytes", `{"#e":["` + hexA + `"]}`, tagged(gonostr.Tag{"e", raw32}), false},
		{"01-R20 uppercase is another value", `{"#e":["` + hexA + `"]}`, tagged(gonostr.Tag{"e", strings.ToUpper(hexA)}), false},
		{"long value", `{"#r":["` + url + `"]}`, tagged(gonostr.Tag{"r", url}), true},
		{"long value, another end", `{"#r":["` + url + `"]}`, tagged(gonostr.Tag{"r", url[:599] + "y"}), false},
		{"long value, cut at 255", `{"#r":["` + url[:255] + `"]}`, tagged(gonostr.Tag{"r", url}), false},

		{"all at once", `{"authors":["` + hexA + `"],"kinds":[1],"#t":["a"],"since":1,"until":9}`,
			&gonostr.Event{PubKey: hexA, Kind: 1, CreatedAt: 5, Tags: gonostr.Tags{{"t", "a"}}}, true},
		{"all but the author", `{"authors":["` + hexB + `"],"kinds":[1],"#t":["a"],"since":1,"until":9}`,
			&gonostr.Event{PubKey: hexA, Kind: 1, CreatedAt: 5, Tags: gonostr.Tags{{"t", "a"}}}, false},
		{"all but the kind", `{"authors":["` + hexA + `"],"kinds":[2],"#t":["a"],"since":1,"until":9}`,
			&gonostr.Event{PubKey: hexA, Kind: 1, CreatedAt: 5, Tags: gonostr.Tags{{"t", "a"}}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustFilter(t, tt.filter).Match(pack(t, tt.event)); got != tt.want {
				t.Errorf("%s on %s: %v, want %v", tt.filter, tt.event, got, tt.want)
			}
		})
	}
}

// All 52 letters in one filter are 52 conditions.
func TestMatchAllLetters(t *testing.T) {
	var parts []string
	var tags gonostr.Tags
	for _, letter := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		parts = append(parts, fmt.Sprintf(`"#%c":["%s"]`, letter, hexA))
		tags = append(tags, gonostr.Tag{string(letter), hexA})
	}
	f := mustFilter(t, "{"+strings.Join(parts, ",")+"}")
	if !f.Match(pack(t, &gonostr.Event{Tags: tags})) {
		t.Error("no match")
	}
	for i := range tags {
		less := append(append(gonostr.Tags{}, tags[:i]...), tags[i+1:]...)
		if f.Match(pack(t, &gonostr.Event{Tags: less})) {
			t.Errorf("match without %s", tags[i][0])
		}
	}
}

type benchFilter struct {
	name string
	f    *Filter
}

// benchFilters are typical filters.
func benchFilters(t testing.TB) []benchFilter {
	return []benchFilter{
		{"kinds", mustFilter(t, `{"kinds":[1,6],"limit":50}`)},
		{"profile", mustFilter(t, `{"authors":["`+wideKey(250)+`"],"kinds":[0]}`)},
		{"feed500", mustFilter(t, `{"authors":[`+wideKeys(500)+`],"kinds":[1,6]}`)},
		{"thread", mustFilter(t, `{"#e":["`+wideKey(1)+`"],"kinds":[1]}`)},
		{"mentions100", mustFilter(t, `{"#p":[`+wideKeys(100)+`]}`)},
		{"tags2", mustFilter(t, `{"#t":["nostr","go"],"#p":["`+wideKey(90)+`"]}`)},
	}
}

func benchEvent(t testing.TB) packed.View {
	ev := &gonostr.Event{ID: wideKey(3), PubKey: wideKey(250), Kind: 1, CreatedAt: 1700000000}
	ev.Tags = gonostr.Tags{{"e", wideKey(77)}, {"e", wideKey(1)}, {"t", "go"}, {"p", wideKey(88)}, {"p", wideKey(90)}, {"r", "wss://example.com"}}
	return pack(t, ev)
}

// wideKey returns keys that differ from the first byte on.
func wideKey(n int) string { return fmt.Sprintf("%016x%048x", uint64(n)*0x9e3779b97f4a7c15, n) }

func wideKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = `"` + wideKey(i) + `"`
	}
	return strings.Join(keys, ",")
}

func TestMatchAllocs(t *testing.T) {
	v := benchEvent(t)
	p := index.NewPosting(v, 1)
	for _, b := range benchFilters(t) {
		test := b.f.PostingTest()
		if n := testing.AllocsPerRun(100, func() { b.f.Match(v); test.Match(p) }); n != 0 {
			t.Errorf("%s: %v allocations", b.name, n)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	v := benchEvent(b)
	for _, bb := range benchFilters(b) {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.f.Match(v)
			}
		})
	}
}

func BenchmarkMatchPosting(b *testing.B) {
	postings := make([]index.Posting, 4096)
	for i := range postings {
		postings[i] = index.NewPosting(pack(b, &gonostr.Event{ID: wideKey(i), PubKey: wideKey(i * 7), Kind: i % 3}), uint64(i))
	}
	for _, authors := range []int{0, 1, 8, 64, 500, 5000} {
		raw := `{"kinds":[1,6]}`
		if authors > 0 {
			raw = `{"kinds":[1,6],"authors":[` + wideKeys(authors) + `]}`
		}
		f := mustFilter(b, raw)
		b.Run(fmt.Sprintf("authors%d", authors), func(b *testing.B) {
			test := f.PostingTest()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				test.Match(postings[i&4095])
			}
		})
		b.Run(fmt.Sprintf("new%d", authors), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.PostingTest()
			}
		})
	}
}

func BenchmarkParseFilter(b *testing.B) {
	for _, n := range []int{1, 500} {
		raw := []byte(`{"authors":[` + wideKeys(n) + `],"kinds":[1,6],"since":1700000000,"limit":50}`)
		b.Run(fmt.Sprintf("authors%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := ParseFilter(raw, FilterLimits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
