package relay

import (
	"fmt"
	"slices"
	"testing"

	"wok/internal/testdb"
)

// 40-R3, 45-R2: an event is there up to the second before the one that it names,
// and not in that second, on every way out and by whatever list it is found.
func TestExpiryToTheSecond(t *testing.T) {
	const writer, reader, begin, end = 1, 2, 1_700_000_000, 1_700_000_060
	r := startRelay(t, func(o *Options) { o.HLL, o.Hints = true, true })
	r.now.Store(begin)
	mortal := func(kind int, at int64) ([]byte, string) {
		line := testdb.Sign(writer, testdb.Event{Kind: kind, CreatedAt: at, Tags: [][]string{
			{"expiration", fmt.Sprint(end)}, {"t", "x"}, {"p", testdb.Key(reader).Pubkey()}, {"d", "a"},
		}})
		return line, testdb.Decode(line).ID
	}
	plain, plainID := mortal(1, begin-1)
	named, namedID := mortal(30023, begin-2)
	lasting, lastingID := note(writer, begin-3, "lasting", []string{"t", "x"})
	c := r.dial()
	for _, line := range [][]byte{plain, named, lasting} {
		c.send(`["EVENT",%s]`, line)
		c.expect(`["OK","…",true,""]`)
	}
	c.send(`["REQ","live",{"kinds":[1,20001],"limit":0}]`)
	c.expect(`["EOSE","live"…]`)

	author, recipient := testdb.Key(writer).Pubkey(), testdb.Key(reader).Pubkey()
	all, mortals := []string{plainID, namedID, lastingID}, []string{plainID, namedID}
	check := func(filter string, want ...string) {
		t.Helper()
		c.send(`["REQ","q",%s]`, filter)
		if got := c.untilEOSE("q"); !slices.Equal(got, want) {
			t.Errorf("at %d %s: %d events, want %d", r.now.Load(), filter, len(got), len(want))
		}
		c.send(`["CLOSE","q"]`)
		c.send(`["COUNT","n",%s]`, filter)
		c.expect(`["COUNT","n",{"count":%d…}]`, len(want))
	}
	conditions := map[string][]string{
		`"authors":["` + author + `"]`:                all,
		`"ids":["` + plainID + `","` + namedID + `"]`: mortals,
		`"#p":["` + recipient + `"]`:                  mortals,
		`"#t":["x"]`:                                  all,
		`"kinds":[1]`:                                 {plainID, lastingID},
		`"kinds":[30023]`:                             {namedID},
		`"kinds":[30023],"authors":["` + author + `"],"#d":["a"]`: {namedID},
		`"since":1`: all,
		`"kinds":[1,30023],"authors":["` + author + `"],"#t":["x"]`:              all,
		`"ids":["` + plainID + `"],"authors":["` + author + `"],"kinds":[1,2,3]`: {plainID},
	}
	for _, at := range []int64{end - 1, end, end + 1} {
		r.now.Store(at)
		for filter, want := range conditions {
			if at >= end {
				want = slices.DeleteFunc(slices.Clone(want), func(id string) bool { return slices.Contains(mortals, id) })
			}
			check("{"+filter+"}", want...)
		}
		c.send(`["COUNT","n",{"#p":["%s"]}]`, recipient)
		if at < end {
			c.expect(`["COUNT","n",{"count":2,"hll":"…"}]`)
		} else {
			c.expect(`["COUNT","n",{"count":0,"hll":"%0512d"}]`, 0)
		}
	}
	// A limit is not met by what is gone, and live nothing comes that is.
	c.send(`["REQ","q",{"authors":["%s"],"limit":1}]`, author)
	if got := c.untilEOSE("q"); !slices.Equal(got, []string{lastingID}) {
		t.Error("the newest event is ", got)
	}
	c.send(`["CLOSE","q"]`)
	for _, kind := range []int{1, 20001} {
		late, id := mortal(kind, begin+10)
		c.send(`["EVENT",%s]`, late)
		c.expect(`["OK","%s",false,"invalid: the event has expired"]`, id)
		r.now.Store(end - 1)
		c.send(`["EVENT",%s]`, late)
		for range 2 {
			if m := c.recv(); !matches(`["OK","`+id+`",true,""]`, m) && !matches(`["EVENT","live",{"id":"`+id+`"…`, m) {
				t.Errorf("kind %d: received %s", kind, short(m))
			}
		}
		r.now.Store(end)
	}
	c.quiet()
}
