package testdb

import (
	"slices"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	id, pubkey := strings.Repeat("1", 64), strings.Repeat("2", 64)
	event := `{"id":"` + id + `","pubkey":"` + pubkey + `","created_at":100,"kind":1,"content":"",
		"tags":[["t","ab"],["t","c","d"],["T","x"],["q"],[],["r",""],["long","v"]]}`
	tests := []struct {
		filter string
		want   bool
	}{
		{`{}`, true},
		{`{"ids":["` + id + `"]}`, true},
		{`{"ids":["` + pubkey + `"]}`, false},
		{`{"ids":["11"]}`, false}, // 01-R26: no prefixes
		{`{"ids":[]}`, false},     // 01-R25
		{`{"authors":["` + id + `","` + pubkey + `"]}`, true},
		{`{"kinds":[0,1]}`, true},
		{`{"kinds":[10]}`, false},
		{`{"kinds":[]}`, false},
		{`{"#t":["ab"]}`, true},
		{`{"#t":["a"]}`, false},
		{`{"#t":["abc"]}`, false},
		{`{"#t":["d"]}`, false}, // 01-R19: the first value only
		{`{"#t":["x"]}`, false}, // the letter counts, and its case
		{`{"#T":["x"]}`, true},
		{`{"#t":["z","c"]}`, true},
		{`{"#t":["c"],"#T":["y"]}`, false}, // 01-R24: all conditions
		{`{"#q":[""]}`, false},
		{`{"#r":[""]}`, true},
		{`{"since":100,"until":100}`, true}, // 01-R27
		{`{"since":101}`, false},
		{`{"until":99}`, false},
		{`{"until":0}`, false},
		{`{"limit":0}`, true}, // 01-R28: not for the matcher
		{`{"kinds":[1],"authors":["` + pubkey + `"],"#t":["c"],"since":1}`, true},
		{`{"kinds":[2],"authors":["` + pubkey + `"],"#t":["c"],"since":1}`, false},
	}
	for _, test := range tests {
		if got := Match([]byte(test.filter), []byte(event)); got != test.want {
			t.Errorf("%s: %v", test.filter, got)
		}
	}
}

// 01-R29, 01-R30: newest first, ties by lowest id, a limit for each filter,
// each event once.
func TestQuery(t *testing.T) {
	events := []Event{
		{ID: "b", CreatedAt: 2, Kind: 1},
		{ID: "a", CreatedAt: 2, Kind: 2},
		{ID: "d", CreatedAt: 1, Kind: 1},
		{ID: "c", CreatedAt: 3, Kind: 2},
		{ID: "c", CreatedAt: 3, Kind: 2},
	}
	tests := []struct{ filters, want string }{
		{`{}`, "c a b d"},
		{`{"limit":2}`, "c a"},
		{`{"limit":0}`, ""},
		{`{"limit":9}`, "c a b d"},
		{`{"kinds":[1]}`, "b d"},
		{`{"kinds":[1],"limit":1} {"kinds":[2],"limit":1}`, "c b"},
		{`{"kinds":[1]} {"limit":3}`, "c a b d"},
		{``, ""},
	}
	for _, test := range tests {
		var filters []Filter
		for _, f := range strings.Fields(test.filters) {
			filters = append(filters, DecodeFilter([]byte(f)))
		}
		if got := idsOf(Query(filters, events)); got != test.want {
			t.Errorf("%s: %q, want %q", test.filters, got, test.want)
		}
	}
}

