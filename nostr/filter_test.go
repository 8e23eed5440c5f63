package nostr

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"wok/packed"
)

var (
	hexA = strings.Repeat("a", 64)
	hexB = strings.Repeat("b", 64)
	long = strings.Repeat("x", 600)
)

func TestParseFilter(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"no condition", `{}`, `{}`},
		{"white space", " { \"kinds\" : [ 1 , 2 ] } \n", `{"kinds":[1,2]}`},
		{"sorted and distinct", `{"kinds":[7,1,7,0]}`, `{"kinds":[0,1,7]}`},
		{"keys in one order", `{"limit":5,"until":9,"#t":["b","a","b"],"#T":["x"],"since":3,"kinds":[1],"authors":["` + hexB + `","` + hexA + `"],"ids":["` + hexA + `"]}`,
			`{"ids":["` + hexA + `"],"authors":["` + hexA + `","` + hexB + `"],"kinds":[1],"#T":["x"],"#t":["a","b"],"since":3,"until":9,"limit":5}`},
		{"01-R25 empty lists stay", `{"ids":[],"authors":[],"kinds":[],"#e":[]}`, `{"ids":[],"authors":[],"kinds":[],"#e":[]}`},
		{"01-R28 limit 0 stays", `{"limit":0}`, `{"limit":0}`},
		{"until 0 stays, since 0 says nothing", `{"since":0,"until":0}`, `{"until":0}`},
		{"numbers by value", `{"kinds":[1e3,2.0],"since":1.5e1,"limit":-0}`, `{"kinds":[2,1000],"since":15,"limit":0}`},
		{"times saturate", `{"since":18446744073709551616,"until":1e400}`, `{"since":18446744073709551615}`},
		{"limit saturates", `{"limit":1e40}`, fmt.Sprintf(`{"limit":%d}`, math.MaxInt)},
		{"escaped keys and values", `{"\u006binds":[1],"#\u0074":["\u0061","a","\ud83d\ude00"]}`, `{"kinds":[1],"#t":["a","😀"]}`},
		{"01-R26 #e and #p", `{"#e":["` + hexB + `"],"#p":["` + hexA + `"]}`, `{"#e":["` + hexB + `"],"#p":["` + hexA + `"]}`},
		{"01-R26 not #E and #P", `{"#E":["x"],"#P":[""]}`, `{"#E":["x"],"#P":[""]}`},
		{"long values", `{"#r":["` + long + `","b","` + long + `"]}`, `{"#r":["b","` + long + `"]}`},
		{"long values are sorted", `{"#r":["` + long + `z","` + long + `a","` + long + `z"]}`, `{"#r":["` + long + `a","` + long + `z"]}`},
		{"kind 65535", `{"kinds":[65535]}`, `{"kinds":[65535]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mustFilter(t, tt.in)
			if got := f.String(); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.in, got, tt.want)
			}
			if again := mustFilter(t, tt.want).String(); again != tt.want {
				t.Errorf("%s is read as %s", tt.want, again)
			}
		})
	}
}

// 01-R26, 01-R31, 50-R7: every refusal has the prefix that fits it.
func TestParseFilterRefuses(t *testing.T) {
	tests := []struct {
		in     string
		prefix Prefix
	}{
		{``, PrefixInvalid},
		{`null`, PrefixInvalid},
		{`[]`, PrefixInvalid},
		{`"x"`, PrefixInvalid},
		{`{`, PrefixInvalid},
		{`{}x`, PrefixInvalid},
		{`{}{}`, PrefixInvalid},
		{`{"kinds":[1],}`, PrefixInvalid},
		{`{"kinds":[1,]}`, PrefixInvalid},
		{`{"kinds":[,1]}`, PrefixInvalid},
		{`{"kinds"}`, PrefixInvalid},
		{`{"kinds":}`, PrefixInvalid},
		{`{kinds:[1]}`, PrefixInvalid},
		{`{"kinds":null}`, PrefixInvalid},
		{`{"kinds":1}`, PrefixInvalid},
		{`{"kinds":{}}`, PrefixInvalid},
		{`{"kinds":["1"]}`, PrefixInvalid},
		{`{"kinds":[null]}`, PrefixInvalid},
		{`{"kinds":[[1]]}`, PrefixInvalid},
		{`{"kinds":[65536]}`, PrefixInvalid},
		{`{"kinds":[1e40]}`, PrefixInvalid},
		{`{"kinds":[-1]}`, PrefixInvalid},
		{`{"kinds":[1.5]}`, PrefixInvalid},
		{`{"kinds":[01]}`, PrefixInvalid},
		{`{"kinds":[1],"kinds":[1]}`, PrefixInvalid},
		{`{"kinds":[],"\u006binds":[]}`, PrefixInvalid},
		{`{"since":1,"since":1}`, PrefixInvalid},
		{`{"#t":["a"],"#t":["b"]}`, PrefixInvalid},
		{`{"since":-1}`, PrefixInvalid},
		{`{"since":1.5}`, PrefixInvalid},
		{`{"since":123456789012345678901.5}`, PrefixInvalid},
		{`{"until":-1e40}`, PrefixInvalid},
		{`{"since":"1"}`, PrefixInvalid},
		{`{"until":null}`, PrefixInvalid},
		{`{"until":[1]}`, PrefixInvalid},
		{`{"limit":-1}`, PrefixInvalid},
		{`{"limit":true}`, PrefixInvalid},
		{`{"ids":["` + hexA[:62] + `"]}`, PrefixInvalid},
		{`{"ids":["` + hexA + `aa"]}`, PrefixInvalid},
		{`{"ids":["` + strings.ToUpper(hexA) + `"]}`, PrefixInvalid},
		{`{"ids":[""]}`, PrefixInvalid},
		{`{"ids":[null]}`, PrefixInvalid},
		{`{"ids":null}`, PrefixInvalid},
		{`{"authors":"` + hexA + `"}`, PrefixInvalid},
		{`{"authors":["` + hexA + `bb"]}`, PrefixInvalid},
		{`{"authors":["` + hexA[:63] + `g"]}`, PrefixInvalid},
		{`{"#e":["` + hexA[:8] + `"]}`, PrefixInvalid},
		{`{"#p":["` + strings.ToUpper(hexA) + `"]}`, PrefixInvalid},
		{`{"#p":["` + long + `"]}`, PrefixInvalid},
		{`{"#p":[""]}`, PrefixInvalid},
		{`{"#t":null}`, PrefixInvalid},
		{`{"#t":["a",1]}`, PrefixInvalid},
		{`{"#t":["` + "\xff" + `"]}`, PrefixInvalid},
		{`{"#t":["\ud800"]}`, PrefixInvalid},
		{`{"#t":["` + "\n" + `"]}`, PrefixInvalid},
		{`{"#":["a"]}`, PrefixUnsupported},
		{`{"#1":["a"]}`, PrefixUnsupported},
		{`{"#tt":["a"]}`, PrefixUnsupported},
		{`{"#é":["a"]}`, PrefixUnsupported},
		{`{"&t":["a"]}`, PrefixUnsupported},
		{`{"":1}`, PrefixUnsupported},
		{`{"search":"x"}`, PrefixUnsupported},
		{`{"Kinds":[1]}`, PrefixUnsupported},
		{`{"tags":[]}`, PrefixUnsupported},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			f, err := ParseFilter([]byte(tt.in), FilterLimits{})
			checkRefusal(t, err, tt.prefix)
			if f != nil {
				t.Error("there is a filter all the same")
			}
		})
	}
}

func checkRefusal(t *testing.T, err error, want Prefix) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("error %v is no Refusal", err)
	}
	if refusal.Prefix != want {
		t.Errorf("error %q, want prefix %s", err, want)
	}
	if !json.Valid(appendString(nil, err.Error())) || len(err.Error()) > 300 {
		t.Errorf("error %q cannot be sent", err)
	}
}

// 01-R31: unknown words are ignored where that is asked for, and nothing else is.
func TestParseFilterIgnoreUnknown(t *testing.T) {
	lim := FilterLimits{IgnoreUnknown: true}
	f, err := ParseFilter([]byte(`{"relay":{"a":[1,{}]},"kinds":[1],"relay":"wss://x","cache":null}`), lim)
	if err != nil || f.String() != `{"kinds":[1]}` {
		t.Errorf("%v, %v", f, err)
	}
	for in, want := range map[string]Prefix{
		`{"#tt":["a"]}`:   PrefixUnsupported,
		`{"&t":["a"]}`:    PrefixUnsupported,
		`{"!t":["a"]}`:    PrefixUnsupported,
		`{"search":"x"}`:  PrefixUnsupported,
		`{"relay":}`:      PrefixInvalid,
		`{"relay":[1,2}}`: PrefixInvalid,
		`{"relay":` + strings.Repeat("[", 60000) + `}`: PrefixInvalid,
	} {
		_, err := ParseFilter([]byte(in), lim)
		checkRefusal(t, err, want)
	}
}

func TestFilterLimits(t *testing.T) {
	lim := FilterLimits{MaxBytes: 100, MaxValues: 4, MaxTags: 2, MaxLimit: 50}
	tests := []struct {
		in, want string // want is empty for blocked
	}{
		{`{"kinds":[1,2],"#t":["a","b"]}`, `{"kinds":[1,2],"#t":["a","b"]}`},
		{`{"kinds":[1,2],"#t":["a","b","c"]}`, ``},
		{`{"kinds":[1,1,1,1,1]}`, ``},
		{`{"#t":[],"#T":["a"]}`, `{"#T":["a"],"#t":[]}`},
		{`{"#t":[],"#T":[],"#r":[]}`, ``},
		{`{"kinds":[1` + strings.Repeat(" ", 100) + `]}`, ``},
		{`{"limit":50}`, `{"limit":50}`},
		{`{"limit":51}`, `{"limit":50}`}, // 01-R30
		{`{"limit":0}`, `{"limit":0}`},
		{`{}`, `{}`}, // an absent limit is for the relay to fill in
	}
	for _, tt := range tests {
		f, err := ParseFilter([]byte(tt.in), lim)
		if tt.want == "" {
			checkRefusal(t, err, PrefixBlocked)
			continue
		}
		if err != nil || f.String() != tt.want {
			t.Errorf("%s: %v, %v, want %s", tt.in, f, err, tt.want)
		}
		msg, err := ParseMessage([]byte(`["REQ","x",`+tt.in+`]`), MessageLimits{Filter: lim})
		if err != nil || msg.Filters[0].String() != tt.want {
			t.Errorf("%s in a REQ: %v, %v, want %s", tt.in, msg, err, tt.want)
		}
	}
	// Inside a message the length of a filter is only known at its end.
	_, err := ParseMessage([]byte(`["REQ","x",{"kinds":[1`+strings.Repeat(" ", 100)+`]}]`), MessageLimits{Filter: lim})
	checkRefusal(t, err, PrefixBlocked)
}

// Every prefix of a filter is an error and no panic.
func TestFilterPrefixes(t *testing.T) {
	in := `{"ids":["` + hexA + `"],"authors":[],"kinds":[1,20],"#t":["a\n\u00e9\ud83d\ude00é"],"since":1.0e1,"until":20,"limit":3}`
	mustFilter(t, in)
	for n := range len(in) {
		if f, err := ParseFilter([]byte(in[:n]), FilterLimits{}); err == nil {
			t.Errorf("%s is a filter: %v", in[:n], f)
		}
	}
}

// A filter keeps nothing of the message it came in.
func TestFilterOwnsItsMemory(t *testing.T) {
	raw := []byte(`{"ids":["` + hexA + `"],"#t":["abc","` + long + `"],"#e":["` + hexB + `"]}`)
	f, err := ParseFilter(raw, FilterLimits{})
	if err != nil {
		t.Fatal(err)
	}
	want := f.String()
	for i := range raw {
		raw[i] = 'z'
	}
	if got := f.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFilterNever(t *testing.T) {
	for in, want := range map[string]bool{
		`{}`:                                false,
		`{"limit":0}`:                       false,
		`{"ids":[]}`:                        true,
		`{"authors":[]}`:                    true,
		`{"kinds":[]}`:                      true,
		`{"#t":["a"],"#r":[]}`:              true,
		`{"since":5,"until":4}`:             true,
		`{"since":5,"until":5}`:             false,
		`{"until":0}`:                       false,
		`{"since":1099511627775}`:           false,
		`{"since":1099511627776}`:           true,
		`{"since":99999999999999999999999}`: true,
	} {
		if got := mustFilter(t, in).Never(); got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}

func TestFilterDecidedByPosting(t *testing.T) {
	for in, want := range map[string]bool{
		`{}`:                              true,
		`{"kinds":[1],"since":1}`:         true,
		`{"kinds":[]}`:                    true,
		`{"authors":["` + hexA + `"]}`:    false,
		`{"ids":["` + hexA + `"]}`:        false,
		`{"kinds":[1],"#t":["a"]}`:        false,
		`{"since":1,"until":2,"limit":3}`: true,
	} {
		if got := mustFilter(t, in).DecidedByPosting(); got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}

func TestFilterShape(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: "all",
		`{"kinds":[6,1],"limit":50,"since":3,"#t":["secret","b"],"authors":["` + hexA + `"]}`: "authors:1 kinds:[1 6] #t:2 since limit:50",
		`{"ids":[],"until":0,"limit":0}`: "ids:0 until limit:0",
		`{"kinds":[1,2,3,4,5,6,7,8,9]}`:  "kinds:9",
		`{"kinds":[]}`:                   "kinds:[]",
	} {
		if got := mustFilter(t, in).Shape(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// The naughty strings survive as tag values, and find exactly themselves.
func TestFilterNaughtyStrings(t *testing.T) {
	all := naughtyStrings(t)
	for i, s := range all {
		f := mustFilter(t, `{"#t":[`+string(appendString(nil, s))+`]}`)
		again := mustFilter(t, f.String())
		for j, other := range all {
			v := packed.View(packed.AppendTag(make([]byte, packed.HeaderSize), 't', other))
			if got, want := again.Match(v), s == other; got != want {
				t.Errorf("value %d %q: event with %d %q: %v, want %v", i, s, j, other, got, want)
			}
		}
	}
}

func naughtyStrings(t testing.TB) []string {
	const path = "../../shared/data/vectors/strings/blns.json"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("the big list of naughty strings is not here: %v", err)
	}
	var all []string
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
