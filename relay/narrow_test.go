package relay

import (
	"strings"
	"testing"
)

// What a narrow relay does not serve is closed with the reason.
func TestNarrow(t *testing.T) {
	r := startRelay(t, func(o *Options) {
		o.Limits.Narrow = Narrow{MinFilters: 1, MaxFilters: 2, MaxKinds: 2, AllowedKinds: []uint16{0, 1, 7}, AuthorOrTag: true}
	})
	c := r.dial()
	key := strings.Repeat("a", 64)
	for filters, closed := range map[string]string{
		`{"authors":["` + key + `"],"kinds":[1,7]}`:                                       "",
		`{"#p":["` + key + `"],"kinds":[1]},{"#e":["` + key + `"],"kinds":[7]}`:           "",
		`{"ids":["` + key + `"]}`:                                                         "",
		`{"kinds":[1]}`:                                                                   "names ids, authors",
		`{"#t":["x"],"kinds":[1]}`:                                                        "names ids, authors",
		`{"authors":["` + key + `"]}`:                                                     "names kinds",
		`{"authors":["` + key + `"],"kinds":[0,1,7]}`:                                     "2 kinds at most",
		`{"authors":["` + key + `"],"kinds":[4]}`:                                         "kind 4 is not served",
		`{"ids":["` + key + `"]},{"ids":["` + key + `"]},{"ids":["` + key + `"]}`:         "2 filters at most",
		`{"authors":["` + key + `"],"kinds":[1]},{"authors":["` + key + `"],"kinds":[9]}`: "kind 9 is not served",
	} {
		for _, verb := range []string{"REQ", "COUNT"} {
			c.send(`["%s","n",%s]`, verb, filters)
			m := c.recv()
			if got := strings.HasPrefix(m, `["CLOSED","n","blocked: `); got != (closed != "") || !strings.Contains(m, closed) {
				t.Errorf("%s %s: %s", verb, filters, m)
			}
		}
	}
}
