package nostr

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

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
