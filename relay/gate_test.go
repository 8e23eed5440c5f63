package relay

import (
	"slices"
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
)

// 17-R1: a kind that is kept by address is no exception: whoever is not involved
// finds it by no look-up, and is not told of a newer version but by bringing the
// older one.
func TestGateAddress(t *testing.T) {
	const alice, kind = 1, 30078
	r := startAuthRelay(t, func(o *Options) { o.Auth.Gate = nostr.NewGate(kind) })
	version := func(at int64) (line []byte, id string) {
		line = testdb.Sign(alice, testdb.Event{Kind: kind, CreatedAt: at, Tags: [][]string{{"d", "notes"}}})
		return line, testdb.Decode(line).ID
	}
	older, olderID := version(authNow - 2)
	newer, newerID := version(authNow - 1)
	r.put(older, newer)
	author := `"authors":["` + testdb.Key(alice).Pubkey() + `"]`
	filters := []string{
		`{"kinds":[1,30078],` + author + `,"#d":["notes"]}`, `{` + author + `,"limit":1}`, `{"#d":["notes"]}`,
		`{"ids":["` + newerID + `"]}`, `{"ids":["` + newerID + `"],` + author + `}`,
	}
	c, challenge := r.challenged()
	look := func(want ...string) {
		t.Helper()
		for _, f := range filters {
			c.send(`["REQ","q",%s]`, f)
			if got := c.untilEOSE("q"); !slices.Equal(got, want) {
				t.Errorf("%s: received %s, want %s", f, got, want)
			}
			c.send(`["CLOSE","q"]`)
			c.send(`["COUNT","n",%s]`, f)
			c.expect(`["COUNT","n",{"count":%d…}]`, len(want))
		}
	}
	look()
	c.login(challenge, 2)
	look()
	c.send(`["REQ","live",{"#d":["notes"]}]`)
	c.expect(`["EOSE","live"…`)
	c.login(challenge, alice)
	look(newerID)
	c.send(`["EVENT",%s]`, older)
	c.expect(`["OK","%s",false,"duplicate: a newer version is stored"]`, olderID)
	newest, newestID := version(authNow)
	c.send(`["EVENT",%s]`, newest)
	for range 2 { // the OK and the event, in either order
		if m := c.recv(); !matches(`["OK","`+newestID+`",true,""]`, m) && !matches(`["EVENT","live",{"id":"`+newestID+`"…`, m) {
			t.Error("received ", short(m))
		}
	}
}

// 67-R4: what may not be seen is not told by a hint either, however many of
// them lie behind a limit.
func TestGateHints(t *testing.T) {
	r := startAuthRelay(t, func(o *Options) { o.Hints = true })
	const quiet, writer = 1, 2
	for _, key := range []int{quiet, writer} {
		line, _ := note(key, authNow, "public")
		r.put(line)
	}
	var letters [][]byte
	for i := range 200 {
		line, _ := wrap(writer, 3, authNow-100-int64(i))
		letters = append(letters, line)
	}
	r.put(letters...)
	c, _ := r.challenged()
	for _, limit := range []string{"", `,"limit":1`, `,"limit":2`} {
		var hints []string
		for _, key := range []int{quiet, writer} {
			c.send(`["REQ","q",{"authors":["%s"]%s}]`, testdb.Key(key).Pubkey(), limit)
			eventOf(t, c.recv(), "q")
			hints = append(hints, c.recv())
		}
		if hints[0] != hints[1] {
			t.Errorf("%s: of who has written no letters %s, of who has %s", limit, hints[0], hints[1])
		}
	}
}
