package planner

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/store"
)

func filter(t testing.TB, text string) *nostr.Filter {
	t.Helper()
	f, err := nostr.ParseFilter([]byte(text), nostr.FilterLimits{})
	if err != nil {
		t.Fatalf("filter %s: %v", text, err)
	}
	return f
}

// 45-R5 and 45-R7: where the register's byte stands.
func TestHLLOffset(t *testing.T) {
	const pubkey = "a9663055164ab8b30d9524656371c4bf63393bb051b7edf4556f40c5298dc0c7"
	long := strings.Repeat("d", 300)
	for value, want := range map[string]int{
		"a9663055164ab8b30d9524656370c4bf93393bb051b7edf4556f40c5298dc0c7": 17,
		pubkey:                         14,
		"30023:" + pubkey + ":":        14,
		"30023:" + pubkey + ":x:y":     14,
		"30023:" + pubkey + ":" + long: 14,
		"nostr":                        8 + 0x4, // sha256: 8f53...5643
		long:                           8 + 0xb, // sha256: 63c2...d4b2
	} {
		h := newHLL([]*nostr.Filter{filter(t, `{"#a":["`+value+`"]}`)})
		if h == nil {
			t.Fatalf("%s is not eligible", value)
		}
		if h.offset != want {
			t.Errorf("%s has offset %d, not %d", value, h.offset, want)
		}
	}
}

// 45-R6: the registers of a published vector.
func TestHLLRegisters(t *testing.T) {
	h := hll{offset: 8}
	for _, key := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789",
		"0000000000000000010000000000000000000000000000000000000000000000",
		"0000000000000000028000000000000000000000000000000000000000000000",
		"0000000000000000024000000000000000000000000000000000000000000000",
	} {
		b, err := hex.DecodeString(key)
		if err != nil {
			t.Fatal(err)
		}
		h.add(b)
	}
	want := [hllRegisters]byte{0: 57, 1: 57, 2: 2, 0xab: 1, 0xff: 1}
	if h.registers != want {
		t.Errorf("registers are\n%x, not\n%x", h.registers, want)
	}
}

// 45-R4: what is asked for in another way has no registers.
func TestHLLEligible(t *testing.T) {
	const e = `"#e":["a9663055164ab8b30d9524656370c4bf93393bb051b7edf4556f40c5298dc0c7"]`
	for text, want := range map[string]bool{
		`{` + e + `}`:             true,
		`{` + e + `,"kinds":[7]}`: true,
		`{` + e + `,"limit":5}`:   true,
		`{` + e + `,"since":5}`:   false,
		`{` + e + `,"until":5}`:   false,
		`{` + e + `,"#t":["a"]}`:  false,
		`{"#t":["a","b"]}`:        false,
		`{"kinds":[7]}`:           false,
	} {
		if got := newHLL([]*nostr.Filter{filter(t, text)}) != nil; got != want {
			t.Errorf("%s eligible: %v", text, got)
		}
	}
	two := filter(t, `{`+e+`}`)
	if newHLL([]*nostr.Filter{two, two}) != nil {
		t.Error("two filters are eligible")
	}
}

// Registers over real events are those that other implementations compute.
func TestHLLOracle(t *testing.T) {
	const data = "../../shared/data/"
	oracle, err := os.Open(data + "vectors/hll/oracle-go-nostr.jsonl")
	if err != nil {
		t.Skip("no oracle: ", err)
	}
	defer oracle.Close()
	events, err := os.Open(data + "real-events.jsonl")
	if err != nil {
		t.Skip("no events: ", err)
	}
	defer events.Close()
	m := &model{db: testdb.Open(t)}
	m.load(t, events)
	lines := bufio.NewScanner(oracle)
	lines.Buffer(nil, 1<<20)
	checked, skipped := 0, 0
	for lines.Scan() {
		var want struct {
			Filter json.RawMessage
			HLL    string
			Events uint64
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		got := m.count(t, filter(t, string(want.Filter)))
		switch {
		case got.HLL == nil:
			skipped++ // asked for in a way that has none here
		case got.N != want.Events:
			skipped++ // what was replaced, deleted or expired is not here
		case hex.EncodeToString(got.HLL) != want.HLL:
			t.Errorf("filter %s has registers\n%x\nnot\n%s", want.Filter, got.HLL, want.HLL)
		default:
			checked++
		}
	}
	t.Logf("%d filters agree, %d cannot be compared", checked, skipped)
	if checked < 50 {
		t.Errorf("only %d filters were compared", checked)
	}
}

// count runs a count to its end in one transaction.
func (m *model) count(t testing.TB, f *nostr.Filter) nostr.Count {
	t.Helper()
	var n nostr.Count
	err := m.db.View(context.Background(), func(tx *store.Txn) error {
		c, err := NewCount(tx, []*nostr.Filter{f}, Options{HLL: true})
		if err != nil {
			return err
		}
		if _, err := c.Run(tx, Budget{}); err != nil {
			return err
		}
		n = c.Count()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
