package nostr

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	gonostr "github.com/nbd-wtf/go-nostr"

	"wok/index"
	"wok/packed"
)

func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"ids":["` + hexA + `","` + hexB + `"],"authors":["` + hexB + `"],"kinds":[1,0,65535],"since":5,"until":1e9,"limit":0}`,
		`{"#e":["` + hexA + `"],"#p":["` + hexB + `"],"#t":["a","","ab"],"#T":["` + hexA + `","é\u2028\ud83d\ude00"]}`,
		`{"#r":["` + long + `","` + long + `y"],"kinds":[],"until":0}`,
		`{"relay":{"x":[[1]]},"kinds":[1.0,1E2]}`,
		`{"since":18446744073709551616,"limit":1e400}`,
		`{"search":"x"}`,
		`{"&t":["x"]}`,
		`{"kinds":[1],"kinds":[1]}`,
		`[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, lim := range []FilterLimits{{IgnoreUnknown: true}, {MaxBytes: 50, MaxValues: 3, MaxTags: 1, MaxLimit: 10}} {
			if _, err := ParseFilter(raw, lim); err != nil {
				checkSendable(t, err)
			}
		}
		filter, err := ParseFilter(raw, FilterLimits{})
		if err != nil {
			checkSendable(t, err)
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is no JSON", raw)
		}
		checkOrder(t, filter)
		again := mustFilter(t, filter.String())
		if !reflect.DeepEqual(again, filter) || again.String() != filter.String() {
			t.Fatalf("%q\n is read as %s\nthen as %s", raw, filter, again)
		}
		checkPeer(t, raw, filter)
	})
}

func checkSendable(t *testing.T, err error) {
	t.Helper()
	if r, ok := err.(*Refusal); !ok || r.Prefix == PrefixError || len(r.Error()) > 400 {
		t.Fatalf("refused with %v", err)
	}
}

// checkOrder checks what Filter promises of its lists.
func checkOrder(t *testing.T, f *Filter) {
	key := func(k [32]byte) string { return string(k[:]) }
	ok := rising(f.IDs, key) && rising(f.Authors, key) &&
		rising(f.Kinds, func(k uint16) string { return string([]byte{byte(k >> 8), byte(k)}) }) &&
		rising(f.Tags, func(c TagCondition) string { return string(c.Letter) })
	for _, c := range f.Tags {
		ok = ok && rising(c.Values, func(v packed.Tag) string { return string(v) }) &&
			rising(c.Long, func(s string) string { return s })
		for _, v := range c.Values {
			ok = ok && v.Letter() == c.Letter
		}
	}
	if !ok {
		t.Fatalf("the lists of %s are not in order", f)
	}
}

// rising reports whether each key is above the one before.
func rising[T any](list []T, key func(T) string) bool {
	for i := 1; i < len(list); i++ {
		if key(list[i-1]) >= key(list[i]) {
			return false
		}
	}
	return true
}

// checkPeer checks that go-nostr, where it reads the filter at all, finds the
// same events with it.
func checkPeer(t *testing.T, raw []byte, filter *Filter) {
	var peer gonostr.Filter
	if json.Unmarshal(raw, &peer) != nil {
		return // it wants int64, and integers spelled as such
	}
	for i := range 64 {
		ev := eventFor(&peer, i)
		v := pack(t, ev)
		want := peer.Matches(ev)
		if got := filter.Match(v); got != want {
			t.Fatalf("%q\non %s: %v, go-nostr says %v", raw, ev, got, want)
		}
		test := filter.PostingTest()
		if may := test.Match(index.NewPosting(v, 1)); want && !may || filter.DecidedByPosting() && want != may {
			t.Fatalf("%q\non %s: the posting says %v, go-nostr %v", raw, ev, may, want)
		}
	}
}

// eventFor returns an event that fits the filter, but for what the bits of
// variant spoil, if it can.
func eventFor(f *gonostr.Filter, variant int) *gonostr.Event {
	spoil := func(bit int) bool { return variant>>bit&1 == 1 }
	pick := func(list []string, or string) string {
		if len(list) == 0 || len(list[0]) != 64 {
			return or
		}
		return list[variant%len(list)]
	}
	ev := &gonostr.Event{ID: pick(f.IDs, hexA), PubKey: pick(f.Authors, hexB), Kind: 1, CreatedAt: 100}
	if len(f.Kinds) > 0 {
		ev.Kind = f.Kinds[variant%len(f.Kinds)]
	}
	if f.Since != nil {
		ev.CreatedAt = *f.Since
	} else if f.Until != nil {
		ev.CreatedAt = *f.Until
	}
	if spoil(0) {
		ev.CreatedAt++
	}
	if spoil(1) {
		ev.CreatedAt--
	}
	ev.CreatedAt = min(max(ev.CreatedAt, 0), packed.MaxCreatedAt)
	if spoil(2) {
		ev.ID = strings.Repeat("0", 63) + "1"
	}
	if spoil(3) {
		ev.PubKey = ev.PubKey[:60] + "0000"
	}
	if spoil(4) {
		ev.Kind = (ev.Kind + 1) & packed.MaxKind
	}
	for key, values := range f.Tags {
		if len(values) > 0 && !(spoil(5) && key[0]%2 == 1) {
			ev.Tags = append(ev.Tags, gonostr.Tag{key, "other"}, gonostr.Tag{key, values[variant%len(values)]})
		}
	}
	return ev
}