func TestVisible(t *testing.T) {
	tests := []struct {
		name   string
		events []Event
		want   string
	}{
		{"01-R11 regular events stay", []Event{
			{ID: "a", Kind: 1}, {ID: "b", Kind: 41}, {ID: "c", Kind: 45}, {ID: "d", Kind: 65535},
		}, "a b c d"},
		{"01-R12 latest of pubkey and kind", []Event{
			{ID: "a", Kind: 0, CreatedAt: 1}, {ID: "b", Kind: 0, CreatedAt: 2},
			{ID: "c", Kind: 3, CreatedAt: 1}, {ID: "d", Kind: 0, CreatedAt: 1, Pubkey: "p"},
			{ID: "e", Kind: 19999, CreatedAt: 5}, {ID: "f", Kind: 19999, CreatedAt: 4},
		}, "e b c d"},
		{"01-R13 nothing ephemeral", []Event{{ID: "a", Kind: 20000}, {ID: "b", Kind: 29999}}, ""},
		{"01-R14 absent d is empty, the first d counts", []Event{
			{ID: "a", Kind: 30000, CreatedAt: 1}, {ID: "b", Kind: 30000, CreatedAt: 2, Tags: [][]string{{"d"}, {"d", "x"}}},
			{ID: "c", Kind: 30000, CreatedAt: 3, Tags: [][]string{{"d", ""}}},
			{ID: "d", Kind: 30000, CreatedAt: 1, Tags: [][]string{{}, {"d", "x"}, {"d", "y"}}},
			{ID: "e", Kind: 39999, CreatedAt: 1, Tags: [][]string{{"d", "x"}}},
		}, "c d e"},
		{"01-R16 lowest id wins a tie", []Event{{ID: "b", Kind: 0}, {ID: "a", Kind: 0}, {ID: "c", Kind: 0}}, "a"},
		{"deletion by id, own only", []Event{
			{ID: "a", Kind: 1, CreatedAt: 9, Pubkey: "p"}, {ID: "b", Kind: 1, Pubkey: "q"},
			{ID: "c", Kind: 5, Pubkey: "p", Tags: [][]string{{"e", "a"}, {"e", "b"}, {"e", "nothing"}}},
		}, "b c"},
		{"a deletion is not deleted", []Event{
			{ID: "a", Kind: 5}, {ID: "b", Kind: 5, Tags: [][]string{{"e", "a"}, {"a", ""}}}, {ID: "c", Kind: 1},
		}, "a b c"},
		{"deletion by address up to its time", []Event{
			{ID: "a", Kind: 30000, CreatedAt: 5, Pubkey: "p", Tags: [][]string{{"d", "x:y"}}},
			{ID: "b", Kind: 5, CreatedAt: 5, Pubkey: "p", Tags: [][]string{{"a", "30000:p:x:y"}}},
			{ID: "c", Kind: 30000, CreatedAt: 5, Pubkey: "q", Tags: [][]string{{"d", "x:y"}}},
			{ID: "d", Kind: 5, CreatedAt: 4, Pubkey: "q", Tags: [][]string{{"a", "30000:q:x:y"}}},
		}, "b c d"},
		{"deletion by the address of another", []Event{
			{ID: "a", Kind: 10002, Pubkey: "p"}, {ID: "b", Kind: 5, CreatedAt: 1, Pubkey: "q", Tags: [][]string{{"a", "10002:p:"}}},
		}, "b a"},
		{"what was deleted by id had superseded the older", []Event{
			{ID: "a", Kind: 0, CreatedAt: 1}, {ID: "b", Kind: 0, CreatedAt: 2},
			{ID: "c", Kind: 5, Tags: [][]string{{"e", "b"}}},
		}, "c"},
		{"a later version is visible", []Event{
			{ID: "a", Kind: 0, CreatedAt: 3}, {ID: "b", Kind: 0, CreatedAt: 2},
			{ID: "c", Kind: 5, Tags: [][]string{{"e", "b"}}},
		}, "a c"},
		{"an older version deleted by id changes nothing", []Event{
			{ID: "a", Kind: 0, CreatedAt: 3}, {ID: "b", Kind: 0, CreatedAt: 2},
			{ID: "c", Kind: 5, CreatedAt: 2, Tags: [][]string{{"e", "b"}, {"a", "0::"}}},
		}, "a c"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := idsOf(Visible(test.events)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			slices.Reverse(test.events)
			if got := idsOf(Visible(test.events)); got != test.want {
				t.Errorf("reversed: %q, want %q", got, test.want)
			}
		})
	}
}

func idsOf(events []Event) string {
	var ids []string
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ")
}
