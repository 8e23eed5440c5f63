package nostr

import (
	"strings"
	"testing"
)

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
