package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2/schnorr"

	"wok/internal/testdb"
)

// Two writers of the canonical form that know nothing of each other agree.
func TestCanonical(t *testing.T) {
	for _, content := range []string{
		"", "plain", "\n\"\\\r\t\b\f", "\x00\x01\x0b\x1f\x7f", "/<>&'\u2028\u2029\ufffe", "é😀",
	} {
		theirs := testdb.Decode(testdb.Sign(1, testdb.Event{
			Kind: 1, CreatedAt: 1700000000, Content: content, Tags: [][]string{{"t", content}, {}},
		}))
		ours := event{
			pubkey: theirs.Pubkey, createdAt: int64(1700000000), kind: json.Number("1"),
			tags: []any{[]any{"t", content}, []any{}}, content: content,
		}
		hash := ours.hash(escaped)
		if got := hex.EncodeToString(hash[:]); got != theirs.ID {
			t.Errorf("%q: id %s, want %s", content, got, theirs.ID)
		}
	}
}

func TestSpellings(t *testing.T) {
	for _, test := range []struct {
		how  spelling
		want string
	}{
		{escaped, `"<\u0001\n"`},
		{verbatim, "\"<\x01\\n\""},
		{html, `"\u003c\u0001\n"`},
	} {
		if got := string(appendString(nil, "<\x01\n", test.how)); got != test.want {
			t.Errorf("%d: %s, want %s", test.how, got, test.want)
		}
	}
}

func TestSign(t *testing.T) {
	d := draft{by: keyFor("x"), bits: 5}
	d.createdAt, d.kind, d.tags, d.content = int64(1), json.Number("1"), []any{[]any{"nonce", try, "5"}}, ""
	e, err := d.sign()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := hex.DecodeString(e.id)
	b, _ := hex.DecodeString(e.sig)
	sig, err := schnorr.ParseSignature(b)
	if err != nil {
		t.Fatal(err)
	}
	if zeroBits([32]byte(id)) != 5 || !sig.Verify(id, d.by.PubKey()) || strings.Contains(e.json, try) {
		t.Error(e.json)
	}
	if back := testdb.Decode([]byte(e.json)); back.ID != e.id || back.Tags[0][2] != "5" {
		t.Errorf("read back as %v", back)
	}
}

// The examples of NIP-45, and which part of an address counts (45-R5, 45-R7).
func TestHLL(t *testing.T) {
	for value, want := range map[string]int{
		"a9663055164ab8b30d9524656370c4bf93393bb051b7edf4556f40c5298dc0c7":       17,
		"a9663055164ab8b30d9524656371c4bf63393bb051b7edf4556f40c5298dc0c7":       14,
		"0:a9663055164ab8b30d9524656371c4bf63393bb051b7edf4556f40c5298dc0c7:a:b": 14,
		"1:A9663055164ab8b30d9524656371c4bf63393bb051b7edf4556f40c5298dc0c7:":    hllOffset(sha("1:A9663055164ab8b30d9524656371c4bf63393bb051b7edf4556f40c5298dc0c7:")),
		"00000000000000000000000000000000f0000000000000000000000000000000":       23,
		"ffffffffffffffffffffffffffffffff0fffffffffffffffffffffffffffffff":       8,
		"": hllOffset("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
	} {
		if got := hllOffset(value); got != want {
			t.Errorf("offset of %s: %d, want %d", value, got, want)
		}
	}
	zeros := strings.Repeat("0", 32)
	registers := hll(zeros+"0"+zeros[1:], []string{ // offset 8
		"0000000000000000" + "02" + "80" + zeros[:28] + "0000000000000000",
		"0000000000000000" + "02" + "10" + zeros[:28] + "0000000000000000",
		"0000000000000000" + "02" + "40" + zeros[:28] + "0000000000000000",
		"0000000000000000" + "ff" + "00" + "01" + zeros[:26] + "0000000000000000",
	})
	if want := "000004" + strings.Repeat("00", 252) + "10"; registers != want {
		t.Errorf("registers %s", registers)
	}
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
