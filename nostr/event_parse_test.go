package nostr

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// One event may be spelled in many ways; what is kept is always the same.
func TestParseSpellings(t *testing.T) {
	d := draft{tags: `[["t","a/b"],[],["x"]]`, content: `"é\n😀"`, createdAt: "1000", kind: "1"}
	id, pubkey, sig := `"`+d.id()+`"`, `"`+somePubkey+`"`, `"`+someSig+`"`
	for name, raw := range map[string]string{
		"white space":         " \t\r\n{ \"id\" : " + id + ",\n\"pubkey\":" + pubkey + ",\"created_at\": 1000 ,\"kind\":1,\"tags\":[ [\"t\" , \"a/b\"] , [ ] ,[\"x\"]],\"content\":\"é\\n😀\",\"sig\":" + sig + "}\n",
		"order of keys":       `{"sig":` + sig + `,"content":"é\n😀","tags":[["t","a/b"],[],["x"]],"kind":1,"created_at":1000,"pubkey":` + pubkey + `,"id":` + id + `}`,
		"escapes in texts":    `{"id":` + id + `,"pubkey":` + pubkey + `,"created_at":1000,"kind":1,"tags":[["\u0074","a\/\u0062"],[],["x"]],"content":"\u00E9\u000a\uD83D\uDE00","sig":` + sig + `}`,
		"escapes in hex":      `{"id":` + id + `,"pubkey":"\u0037` + somePubkey[1:] + `","created_at":1000,"kind":1,"tags":[["t","a/b"],[],["x"]],"content":"é\n😀","sig":` + sig + `}`,
		"escapes in keys":     `{"\u0069d":` + id + `,"pubkey":` + pubkey + `,"created\u005fat":1000,"kind":1,"tags":[["t","a/b"],[],["x"]],"content":"é\n😀","sig":` + sig + `}`,
		"numbers (01-R7)":     `{"id":` + id + `,"pubkey":` + pubkey + `,"created_at":1e+3,"kind":1.0,"tags":[["t","a/b"],[],["x"]],"content":"é\n😀","sig":` + sig + `}`,
		"unknown keys 01-R9":  `{"":null,"id":` + id + `,"pubkey":` + pubkey + `,"created_at":1000,"seen":[{"a":[1,-2.5e3,true,null,"x"]},{}],"kind":1,"tags":[["t","a/b"],[],["x"]],"content":"é\n😀","sig":` + sig + `,"ID":1}`,
		"unknown key, thrice": `{"a":1,"a":2,"a":3,"id":` + id + `,"pubkey":` + pubkey + `,"created_at":1000,"kind":1,"tags":[["t","a/b"],[],["x"]],"content":"é\n😀","sig":` + sig + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustParse(t, []byte(raw)).JSON; string(got) != d.json() {
				t.Errorf("canonical\n%s, want\n%s", got, d.json())
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	good := draft{}.json()
	with := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("%s is not in the event", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for _, c := range []struct {
		name string
		raw  string
		want Fault
	}{
		{"empty", "", NotJSON},
		{"only white space", " \n", NotJSON},
		{"array", "[]", NotObject},
		{"string", `"x"`, NotObject},
		{"trailing bytes", good + "x", NotJSON},
		{"two events", good + good, NotJSON},
		{"trailing NUL", good + "\x00", NotJSON},
		{"byte order mark", "\ufeff" + good, NotObject},
		{"comma at the end", with(`"}`, `",}`), NotJSON},
		{"comma missing", with(`,"kind"`, `"kind"`), NotJSON},
		{"colon missing", with(`"kind":`, `"kind"`), NotJSON},
		{"key without quotes", with(`"kind"`, `kind`), NotJSON},

		{"01-R5 no id", with(`"id":"`+draft{}.id()+`",`, ``), NoID},
		{"01-R5 no pubkey", with(`"pubkey":"`+somePubkey+`",`, ``), NoPubkey},
		{"no created_at", with(`"created_at":1700000000,`, ``), NoCreatedAt},
		{"no kind", with(`"kind":1,`, ``), NoKind},
		{"no tags", with(`"tags":[],`, ``), NoTags},
		{"no content", with(`"content":"hi",`, ``), NoContent},
		{"no sig", with(`,"sig":"`+someSig+`"`, ``), NoSig},
		{"nothing", `{}`, NoID},

		{"01-R5 id upper case", with(draft{}.id(), strings.ToUpper(draft{}.id())), BadID},
		{"01-R5 id short", with(draft{}.id(), draft{}.id()[1:]), BadID},
		{"01-R5 id long", with(draft{}.id(), draft{}.id()+"00"), BadID},
		{"01-R5 id null", with(`"`+draft{}.id()+`"`, "null"), BadID},
		{"01-R5 pubkey upper case", with(somePubkey, strings.ToUpper(somePubkey)), BadPubkey},
		{"01-R5 pubkey of 66 digits", with(somePubkey, "02"+somePubkey), BadPubkey},
		{"01-R5 pubkey number", with(`"`+somePubkey+`"`, "7"), BadPubkey},
		{"01-R5 sig upper case", with(someSig, strings.ToUpper(someSig)), BadSig},
		{"01-R5 sig short", with(someSig, someSig[2:]), BadSig},
		{"01-R5 sig not hex", with(someSig, someSig[1:]+"g"), BadSig},

		{"01-R7 negative", with("1700000000", "-1"), BadCreatedAt},
		{"01-R7 fraction", with("1700000000", "1700000000.5"), BadCreatedAt},
		{"01-R7 string", with("1700000000", `"1700000000"`), BadCreatedAt},
		{"01-R7 null", with("1700000000", `null`), BadCreatedAt},
		{"01-R7 2^64", with("1700000000", "18446744073709551616"), BadCreatedAt},
		{"01-R7 leading zero", with("1700000000", "01"), NotJSON},
		{"01-R7 plus sign", with("1700000000", "+1"), NotJSON},
		{"01-R7 NaN", with("1700000000", "NaN"), NotJSON},
		{"created_at 2^40", with("1700000000", "1099511627776"), LateCreatedAt},
		{"created_at 2^63-1", with("1700000000", "9223372036854775807"), LateCreatedAt},
		{"created_at 1e13", with("1700000000", "1e13"), LateCreatedAt},

		{"01-R6 65536", with(`"kind":1`, `"kind":65536`), BadKind},
		{"01-R6 negative", with(`"kind":1`, `"kind":-1`), BadKind},
		{"01-R6 fraction", with(`"kind":1`, `"kind":1.5`), BadKind},
		{"01-R6 string", with(`"kind":1`, `"kind":"1"`), BadKind},
		{"01-R6 huge", with(`"kind":1`, `"kind":1e999999999999999999999`), BadKind},
		{"01-R6 broken", with(`"kind":1`, `"kind":1.`), NotJSON},

		{"01-R8 tags null", with(`[]`, `null`), BadTags},
		{"01-R8 tags object", with(`[]`, `{}`), BadTags},
		{"01-R8 tag null", with(`[]`, `[null]`), BadTags},
		{"01-R8 tag string", with(`[]`, `["e"]`), BadTags},
		{"01-R8 element null", with(`[]`, `[["e",null]]`), BadTags},
		{"01-R8 element number", with(`[]`, `[["k",1]]`), BadTags},
		{"01-R8 element array", with(`[]`, `[["e",[]]]`), BadTags},
		{"01-R8 60 kB of [", with(`[]`, strings.Repeat("[", 60000)), BadTags},
		{"tags cut", with(`[]`, `[["e"`), NotJSON},
		{"tags comma", with(`[]`, `[[],]`), NotJSON},
		{"tag comma", with(`[]`, `[["e",]]`), NotJSON},
		{"content null", with(`"hi"`, `null`), BadContent},
		{"content array", with(`"hi"`, `[]`), BadContent},

		{"raw newline in content", with(`"hi"`, "\"h\ni\""), NotJSON},
		{"raw NUL in content", with(`"hi"`, "\"h\x00i\""), NotJSON},
		{"unknown escape", with(`"hi"`, `"\x41"`), NotJSON},
		{"short escape", with(`"hi"`, `"\u12"`), NotJSON},
		{"high surrogate alone", with(`"hi"`, `"\ud83d"`), NotJSON},
		{"high surrogate, then a letter", with(`"hi"`, `"\ud83d\u0041"`), NotJSON},
		{"low surrogate alone", with(`"hi"`, `"\ude00"`), NotJSON},
		{"surrogate in UTF-8", with(`"hi"`, "\"\xed\xa0\xbd\""), NotJSON},
		{"overlong UTF-8", with(`"hi"`, "\"\xc0\xaf\""), NotJSON},
		{"invalid UTF-8 in a tag", with(`[]`, "[[\"t\",\"\xff\"]]"), NotJSON},
		{"invalid UTF-8 in an unknown key", with(`{`, "{\"\xff\":1,"), NotJSON},

		{"01-R10 kind twice", with(`"kind":1`, `"kind":1,"kind":1`), DuplicateKey},
		{"01-R10 content twice, one escaped", with(`"content"`, `"c\u006fntent":"","content"`), DuplicateKey},
		{"unknown key nests too deep", with(`{`, `{"x":`+deep+`,`), NotJSON},
		{"unknown key is broken", with(`{`, `{"x":[1}],`), NotJSON},

		{"01-R1 another content", with(`"hi"`, `"ho"`), WrongID},
		{"01-R1 another id", with(draft{}.id(), somePubkey), WrongID},
		{"01-R1 another time", with("1700000000", "1700000001"), WrongID},
		{"01-R2 <>& escaped for the id", draft{content: `"<b>"`, hashed: fmt.Sprintf(`[0,"%s",1700000000,1,[],"\u003cb\u003e"]`, somePubkey)}.json(), WrongID},
		{"01-R3 both forms in one", draft{content: `"\u0001\u0002"`, hashed: fmt.Sprintf("[0,\"%s\",1700000000,1,[],\"\\u0001\x02\"]", somePubkey)}.json(), WrongID},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := ParseEvent([]byte(c.raw), Limits{})
			if e != nil || FaultOf(err) != c.want {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if r := RefusalOf(err); r.Prefix != PrefixInvalid || len(r.Text) > 120 {
				t.Errorf("the client gets %q", r.Error())
			}
		})
	}
}

func TestParseEveryPrefix(t *testing.T) {
	raw := draft{tags: `[["t","a\n\ud83d\ude00"],[]]`, hashed: "-"}.json()
	for n := range len(raw) {
		_, err := ParseEvent([]byte(raw[:n]), Limits{})
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if syntax.Offset > n {
			t.Fatalf("%d bytes: fault at %d", n, syntax.Offset)
		}
		FindID([]byte(raw[:n]))
	}
}

func TestLimits(t *testing.T) {
	d := draft{tags: `[["t","éé"],["é\"","x"],[]]`}
	size := len(d.json())
	for _, c := range []struct {
		lim  Limits
		want Fault
	}{
		{Limits{}, ""},
		{Limits{MaxBytes: size, MaxTags: 3, MaxTagValue: 4}, ""},
		{Limits{MaxBytes: size - 1}, TooLarge},
		{Limits{MaxTags: 2}, TooManyTags},
		{Limits{MaxTagValue: 3}, TagTooLong},
	} {
		for _, raw := range []string{d.json(), " " + d.json() + " "} {
			if _, err := ParseEvent([]byte(raw), c.lim); FaultOf(err) != c.want {
				t.Errorf("%+v: %v, want %q", c.lim, err, c.want)
			}
		}
	}
	// Escapes count as what they say.
	escaped := draft{tags: `[["t","\n\n\n"]]`}.json()
	if _, err := ParseEvent([]byte(escaped), Limits{MaxTagValue: 3}); err != nil {
		t.Error(err)
	}
	if _, err := ParseEvent([]byte(escaped), Limits{MaxTagValue: 2}); err != TagTooLong {
		t.Error(err)
	}
	// What is not indexed may be long: a zap receipt holds a whole event.
	for _, tags := range []string{`[["description","long"]]`, `[["t","a","long"]]`, `[["long"]]`, `[["é","long"]]`} {
		if _, err := ParseEvent([]byte(draft{tags: tags}.json()), Limits{MaxTagValue: 2}); err != nil {
			t.Errorf("%s: %v", tags, err)
		}
	}
}

// A parser is used again and again, also after a refusal.
func TestParserReuse(t *testing.T) {
	a := draft{kind: "30000", tags: `[["d"],["expiration","5"],["t","\u0001"]]`, content: `"long content"`}
	b := draft{tags: `[["t","x"]]`}
	var p Parser
	for range 3 {
		for _, d := range []draft{a, b} {
			raw := []byte(d.json())
			e, err := p.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			p.Parse([]byte(`{"content":"broken","tags":[["d"],["expiration","1"],["t","x`))
			clear(raw)
			if fresh := mustParse(t, []byte(d.json())); !bytes.Equal(fresh.JSON, e.JSON) || !bytes.Equal(fresh.Packed, e.Packed) {
				t.Errorf("got %s %q, want %s %q", e.JSON, e.Packed, fresh.JSON, fresh.Packed)
			}
		}
	}
}

func TestParserForgetsHugeMemory(t *testing.T) {
	var p Parser
	huge := draft{content: `"` + strings.Repeat("x", 2*maxKept) + `"`}
	for _, raw := range []string{huge.json(), draft{}.json()} {
		if _, err := p.Parse([]byte(raw)); err != nil {
			t.Fatal(err)
		}
	}
	if cap(p.content) > maxKept || cap(p.hashed) > maxKept {
		t.Errorf("kept %d and %d bytes", cap(p.content), cap(p.hashed))
	}
}

func TestParseAllocations(t *testing.T) {
	for name, raw := range map[string][]byte{"note": benchNote(), "follows": benchFollows()} {
		var p Parser
		n := testing.AllocsPerRun(50, func() {
			if _, err := p.Parse(raw); err != nil {
				t.Fatal(err)
			}
		})
		if n > 2 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
