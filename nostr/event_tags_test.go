package nostr

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wok/packed"
)

// packedTags writes the packed tags of an event as text, one after another.
func packedTags(v packed.View) string {
	var out []string
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		out = append(out, t.String())
	}
	return strings.Join(out, ", ")
}

func TestPackedTags(t *testing.T) {
	long := strings.Repeat("x", 256)
	upper := strings.ToUpper(somePubkey)
	for _, c := range []struct{ name, kind, tags, want string }{
		{"none", "1", `[]`, ""},
		{"01-R8 empty tags", "1", `[[],[],["t","x"],[]]`, `t "x"`},
		{"01-R19 letters only", "1", `[["a","1"],["Z","2"],["ab","3"],["é","4"],["1","5"],["","6"],["-"],["@","7"],["[","8"]]`, `a "1", Z "2"`},
		{"01-R19 case", "1", `[["e","1"],["E","1"]]`, `e "1", E "1"`},
		{"01-R19 first value only", "1", `[["t","a","b","c"]]`, `t "a"`},
		{"order and repeats are kept", "1", `[["t","b"],["t","a"],["t","b"]]`, `t "b", t "a", t "b"`},
		{"01-R20 e and p may be anything", "1", `[["e","x"],["p",""],["e","` + upper + `"]]`, `e "x", p "", e "` + upper + `"`},
		{"hex", "1", `[["x","` + somePubkey + `"]]`, "x " + somePubkey},
		{"long", "1", `[["r","` + long + `"]]`, fmt.Sprintf("r sha256:%x", sha256.Sum256([]byte(long)))},
		{"255 bytes", "1", `[["r","` + long[1:] + `"]]`, `r "` + long[1:] + `"`},
		{"escapes are undone", "1", `[["t","a\n\"é"]]`, `t "a\n\"é"`},
		{"without a value", "1", `[["t"],["e"]]`, ""},

		{"01-R18 bare d of a regular event", "1", `[["d"]]`, ""},
		{"01-R14 no d", "30000", `[]`, `d ""`},
		{"01-R14 no d among others", "30000", `[["t","x"]]`, `t "x", d ""`},
		{"01-R14 bare d", "30000", `[["t","x"],["d"],["t","y"]]`, `t "x", d "", t "y"`},
		{"01-R14 empty d", "30000", `[["t","x"],["d",""],["t","y"]]`, `t "x", d "", t "y"`},
		{"01-R14 bare d first", "39999", `[["d"],["d","a"]]`, `d ""`},
		{"01-R14 further ds", "30000", `[["t","x"],["d","a"],["d","b"],["t","y"],["d","a"]]`, `t "x", d "a", t "y"`},
		{"01-R18 ds of a regular event", "1", `[["d","a"],["d","b"]]`, `d "a", d "b"`},
		{"01-R14 bare d second", "30000", `[["d","a"],["d"]]`, `d "a"`},
		{"01-R14 two bare ones", "30000", `[["d"],["d"]]`, `d ""`},
		{"01-R14 upper case D is no d", "30000", `[["D","x"]]`, `D "x", d ""`},
		{"01-R12 replaceable has no d", "10002", `[["d"]]`, ``},
		{"40000 has no class", "40000", `[["d"]]`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := []byte(draft{kind: c.kind, tags: c.tags}.json())
			e := mustParse(t, raw)
			if got := packedTags(e.Packed); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if _, err := packed.Parse(e.Packed); err != nil {
				t.Error(err)
			}
			// Tags before or after the kind make no difference.
			first := strings.Replace(string(raw), `{`, `{"tags":`+c.tags+`,`, 1)
			first = strings.Replace(first, `,"tags":`+c.tags+`,"content"`, `,"content"`, 1)
			if again := mustParse(t, []byte(first)); !bytes.Equal(again.Packed, e.Packed) {
				t.Errorf("tags first: %s", packedTags(again.Packed))
			}
		})
	}
}

// 40-R1, 40-R5.
func TestExpiration(t *testing.T) {
	for _, c := range []struct {
		tags string
		want uint64
	}{
		{`[]`, 0},
		{`[["expiration","1700000000"]]`, 1700000000},
		{`[["expiration","\u0031700000000"]]`, 1700000000},
		{`[["expir\u0061tion","1700000000"]]`, 1700000000},
		{`[["expiration","1700000000","x"]]`, 1700000000},
		{`[["expiration","007"]]`, 7},
		{`[["expiration","0"]]`, 1},
		{`[["expiration","18446744073709551615"]]`, 1<<64 - 1},
		{`[["expiration","20"],["expiration","10"],["expiration","30"]]`, 10},
		{`[["expiration","x"],["expiration","10"]]`, 10},
		{`[["expiration","0"],["expiration","10"]]`, 1},
		{`[["expiration"]]`, 0},
		{`[["expiration",""]]`, 0},
		{`[["expiration","-1"]]`, 0},
		{`[["expiration","+1"]]`, 0},
		{`[["expiration","1.0"]]`, 0},
		{`[["expiration","1e3"]]`, 0},
		{`[["expiration"," 1"]]`, 0},
		{`[["expiration","18446744073709551616"]]`, 0},
		{`[["Expiration","1"]]`, 0},
	} {
		e := mustParse(t, []byte(draft{tags: c.tags, hashed: hashedTags(t, c.tags)}.json()))
		if got := e.Packed.Expiration(); got != c.want {
			t.Errorf("%s: %d, want %d", c.tags, got, c.want)
		}
	}
}

// hashedTags returns what the id of a note with the given tags is made of,
// their \u escapes of letters and digits undone.
func hashedTags(t *testing.T, tags string) string {
	t.Helper()
	tags = strings.NewReplacer(`\u0031`, "1", `\u0061`, "a").Replace(tags)
	return draft{tags: tags}.filled().hashed
}

func TestEventTags(t *testing.T) {
	e := mustParse(t, []byte(draft{tags: `[["a","30023:` + somePubkey + `:x","wss://r"],[],["t\n","\"q\"","é","\u0001"],["",""]]`, content: `"a\"b\n\u0001"`}.json()))
	var got []string
	for tag := range e.Tags() {
		got = append(got, fmt.Sprintf("%q", tag))
	}
	want := []string{
		`["a" "30023:` + somePubkey + `:x" "wss://r"]`, `[]`, `["t\n" "\"q\"" "é" "\x01"]`, `["" ""]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for range e.Tags() {
		break // stopping early must be allowed
	}
	if got := e.Content([]byte("-")); string(got) != "-a\"b\n\x01" {
		t.Errorf("content %q", got)
	}
}
