package nostr_test

import (
	"encoding/hex"
	"fmt"
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
)

// key returns the pubkey of test key n.
func key(t testing.TB, n int) (k [32]byte) {
	t.Helper()
	b, err := hex.DecodeString(testdb.Key(n).Pubkey())
	if err != nil {
		t.Fatal(err)
	}
	return [32]byte(b)
}

// 17-R1, 04-R1: events behind the gate are for their author and those they name.
func TestGateAllows(t *testing.T) {
	const me, friend, other = 1, 2, 3
	gate, open := nostr.NewGate(1059, 4), nostr.Gate{}
	p := func(n int) []string { return []string{"p", testdb.Key(n).Pubkey()} }
	for _, c := range []struct {
		name   string
		kind   int
		author int
		tags   [][]string
		keys   []int
		want   bool
	}{
		{"a note, to nobody", 1, me, nil, nil, true},
		{"a message, to nobody", 4, friend, [][]string{p(me)}, nil, false},
		{"to its author", 4, friend, [][]string{p(me)}, []int{friend}, true},
		{"to who it is for", 4, friend, [][]string{p(me)}, []int{me}, true},
		{"to the second it is for", 1059, friend, [][]string{{"t", "x"}, p(friend), p(me)}, []int{me}, true},
		{"to another", 1059, friend, [][]string{p(me)}, []int{other}, false},
		{"to one of several keys", 1059, friend, [][]string{p(me)}, []int{other, me}, true},
		{"a wrap that is not stored", 21059, friend, [][]string{p(me)}, []int{other}, false}, // 59-R2
		{"named in another tag", 4, friend, [][]string{{"P", testdb.Key(me).Pubkey()}, {"e", testdb.Key(me).Pubkey()}}, []int{me}, false},
		{"a p tag that is no key", 4, friend, [][]string{{"p", "me"}, {"p"}}, []int{me}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ev, err := nostr.ParseEvent(testdb.Sign(c.author, testdb.Event{Kind: c.kind, Tags: c.tags}), nostr.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var keys [][32]byte
			for _, n := range c.keys {
				keys = append(keys, key(t, n))
			}
			if got := gate.Allows(ev.Packed, keys); got != c.want || gate.Viewer(keys)(ev.Packed) != got {
				t.Errorf("allowed: %v", got)
			}
			if !open.Allows(ev.Packed, keys) || open.Viewer(keys) != nil {
				t.Error("an open gate keeps it back")
			}
		})
	}
}

// What a filter can match decides whether its asker has to authenticate (42-R6).
func TestGateFilters(t *testing.T) {
	const me, friend, other = 1, 2, 3
	gate := nostr.NewGate(4, 1059)
	hex := func(n int) string { return `"` + testdb.Key(n).Pubkey() + `"` }
	keys := [][32]byte{key(t, me)}
	for filter, want := range map[string]struct{ touches, only, foreign bool }{
		`{}`:                       {true, false, false},
		`{"kinds":[1]}`:            {false, false, false},
		`{"kinds":[]}`:             {false, false, false},
		`{"kinds":[4],"ids":[]}`:   {false, false, false},
		`{"kinds":[1,4]}`:          {true, false, false},
		`{"kinds":[4]}`:            {true, true, false},
		`{"kinds":[21059,4,1059]}`: {true, true, false},
		fmt.Sprintf(`{"kinds":[4],"#p":[%s]}`, hex(me)):                                {true, true, false},
		fmt.Sprintf(`{"kinds":[4],"#p":[%s]}`, hex(other)):                             {true, true, true},
		fmt.Sprintf(`{"kinds":[4],"#p":[%s,%s]}`, hex(other), hex(me)):                 {true, true, false},
		fmt.Sprintf(`{"kinds":[4],"authors":[%s]}`, hex(friend)):                       {true, true, false},
		fmt.Sprintf(`{"kinds":[4],"authors":[%s],"#p":[%s]}`, hex(me), hex(friend)):    {true, true, false},
		fmt.Sprintf(`{"kinds":[4],"authors":[%s],"#p":[%s]}`, hex(friend), hex(other)): {true, true, true},
		fmt.Sprintf(`{"kinds":[1,4],"#p":[%s]}`, hex(other)):                           {true, false, false},
		fmt.Sprintf(`{"kinds":[1],"#p":[%s]}`, hex(other)):                             {false, false, false},
	} {
		f, err := nostr.ParseFilter([]byte(filter), nostr.FilterLimits{})
		if err != nil {
			t.Fatal(filter, err)
		}
		if got := gate.Touches(f); got != want.touches {
			t.Errorf("%s touches: %v", filter, got)
		}
		if got := gate.Only(f); got != want.only {
			t.Errorf("%s only: %v", filter, got)
		}
		if got := gate.Foreign(f, keys); got != want.foreign {
			t.Errorf("%s foreign: %v", filter, got)
		}
		open := nostr.Gate{}
		if open.Touches(f) || open.Only(f) || open.Foreign(f, keys) {
			t.Errorf("%s is held by an open gate", filter)
		}
	}
}
