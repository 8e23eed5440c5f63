package nostr

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wok/packed"
)

// A draft is an event in pieces of JSON. Its zero fields stand for those of a
// plain note.
type draft struct {
	pubkey, createdAt, kind, tags, content string
	hashed                                 string // what the id is made of, if not the pieces above
}

const somePubkey = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

var someSig = strings.Repeat("0a", 64)

func (d draft) filled() draft {
	for _, f := range []struct {
		field *string
		value string
	}{
		{&d.pubkey, somePubkey}, {&d.createdAt, "1700000000"}, {&d.kind, "1"}, {&d.tags, "[]"}, {&d.content, `"hi"`},
	} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
	if d.hashed == "" {
		d.hashed = fmt.Sprintf(`[0,"%s",%s,%s,%s,%s]`, d.pubkey, d.createdAt, d.kind, d.tags, d.content)
	}
	return d
}

func (d draft) id() string {
	sum := sha256.Sum256([]byte(d.filled().hashed))
	return hex.EncodeToString(sum[:])
}

// json returns the event with its right id and a signature that is not one.
func (d draft) json() string {
	f := d.filled()
	return fmt.Sprintf(`{"id":"%s","pubkey":"%s","created_at":%s,"kind":%s,"tags":%s,"content":%s,"sig":"%s"}`,
		d.id(), f.pubkey, f.createdAt, f.kind, f.tags, f.content, someSig)
}

// benchNote is a reply with seven tags, 1.2 kB.
func benchNote() []byte {
	key := func(i int) string { return fmt.Sprintf("%064x", 0xabcdef<<i) }
	tags := fmt.Sprintf(`[["e","%s","wss://relay.example.com","root"],["e","%s","","reply"],["p","%s"],["p","%s"],["p","%s"],["t","nostr"],["r","https://example.com/a/page"]]`,
		key(1), key(2), key(3), key(4), key(5))
	text := strings.Repeat(`Some words, as notes have them.\n`, 12)
	return []byte(draft{tags: tags, content: `"` + text + `"`}.json())
}

// benchFollows is a follow list of 800.
func benchFollows() []byte {
	tags := make([]string, 800)
	for i := range tags {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		tags[i] = fmt.Sprintf(`["p","%x"]`, sum)
	}
	return []byte(draft{kind: "3", tags: "[" + strings.Join(tags, ",") + "]", content: `""`}.json())
}

func mustParse(tb testing.TB, raw []byte) *Event {
	tb.Helper()
	e, err := ParseEvent(raw, Limits{})
	if err != nil {
		tb.Fatalf("%v\n%s", err, raw)
	}
	return e
}

// packedTags writes the packed tags of an event as text, one after another.
func packedTags(v packed.View) string {
	var out []string
	ts := v.Tags()
	for t, ok := ts.Next(); ok; t, ok = ts.Next() {
		out = append(out, t.String())
	}
	return strings.Join(out, ", ")
}

func TestParseEvent(t *testing.T) {
	d := draft{kind: "7", tags: `[["e","` + somePubkey + `"],["k","1"]]`, content: `"+"`}
	e := mustParse(t, []byte(d.json()))
	if got := e.ID(); got != d.id() {
		t.Errorf("id %s, want %s", got, d.id())
	}
	if got := hex.EncodeToString(e.Packed.Pubkey()); got != somePubkey {
		t.Errorf("pubkey %s", got)
	}
	if e.Packed.CreatedAt() != 1700000000 || e.Packed.Kind() != 7 || e.Packed.Expiration() != 0 {
		t.Errorf("packed %d %d %d", e.Packed.CreatedAt(), e.Packed.Kind(), e.Packed.Expiration())
	}
	if got, want := packedTags(e.Packed), "e "+somePubkey+`, k "1"`; got != want {
		t.Errorf("tags %s, want %s", got, want)
	}
	if string(e.JSON) != d.json() {
		t.Errorf("canonical\n%s, want\n%s", e.JSON, d.json())
	}
	if sig := e.Sig(); hex.EncodeToString(sig[:]) != someSig {
		t.Errorf("sig %x", sig)
	}
}

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

