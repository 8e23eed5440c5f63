package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      map[string]any
	}{
		{"nothing", " \n# only a comment", map[string]any{}},
		{"scalars", "a = \"x\"\nb = 7\nc = -7\nd = true\ne = false\nf = 1.5",
			map[string]any{"a": "x", "b": int64(7), "c": int64(-7), "d": true, "e": false, "f": 1.5}},
		{"blocks", "a { b { c = 1 } d = 2 }\ne = { f = 3 }\ng {}",
			map[string]any{
				"a": map[string]any{"b": map[string]any{"c": int64(1)}, "d": int64(2)},
				"e": map[string]any{"f": int64(3)},
				"g": map[string]any{},
			}},
		{"crlf and tabs", "a {\r\n\tb = 1 # why\r\n}\r\n", map[string]any{"a": map[string]any{"b": int64(1)}}},
		{"comment in a text", `a = "# none" # one`, map[string]any{"a": "# none"}},
		{"escapes", `a = "\" \\ \/ \b\f\n\r\t \u00e9 \ud83d\ude00"`,
			map[string]any{"a": "\" \\ / \b\f\n\r\t é 😀"}},
		{"lists", "a = []\nb = [1, 2,\n3]\nc = [\n\"x\"\n\"y\"\n]",
			map[string]any{"a": []any{}, "b": []any{int64(1), int64(2), int64(3)}, "c": []any{"x", "y"}}},
		{"a router's stream", `
			connectionTimeout = 20
			streams {
				friends {
					dir = "both"
					filter = { "kinds": [0, 3], "#t": ["nostr"], "limit": 5 }
					urls = [
						"wss://one.example"
						"wss://two.example"
					]
				}
			}`,
			map[string]any{
				"connectionTimeout": int64(20),
				"streams": map[string]any{"friends": map[string]any{
					"dir":    "both",
					"filter": map[string]any{"kinds": []any{int64(0), int64(3)}, "#t": []any{"nostr"}, "limit": int64(5)},
					"urls":   []any{"wss://one.example", "wss://two.example"},
				}},
			}},
	} {
		b, err := Parse([]byte(c.src))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := (Node{Value: b}).Plain(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"a", "1:2: a needs = and a value"},
		{"a =", "1:4: a value is expected here, not the end of the file"},
		{"a = \n}", "2:1: a value is expected here, not '}'"},
		{"a = yes", "1:5: yes is neither a number, true nor false"},
		{"a = 0x10", "1:5: 0x10 is neither"},
		{"a = NaN", "1:5: NaN is neither"},
		{"a = 99999999999999999999999x", "1:5: 99999999999999999999999x is neither"},
		{"a = 1\na = 2", "2:1: a is given twice, first on line 1"},
		{"a {\n b = 1", "2:7: the file ends inside a block"},
		{"a = [1\n", "2:1: the file ends inside a list"},
		{"a = [1 }", "1:8: a value is expected here, not '}'"},
		{"}", "1:1: a name is expected here, not '}'"},
		{"7 = 1", "1:1: a name is expected here"},
		{"a = \"x\nb = 1", "1:5: the text has no closing quote on its line"},
		{"a = \"x", "1:5: the text has no closing quote"},
		{"  a = \"\\x\"", "1:8: unknown escape"},
		{`a = "\ud83d"`, "1:6: unknown escape"},
		{`a = "\ud83dx\ude00"`, "1:6: unknown escape"},
		{`a = "\u12`, "1:6: unknown escape"},
		{"a = \xff", "1:1: the file is not UTF-8"},
		{"a = \x00", "1:5: a value is expected here, not '\\x00'"},
		{strings.Repeat("a{", 40), "1:66: nested more than 32 deep"},
		{"a = " + strings.Repeat("[", 100000), "nested more than 32 deep"},
	} {
		_, err := Parse([]byte(c.src))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%.40q): error %v, want %q", c.src, err, c.want)
		}
	}
}

// FuzzParse: no panic, and every place lies in the file.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a = 1", "a { b = [\"x\" \"y\"] }", `f = { "kinds": [0, 3] }`, "# c\r\na=\"\\u00e9\"", "a{b{c{", "a=[[[", `a="\ud83d\ude00`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		b, err := Parse(src)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("not a syntax error: %v", err)
			}
			checkPlace(t, src, syntax.Pos)
			return
		}
		for _, e := range b {
			checkPlace(t, src, e.Pos)
			checkPlace(t, src, e.Value.Pos)
		}
	})
}

func checkPlace(t *testing.T, src []byte, p Pos) {
	t.Helper()
	lines := strings.Split(string(src), "\n")
	if p.Line < 1 || p.Line > len(lines) || p.Col < 1 || p.Col > len(lines[p.Line-1])+1 {
		t.Fatalf("place %v is not in the file of %d lines", p, len(lines))
	}
}
