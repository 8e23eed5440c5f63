package nostr

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gonostr "github.com/nbd-wtf/go-nostr"

	"wok/index"
	"wok/packed"
)

// pack returns the packed form of what a filter can ask about ev.
func pack(t testing.TB, ev *gonostr.Event) packed.View {
	t.Helper()
	h := packed.Header{CreatedAt: uint64(ev.CreatedAt), Kind: uint16(ev.Kind)}
	_, err1 := hex.Decode(h.ID[:], []byte(ev.ID))
	_, err2 := hex.Decode(h.Pubkey[:], []byte(ev.PubKey))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	b := packed.AppendHeader(nil, &h)
	for _, tag := range ev.Tags {
		if len(tag) >= 2 && len(tag[0]) == 1 && packed.IsLetter(tag[0][0]) {
			b = packed.AppendTag(b, tag[0][0], tag[1])
		}
	}
	v, err := packed.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// plainMatch is NIP-01 by the letter, on the filter's decoded JSON.
func plainMatch(filter map[string]any, ev *gonostr.Event) bool {
	for key, cond := range filter {
		ok := true
		switch key {
		case "ids":
			ok = slices.Contains(cond.([]any), any(ev.ID))
		case "authors":
			ok = slices.Contains(cond.([]any), any(ev.PubKey))
		case "kinds":
			ok = slices.Contains(cond.([]any), any(float64(ev.Kind)))
		case "since":
			ok = float64(ev.CreatedAt) >= cond.(float64)
		case "until":
			ok = float64(ev.CreatedAt) <= cond.(float64)
		case "limit":
		default:
			ok = slices.ContainsFunc(ev.Tags, func(tag gonostr.Tag) bool {
				return len(tag) >= 2 && "#"+tag[0] == key && slices.Contains(cond.([]any), any(tag[1]))
			})
		}
		if !ok {
			return false
		}
	}
	return true
}

// plainPosting is what of plainMatch the posting of ev still shows.
func plainPosting(filter map[string]any, ev *gonostr.Event) bool {
	visible := map[string]any{}
	for _, key := range []string{"kinds", "since", "until"} {
		if cond, ok := filter[key]; ok {
			visible[key] = cond
		}
	}
	authors, ok := filter["authors"].([]any)
	return plainMatch(visible, ev) && (!ok || slices.ContainsFunc(authors, func(a any) bool {
		return a.(string)[:4] == ev.PubKey[:4]
	}))
}

// key32 returns the n-th of the ids and pubkeys of the random tests. Those of
// one n%4 share their first two bytes.
func key32(n int) string { return fmt.Sprintf("%02x%060x%02x", n%4, 0, n) }

// The values that tags and filters of the random tests are made of: the empty
// one, some that begin like others, ids, the bytes of an id, long ones.
var plainValues = []string{
	"", "a", "A", "ab", "abc", "b", key32(1), key32(2), key32(1)[:62], strings.ToUpper("ab" + key32(1)[2:]),
	"\x00\x01", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("\x00", 32),
	"30023:" + key32(3) + ":a", "\u2028\"\\\n\u00e9",
}

const plainLetters = "deptaTEP"

func randomEvent(r *rand.Rand) *gonostr.Event {
	ev := &gonostr.Event{
		ID:        key32(r.IntN(8)),
		PubKey:    key32(r.IntN(8)),
		CreatedAt: gonostr.Timestamp(r.IntN(6)),
		Kind:      r.IntN(5),
	}
	for range r.IntN(6) {
		tag := gonostr.Tag{string(plainLetters[r.IntN(len(plainLetters))]), plainValues[r.IntN(len(plainValues))]}
		switch r.IntN(12) {
		case 0:
			tag = tag[:1]
		case 1:
			tag = tag[:0]
		case 2:
			tag[0] += "t"
		case 3:
			tag = append(tag, "a")
		}
		ev.Tags = append(ev.Tags, tag)
	}
	return ev
}

// randomFilter returns the JSON of a filter with any number of conditions.
func randomFilter(r *rand.Rand) string {
	f := map[string]any{}
	some := func(key string, value func(i int) any) {
		if r.IntN(4) != 0 {
			return
		}
		list := make([]any, r.IntN(5))
		if r.IntN(4) == 0 {
			list = make([]any, 8+r.IntN(100)) // beyond where sets are lists
		}
		for i := range list {
			list[i] = value(r.IntN(8))
			if i > 8 {
				list[i] = value(100 + i)
			}
		}
		f[key] = list
	}
	some("ids", func(i int) any { return key32(i) })
	some("authors", func(i int) any { return key32(i) })
	some("kinds", func(i int) any { return i })
	for _, letter := range plainLetters[:4+r.IntN(5)] {
		some("#"+string(letter), func(i int) any {
			if letter == 'e' || letter == 'p' {
				return key32(i)
			}
			return plainValues[(i+r.IntN(9))%len(plainValues)]
		})
	}
	for _, key := range []string{"since", "until", "limit"} {
		if r.IntN(4) == 0 {
			f[key] = r.IntN(7)
		}
	}
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// The matcher agrees with the letter of NIP-01, and the posting test with what
// a posting shows, for any filter on any event.
func TestMatchRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	matches, decided := 0, 0
	for range 2000 {
		raw := randomFilter(r)
		f := mustFilter(t, raw)
		var plain map[string]any
		if err := json.Unmarshal([]byte(raw), &plain); err != nil {
			t.Fatal(err)
		}
		test := f.PostingTest()
		for range 50 {
			ev := randomEvent(r)
			v := pack(t, ev)
			want := plainMatch(plain, ev)
			if got := f.Match(v); got != want {
				t.Fatalf("filter %s\nevent %s\nmatch %v, want %v", raw, ev, got, want)
			}
			if want {
				matches++
			}
			may := test.Match(index.NewPosting(v, 7))
			if wantMay := plainPosting(plain, ev); may != wantMay {
				t.Fatalf("filter %s\nevent %s\nposting %v, want %v", raw, ev, may, wantMay)
			}
			if f.DecidedByPosting() {
				decided++
				if may != want {
					t.Fatalf("filter %s\nevent %s\nposting %v decides, want %v", raw, ev, may, want)
				}
			}
			if want && f.Never() {
				t.Fatalf("filter %s matches, and never does", raw)
			}
		}
	}
	t.Logf("%d matches, %d decided", matches, decided)
	if matches < 5000 || decided < 5000 {
		t.Error("the random filters test too little")
	}
}

func mustFilter(t testing.TB, raw string) *Filter {
	t.Helper()
	f, err := ParseFilter([]byte(raw), FilterLimits{})
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return f
}