// 01-R2, 01-R3: what a text of JSON becomes, in the JSON that is kept and in
// the bytes that the id is made of.
func TestCanonicalText(t *testing.T) {
	for _, c := range []struct{ name, text, want, verbatim string }{
		{"plain", `"abc"`, `"abc"`, ""},
		{"empty", `""`, `""`, ""},
		{"the seven", `"\n\"\\\r\t\b\f"`, `"\n\"\\\r\t\b\f"`, ""},
		{"the seven by number", `"\u000a\u0022\u005c\u000D\u0009\u0008\u000c"`, `"\n\"\\\r\t\b\f"`, ""},
		{"slash", `"\/"`, `"/"`, ""},
		{"<>&", `"\u003c\u003e\u0026<>&"`, `"<>&<>&"`, ""},
		{"DEL", `"\u007f"`, "\"\u007f\"", ""},
		{"line separators", `"\u2028\u2029"`, "\"\u2028\u2029\"", ""},
		{"non-characters", `"\uffff\ufffe"`, "\"\uffff\ufffe\"", ""},
		{"byte order mark", `"\ufeff"`, "\"\ufeff\"", ""},
		{"replacement character", `"\ufffd"`, "\"\ufffd\"", ""},
		{"surrogate pairs", `"\uD83D\ude00\udbff\udfff"`, "\"😀\U0010ffff\"", ""},
		{"backslash u as text", `"\\u0001"`, `"\\u0001"`, ""},
		{"NUL", `"a\u0000b"`, `"a\u0000b"`, "\"a\x00b\""},
		{"controls", `"\u001F\u0001\u000b"`, `"\u001f\u0001\u000b"`, "\"\x1f\x01\x0b\""},
		{"controls among others", `"\\u0001\u0001\n\u0002é\""`, `"\\u0001\u0001\n\u0002é\""`, "\"\\\\u0001\x01\\n\x02é\\\"\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			wants := []string{c.want}
			if c.verbatim != "" {
				wants = append(wants, c.verbatim)
			}
			for _, w := range wants {
				asContent := draft{content: c.text, hashed: fmt.Sprintf(`[0,"%s",1700000000,1,[],%s]`, somePubkey, w)}
				asTag := draft{tags: `[["x",` + c.text + `]]`, hashed: fmt.Sprintf(`[0,"%s",1700000000,1,[["x",%s]],"hi"]`, somePubkey, w)}
				for _, d := range []draft{asContent, asTag} {
					e := mustParse(t, []byte(d.json()))
					if !strings.Contains(string(e.JSON), c.want) {
						t.Errorf("%s: kept as %s", c.want, e.JSON)
					}
					if again := mustParse(t, e.JSON); !bytes.Equal(again.JSON, e.JSON) || !bytes.Equal(again.Packed, e.Packed) {
						t.Errorf("%s: canonical JSON is read as %s", c.want, again.JSON)
					}
				}
			}
		})
	}
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

func TestLimits(t *testing.T) {
	d := draft{tags: `[["t","éé"],["é\"","x"],[]]`}
	size := len(d.json())
	for _, c := range []struct {
		lim  Limits
		want Fault
	}{
		{Limits{}, ""},
		{Limits{MaxBytes: size, MaxTags: 3, MaxTagBytes: 4}, ""},
		{Limits{MaxBytes: size - 1}, TooLarge},
		{Limits{MaxTags: 2}, TooManyTags},
		{Limits{MaxTagBytes: 3}, TagTooLong},
	} {
		for _, raw := range []string{d.json(), " " + d.json() + " "} {
			if _, err := ParseEvent([]byte(raw), c.lim); FaultOf(err) != c.want {
				t.Errorf("%+v: %v, want %q", c.lim, err, c.want)
			}
		}
	}
	// Escapes count as what they say.
	escaped := draft{tags: `[["t","\n\n\n"]]`}.json()
	if _, err := ParseEvent([]byte(escaped), Limits{MaxTagBytes: 3}); err != nil {
		t.Error(err)
	}
	if _, err := ParseEvent([]byte(escaped), Limits{MaxTagBytes: 2}); err != TagTooLong {
		t.Error(err)
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

func TestOpenCanonical(t *testing.T) {
	e := mustParse(t, []byte(draft{tags: `[["t","x"]]`}.json()))
	other := mustParse(t, []byte(draft{content: `"other"`}.json()))
	again, err := OpenCanonical(e.Packed, e.JSON)
	if err != nil || again.ID() != e.ID() || again.Sig() != e.Sig() {
		t.Fatalf("%v %v", again, err)
	}
	stranger := slices.Clone(e.Packed)
	stranger[40] ^= 1
	for name, c := range map[string]struct{ packed, json []byte }{
		"JSON of another event":   {e.Packed, other.JSON},
		"JSON of another author":  {stranger, e.JSON},
		"no JSON":                 {e.Packed, nil},
		"JSON cut":                {e.Packed, e.JSON[:len(e.JSON)-1]},
		"JSON cut in front":       {e.Packed, e.JSON[1:]},
		"JSON spelled otherwise":  {e.Packed, append([]byte(" "), e.JSON...)},
		"packed cut":              {e.Packed[:len(e.Packed)-1], e.JSON},
		"signature is not in hex": {e.Packed, bytes.Replace(e.JSON, []byte("0a0a"), []byte("zz0a"), 1)},
	} {
		if _, err := OpenCanonical(c.packed, c.json); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

// 01-R44.
func TestFindID(t *testing.T) {
	id := draft{}.id()
	for _, c := range []struct {
		raw  string
		want bool
	}{
		{draft{}.json(), true},
		{strings.Replace(draft{}.json(), `"kind":1`, `"kind":99999`, 1), true},
		{`{"tags":[["id","x"]],"x":{"id":"` + somePubkey + `"},"id":"` + id + `"}`, true},
		{`{"\u0069d":"` + id + `"`, true},
		{"{\"content\":\"two\nlines\",\"id\" : \"" + id + "\"", true},
		{"{\"id\" \"x\",\"id\":\"x\",\"id\":\"" + id + "\"", true},
		{`{"id":"` + id + `"`, true},
		{`{"id":"` + id, false},
		{`{"id":"` + id[1:] + `"}`, false},
		{`{"id":"` + id[1:] + `g"}`, false},
		{`{"id":7}`, false},
		{`{"content":"{\"id\":\"` + id + `\"}"}`, false},
		{`["id","` + id + `"]`, false},
		{`{`, false},
		{``, false},
	} {
		got, ok := FindID([]byte(c.raw))
		if ok != c.want || ok && got != id {
			t.Errorf("%s: %q %v", c.raw, got, ok)
		}
	}
	if got, ok := FindID([]byte(`{"id":"` + strings.ToUpper(id) + `"}`)); !ok || got != strings.ToUpper(id) {
		t.Errorf("upper case: %q %v", got, ok)
	}
}
