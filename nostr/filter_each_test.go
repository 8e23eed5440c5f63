package nostr

import (
	"strings"
	"testing"

	"wok/packed"
)

// NIP-91: "&t" asks for events with each of several tags, and binds before "#t".
func TestFilterEach(t *testing.T) {
	event := func(tags ...string) packed.View {
		v := packed.AppendHeader(nil, &packed.Header{})
		for _, tag := range tags {
			v = packed.AppendTag(v, tag[0], tag[1:])
		}
		return v
	}
	for _, test := range []struct {
		filter, canonical string
		yes, no           []packed.View
	}{
		{`{"&t":["b","a"]}`, `{"&t":["a","b"]}`,
			[]packed.View{event("ta", "tb"), event("tb", "tx", "ta")},
			[]packed.View{event("ta"), event("ta", "ta"), event("ua", "ub"), event()}},
		{`{"&t":["a","a"]}`, `{"&t":["a"]}`, []packed.View{event("ta")}, []packed.View{event("tb")}},
		{`{"&t":["a"],"#t":["b","c"]}`, `{"#t":["b","c"],"&t":["a"]}`,
			[]packed.View{event("ta", "tb"), event("tc", "ta")}, []packed.View{event("ta"), event("tb", "tc")}},
		{`{"#t":["a","b"],"&t":["a"]}`, `{"#t":["b"],"&t":["a"]}`,
			[]packed.View{event("ta", "tb")}, []packed.View{event("ta"), event("tb")}},
		{`{"&t":["a"],"#t":["a"]}`, `{"&t":["a"]}`, []packed.View{event("ta")}, []packed.View{event()}},
		{`{"&t":["a"],"&u":["b"]}`, `{"&t":["a"],"&u":["b"]}`, []packed.View{event("ub", "ta")}, []packed.View{event("ta"), event("tb", "ua")}},
		{`{"&t":[]}`, `{"&t":[]}`, nil, []packed.View{event(), event("ta")}},
		{`{"&r":["` + strings.Repeat("x", 300) + `","y"]}`, `{"&r":["` + strings.Repeat("x", 300) + `","y"]}`,
			[]packed.View{event("ry", "r"+strings.Repeat("x", 300))}, []packed.View{event("ry")}},
	} {
		f, err := ParseFilter([]byte(test.filter), FilterLimits{Each: true})
		if err != nil {
			t.Fatalf("%s: %v", test.filter, err)
		}
		again, err := ParseFilter([]byte(f.String()), FilterLimits{Each: true})
		if err != nil || again.String() != f.String() || len(f.String()) != len(test.canonical) {
			t.Errorf("%s is written %s, want %s", test.filter, f, test.canonical)
		}
		for _, v := range test.yes {
			if !f.Match(v) || f.Never() {
				t.Errorf("%s does not match %v", test.filter, v.Tags())
			}
		}
		for _, v := range test.no {
			if f.Match(v) && !f.Never() {
				t.Errorf("%s matches %v", test.filter, v.Tags())
			}
		}
	}
	for filter, lim := range map[string]FilterLimits{
		`{"&t":["a"]}`:            {},
		`{"&t":["a"],"&t":["b"]}`: {Each: true},
		`{"&p":["x"]}`:            {Each: true},
		`{"&t":"a"}`:              {Each: true},
		`{"&tt":["a"]}`:           {Each: true},
		`{"&t":["` + strings.Repeat(`a","`, 64) + `"]}`: {Each: true},
	} {
		if _, err := ParseFilter([]byte(filter), lim); err == nil {
			t.Errorf("%s is taken", filter)
		}
	}
}
