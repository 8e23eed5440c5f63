package planner

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"

	"wok/nostr"
)

// sharedVectors are recorded and published examples that a clone does not have.
const sharedVectors = "../../shared/data/"

// openVectors opens one of their files, or skips the test where there is none.
func openVectors(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(sharedVectors + name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs ", sharedVectors, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// 45-R5, 45-R6: published offsets, registers and single keys.
func TestHLLVectors(t *testing.T) {
	var vectors struct {
		Sets []struct {
			Offset    int
			Pubkeys   []string
			Registers string
		}
		Offsets []struct {
			Value  string
			Offset int
		}
		Bytes []struct {
			Offset          int
			Set             map[int]byte
			Register, Value byte
		} `json:"registers_from_bytes"`
	}
	if err := json.NewDecoder(openVectors(t, "vectors/hll/vectors.json")).Decode(&vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors.Offsets {
		h := newHLL([]*nostr.Filter{filter(t, `{"#a":["`+v.Value+`"]}`)})
		if h == nil || h.offset != v.Offset {
			t.Errorf("%s: %+v, want offset %d", v.Value, h, v.Offset)
		}
	}
	for _, v := range vectors.Sets {
		h := hll{offset: v.Offset}
		for _, text := range v.Pubkeys {
			key, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			h.add(key)
		}
		if got := hex.EncodeToString(h.registers[:]); got != v.Registers {
			t.Errorf("registers are\n%s, not\n%s", got, v.Registers)
		}
	}
	for _, v := range vectors.Bytes {
		h, key := hll{offset: v.Offset}, [32]byte{}
		for at, b := range v.Set {
			key[at] = b
		}
		h.add(key[:])
		if got := h.registers[v.Register]; got != v.Value {
			t.Errorf("%v: register %d is %d, not %d", v.Set, v.Register, got, v.Value)
		}
	}
	if len(vectors.Sets) == 0 || len(vectors.Offsets) == 0 || len(vectors.Bytes) == 0 {
		t.Error("the file has changed its form")
	}
}

// Over all events as they were recorded, none replaced, deleted or expired, the
// registers of every filter are those that other implementations compute.
func TestHLLOracleUnstored(t *testing.T) {
	var events []*nostr.Event
	each(t, "real-events.jsonl", func(line []byte) {
		if ev, err := nostr.ParseEvent(line, nostr.Limits{}); err == nil {
			events = append(events, ev)
		}
	})
	compared := 0
	each(t, "vectors/hll/oracle-go-nostr.jsonl", func(line []byte) {
		var want struct {
			Filter json.RawMessage
			HLL    string
			Events int
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		f := filter(t, string(want.Filter))
		h := newHLL([]*nostr.Filter{f})
		if h == nil {
			t.Errorf("no registers for %s", want.Filter)
			return
		}
		n := 0
		for _, ev := range events {
			if f.Match(ev.Packed) {
				h.add(ev.Packed.Pubkey())
				n++
			}
		}
		if got := hex.EncodeToString(h.registers[:]); got != want.HLL || n != want.Events {
			t.Errorf("%s: %d events, registers\n%s, want %d\n%s", want.Filter, n, got, want.Events, want.HLL)
		}
		compared++
	})
	if compared < 100 {
		t.Errorf("only %d filters were compared", compared)
	}
}

// each calls do with every line of a shared file.
func each(t *testing.T, name string, do func(line []byte)) {
	t.Helper()
	lines := bufio.NewScanner(openVectors(t, name))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		do(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
