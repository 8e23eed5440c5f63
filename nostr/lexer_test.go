package nostr

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLexerUint(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint64
	}{
		{"0", 0}, {"7", 7}, {"10", 10}, {"1000", 1000}, {"1e3", 1000}, {"1E3", 1000}, {"1e+3", 1000}, {"1000.0", 1000},
		{"1.0", 1}, {"1.50e1", 15}, {"0.001e3", 1}, {"100e-2", 1}, {"0.0", 0}, {"-0", 0}, {"-0.0e5", 0}, {"0e99999999999999999999", 0},
		{"18446744073709551615", math.MaxUint64}, {"1844674407370955161500e-2", math.MaxUint64},
		{"1" + strings.Repeat("0", 5000) + "e-5000", 1}, {"0." + strings.Repeat("0", 5000) + "1e5001", 1},
		{" \t\r\n5", 5},
	} {
		l := lexer{data: []byte(c.text)}
		if got, err := l.uint(); err != nil || got != c.want || l.end() != nil {
			t.Errorf("%.40s: %d %v", c.text, got, err)
		}
	}
	for _, text := range []string{
		"-1", "0.5", "1e-1", "1.5", "18446744073709551616", "1e20", "1e999999999999999999999999", "-1e99", "1.0000000000000000000000001",
		"99999999999999999999999999e-1", `"1"`, "null", "[1]", "{}", "true",
	} {
		l := lexer{data: []byte(text)}
		if _, err := l.uint(); err != errNotUint {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", " ", "-", "1.", "1e", "1e+", ".5", "+1", "Infinity", "\x00"} {
		l := lexer{data: []byte(text)}
		var syntax *SyntaxError
		if _, err := l.uint(); !errors.As(err, &syntax) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLexerString(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`""`, ""}, {`"abc"`, "abc"}, {` "a"`, "a"}, {`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{`"\u0000\u001f\u00e9\uFFFF"`, "\x00\x1f\u00e9\uffff"}, {`"\ud83d\ude00\ud800\udc00"`, "😀\U00010000"},
		{"\"\u007f\u2028é😀\"", "\u007f\u2028é😀"}, {`"0123456789abcdef\n0123456789"`, "0123456789abcdef\n0123456789"},
	} {
		l := lexer{data: []byte(c.text)}
		got, err := l.str([]byte("x"))
		if err != nil || string(got) != "x"+c.want || l.end() != nil {
			t.Errorf("%s: %q %v", c.text, got, err)
		}
	}
	for _, c := range []struct {
		text   string
		offset int
	}{
		{``, 0}, {`x`, 0}, {`"`, 1}, {`"abc`, 4}, {`"01234567`, 9}, {"\"0123456789\n\"", 11}, {"\"\x1f\"", 1}, {`"\`, 2}, {`"\x"`, 2}, {`"\u"`, 3},
		{`"\u12g4"`, 5}, {`"\ud83d"`, 1}, {`"a\ud83dx"`, 2}, {`"\ud83d\n"`, 1}, {`"\ud83d\ud83d"`, 1}, {`"\ude00\ud83d"`, 1}, {`"\ud83d\u"`, 9},
		{"\"ab\xff\"", 1}, {"\"\xed\xa0\x80\"", 1}, {"\"\xc0\x80\"", 1}, {"\"\xf4\x90\x80\x80\"", 1}, {"\"\xe2\x82\"", 1},
		{"\"\xff\\n plain words\"", 1}, {"\"plain words\\n\xff\\t\"", 1},
	} {
		for name, read := range map[string]func(*lexer) error{
			"str":   func(l *lexer) error { _, err := l.str(nil); return err },
			"skip":  (*lexer).skipStr,
			"canon": func(l *lexer) error { _, _, err := l.canon(nil); return err },
		} {
			l := lexer{data: []byte(c.text)}
			var syntax *SyntaxError
			if err := read(&l); !errors.As(err, &syntax) {
				t.Errorf("%s %q: %v", name, c.text, err)
			} else if syntax.Offset != c.offset && !strings.Contains(syntax.What, "UTF-8") {
				t.Errorf("%s %q: offset %d, want %d", name, c.text, syntax.Offset, c.offset)
			}
		}
	}
}

// Every byte in every place of the eight that are looked at at a time.
func TestVerbatim(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			b := []byte(strings.Repeat("a", 20))
			b[at] = byte(c)
			want := len(b)
			if c < 0x20 || c == '"' || c == '\\' {
				want = at
			}
			n, high := verbatim(b)
			if n != want || c >= 0x80 && !high {
				t.Fatalf("byte %#x at %d: %d %v", c, at, n, high)
			}
		}
	}
}

func TestLexerSkip(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `[{"a":1},[1,2],{"b":[]}]`, `[[1],{"a":[{}]},[2]]`, ` { "a" : [ true , false , null ] } `, `-0.5e-7`, `"\n"`,
	} {
		l := lexer{data: []byte(text)}
		if err := l.skip(8); err != nil || l.end() != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		``, `[`, `{`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1 "b":2}`, `{1:2}`,
		`[}`, `{]`, `[{"a":1]`, `]`, `tru`, `nulL`, `'a'`, `-`, `.5`, `[1.]`, "\x00", "\v1",
	} {
		l := lexer{data: []byte(text)}
		if l.skip(8) == nil && l.end() == nil {
			t.Errorf("%s is skipped", text)
		}
	}
}

func TestLexerSkipDepth(t *testing.T) {
	nest := func(n int) string { return strings.Repeat(`[{"a":`, n/2) + "0" + strings.Repeat("}]", n/2) }
	for _, c := range []struct {
		depth, max int
		ok         bool
	}{
		{0, 0, true}, {2, 1, false}, {2, 2, true}, {64, 64, true}, {66, 64, false}, {1024, 5000, true}, {1026, 5000, false},
	} {
		l := lexer{data: []byte(nest(c.depth))}
		if err := l.skip(c.max); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
	l := lexer{data: []byte(strings.Repeat("[", 60000))}
	if l.skip(maxNesting) == nil {
		t.Error("60 kB of [ are skipped")
	}
}

func TestLexerAllocations(t *testing.T) {
	data := []byte(`{"a":[1,2.5e3,{"b":"\u00e9 and more","c":null}],"d":true}`)
	if n := testing.AllocsPerRun(100, func() {
		l := lexer{data: data}
		if l.skip(8) != nil || l.end() != nil {
			t.Fatal("not skipped")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzLexer compares with encoding/json, which is as strict but for text:
// invalid UTF-8 and half surrogate pairs pass there, and nesting may be deeper.
func FuzzLexer(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,{"b":"\u00e9\ud83d\ude00","c":null}],"d":true,"e":false}`, `"\ud83d"`, `[[[]]]`, `[{"a":1},[1,2]]`, `1e400`, `-0`,
		"\"\xff\"", `{"a" 1}`, `[1,]`, `nul`, ` 1 `, `01`, `""x`, `"a\/b\n"`, `18446744073709551616`, `100e-2`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		skipped := lexer{data: data}
		err := skipped.skip(maxNesting)
		if err == nil {
			err = skipped.end()
		}
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset > len(data)) {
			t.Fatalf("error is %#v", err)
		}
		switch valid := json.Valid(data); {
		case err == nil && !(valid && utf8.Valid(data)):
			t.Fatalf("skipped %q", data)
		case err != nil && valid && utf8.Valid(data) && !ourOwn(syntax):
			t.Fatalf("%v: %q", err, data)
		}
		if err == nil {
			compareString(t, data)
			compareUint(t, data)
		}
	})
}

// ourOwn reports whether encoding/json knows no such fault.
func ourOwn(e *SyntaxError) bool {
	return strings.Contains(e.What, "surrogate") || strings.Contains(e.What, "nested")
}

func compareString(t *testing.T, data []byte) {
	l := lexer{data: data}
	got, err := l.str(nil)
	var want string
	if json.Unmarshal(data, &want) != nil || l.pos == 0 {
		return
	}
	if l.data[l.pos-1] != '"' {
		return // null, which is a string to encoding/json
	}
	if err != nil || string(got) != want {
		t.Fatalf("%q %v, want %q", got, err, want)
	}
	c := lexer{data: data}
	text, has, err := c.canon(nil)
	if err != nil || c.pos != l.pos {
		t.Fatalf("canonical text %s: %v", text, err)
	}
	if decoded := appendDecoded(nil, text[1:len(text)-1]); string(decoded) != want {
		t.Fatalf("canonical text %s says %q, want %q", text, decoded, want)
	}
	if (has&escapes != 0) != strings.Contains(string(text), `\`) || (has&controls != 0) != strings.Contains(strings.ReplaceAll(string(text), `\\`, ""), `\u`) {
		t.Fatalf("canonical text %s is said to hold %d", text, has)
	}
}

func compareUint(t *testing.T, data []byte) {
	l := lexer{data: data}
	got, err := l.uint()
	var text json.Number
	if json.Unmarshal(data, &text) != nil || text == "" || strings.HasPrefix(strings.TrimSpace(string(data)), `"`) {
		return // no number, or one in a string, which is one to json.Number
	}
	if e := strings.IndexAny(string(text), "eE"); e >= 0 && len(text)-e > len("e+999") {
		return // big.Rat would write it out
	}
	want, ok := new(big.Rat).SetString(string(text))
	if !ok {
		t.Fatalf("%s is no number", text)
	}
	isUint := want.IsInt() && want.Num().IsUint64()
	if (err == nil) != isUint || isUint && want.Num().Uint64() != got {
		t.Fatalf("%s: %d %v", text, got, err)
	}
}
