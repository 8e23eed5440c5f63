package relay

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
)

const (
	authNow  = 1_700_000_000
	authURL  = "wss://relay.test/"
	wrapKind = 1059
)

// withAuth offers AUTH for one URL and keeps private messages.
func withAuth(o *Options) {
	u, err := nostr.ParseRelayURL(authURL)
	if err != nil {
		panic(err)
	}
	o.Auth = Auth{Enabled: true, URLs: []nostr.RelayURL{u}, Gate: nostr.NewGate(4, wrapKind)}
}

func startAuthRelay(t *testing.T, set ...func(*Options)) *testRelay {
	r := startRelay(t, append([]func(*Options){withAuth}, set...)...)
	r.now.Store(authNow)
	return r
}

// challenged dials and returns the challenge that comes first (42-R1).
func (r *testRelay) challenged() (*client, string) {
	r.t.Helper()
	c := r.dial()
	var m []string
	if err := json.Unmarshal([]byte(c.recv()), &m); err != nil || len(m) != 2 || m[0] != "AUTH" || len(m[1]) < 16 {
		r.t.Fatalf("no challenge: %v %v", m, err)
	}
	return c, m[1]
}

// auth returns an AUTH event as clients make it.
func auth(key int, challenge string) testdb.Event {
	return testdb.Event{Kind: kindAuth, CreatedAt: authNow, Tags: [][]string{{"relay", authURL}, {"challenge", challenge}}}
}

// login authenticates keys, which must succeed.
func (c *client) login(challenge string, keys ...int) {
	c.t.Helper()
	for _, key := range keys {
		line := testdb.Sign(key, auth(key, challenge))
		c.send(`["AUTH",%s]`, line)
		c.expect(`["OK","%s",true,""]`, testdb.Decode(line).ID)
	}
}

// 42-R4: what an AUTH must be.
func TestAuthChecks(t *testing.T) {
	r := startAuthRelay(t)
	c, challenge := r.challenged()
	_, other := r.challenged()
	for name, test := range map[string]struct {
		change func(*testdb.Event)
		ok     bool
	}{
		"as it should be":      {func(*testdb.Event) {}, true},
		"ten minutes old":      {func(e *testdb.Event) { e.CreatedAt -= 600 }, true},
		"ten minutes ahead":    {func(e *testdb.Event) { e.CreatedAt += 600 }, true},
		"older":                {func(e *testdb.Event) { e.CreatedAt -= 601 }, false},
		"further ahead":        {func(e *testdb.Event) { e.CreatedAt += 601 }, false},
		"another kind":         {func(e *testdb.Event) { e.Kind = 22243 }, false},
		"another's challenge":  {func(e *testdb.Event) { e.Tags[1][1] = other }, false},
		"empty challenge":      {func(e *testdb.Event) { e.Tags[1][1] = "" }, false},
		"no challenge":         {func(e *testdb.Event) { e.Tags = e.Tags[:1] }, false},
		"no relay":             {func(e *testdb.Event) { e.Tags = e.Tags[1:] }, false},
		"another relay":        {func(e *testdb.Event) { e.Tags[0][1] = "wss://relay.test.evil/" }, false},
		"another port":         {func(e *testdb.Event) { e.Tags[0][1] = "wss://relay.test:8080/" }, false},
		"host is enough":       {func(e *testdb.Event) { e.Tags[0][1] = "ws://RELAY.test:443/some/path" }, true},
		"loopback, with a URL": {func(e *testdb.Event) { e.Tags[0][1] = r.url() }, false},
	} {
		e := auth(0, challenge)
		test.change(&e)
		line := testdb.Sign(0, e)
		c.send(`["AUTH",%s]`, line)
		want := fmt.Sprintf(`["OK","%s",%v,"`, testdb.Decode(line).ID, test.ok)
		if m := c.recv(); !strings.HasPrefix(m, want) || !test.ok && !strings.Contains(m, `"invalid: `) {
			t.Errorf("%s: %s", name, m)
		}
	}
	// 42-R2: also what is broken is answered.
	line := testdb.Sign(0, auth(0, challenge))
	bad := strings.Replace(string(line), `"sig":"`, `"sig":"`+strings.Repeat("0", 4), 1)
	bad = strings.Replace(bad, `"}`, `"}`, 1)
	c.send(`["AUTH",%s]`, bad[:len(bad)-6]+`"}`)
	if m := c.recv(); !strings.Contains(m, `false,"invalid: `) {
		t.Error("bad signature: ", m)
	}
	c.send(`["AUTH",{}]`)
	if m := c.recv(); !strings.HasPrefix(m, `["NOTICE","invalid: `) {
		t.Error("no id: ", m)
	}
	// 42-R5: it is never an event.
	c.send(`["EVENT",%s]`, line)
	if m := c.recv(); !strings.Contains(m, `false,"invalid: `) {
		t.Error("as an event: ", m)
	}
}

// Without a URL of its own, the relay is known by a loopback address alone.
func TestAuthLoopback(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.Auth.Enabled = true })
	r.now.Store(authNow)
	c, challenge := r.challenged()
	e := auth(0, challenge)
	e.Tags[0][1] = r.url()
	line := testdb.Sign(0, e)
	c.send(`["AUTH",%s]`, line)
	c.expect(`["OK","%s",true,""]`, testdb.Decode(line).ID)
	for host, want := range map[string]bool{
		"localhost": true, "localhost:7777": true, "127.0.0.1:80": true, "[::1]:7777": true,
		"relay.test": false, "127.0.0.1.evil.test": false, "10.0.0.1:7777": false, "": false, "localhost.evil.test": false,
	} {
		if isLoopback(host) != want {
			t.Errorf("loopback %q: %v", host, !want)
		}
	}
}

// 42-R3: all keys of a connection count, up to a bound.
func TestAuthManyKeys(t *testing.T) {
	r := startAuthRelay(t)
	c, challenge := r.challenged()
	for key := range maxKeys {
		c.login(challenge, key)
	}
	c.login(challenge, 0) // again
	line := testdb.Sign(maxKeys, auth(maxKeys, challenge))
	c.send(`["AUTH",%s]`, line)
	if m := c.recv(); !strings.Contains(m, `false,"blocked: `) {
		t.Error("one key too many: ", m)
	}
	// 70-R2: two of the keys publish protected events.
	for _, key := range []int{3, 60} {
		line, id := note(key, authNow, "protected", []string{"-"})
		c.send(`["EVENT",%s]`, line)
		c.expect(`["OK","%s",true,""]`, id)
	}
	line, _ = note(1000, authNow, "protected", []string{"-"})
	c.send(`["EVENT",%s]`, line)
	if m := c.recv(); !strings.Contains(m, `false,"restricted: `) {
		t.Error("another's: ", m)
	}
}

// 70-R2: without AUTH it is asked for, with the challenge once more before the
// first time (42-R1).
func TestProtectedNeedsAuth(t *testing.T) {
	r := startAuthRelay(t)
	c, challenge := r.challenged()
	line, id := note(1, authNow, "protected", []string{"-"})
	c.send(`["EVENT",%s]`, line)
	c.expect(`["AUTH","%s"]`, challenge)
	for range 2 {
		c.expect(`["OK","%s",false,"auth-required: …"]`, id)
		c.send(`["EVENT",%s]`, line)
	}
	c.expect(`["OK","%s",false,"auth-required: …"]`, id)
	c.login(challenge, 1)
	c.send(`["EVENT",%s]`, line)
	c.expect(`["OK","%s",true,""]`, id)
}

// wrap is a private message to a key.
func wrap(from, to int, at int64) (line []byte, id string) {
	line = testdb.Sign(from, testdb.Event{Kind: wrapKind, CreatedAt: at, Tags: [][]string{{"p", testdb.Key(to).Pubkey()}}})
	return line, testdb.Decode(line).ID
}

// 17-R1, 04-R1: private messages are for those involved, by whatever filter they
// are asked for, and betray nothing of themselves to others.
func TestGate(t *testing.T) {
	r := startAuthRelay(t, func(o *Options) { o.Hints, o.HLL = true, true })
	const alice, bob, eve = 1, 2, 3
	toAlice, toAliceID := wrap(10, alice, authNow-1)
	toBob, toBobID := wrap(11, bob, authNow-2)
	public, publicID := note(10, authNow-3, "public", []string{"p", testdb.Key(alice).Pubkey()})
	r.put(toAlice, toBob, public)

	anyone, _ := r.challenged()
	one, oneChallenge := r.challenged()
	one.login(oneChallenge, alice)
	both, bothChallenge := r.challenged()
	both.login(bothChallenge, alice, bob)
	stranger, strangerChallenge := r.challenged()
	stranger.login(strangerChallenge, eve)

	reminded := 0
	p := testdb.Key(alice).Pubkey()
	for _, test := range []struct {
		filter string
		want   map[*client]string // ids, or how CLOSED begins
	}{
		{`{"kinds":[1059]}`, map[*client]string{anyone: "auth-required: ", one: toAliceID, both: toAliceID + toBobID, stranger: ""}},
		{`{"kinds":[4,1059],"#p":["` + p + `"]}`, map[*client]string{anyone: "auth-required: ", one: toAliceID, stranger: "restricted: "}},
		{`{"kinds":[1,1059]}`, map[*client]string{anyone: publicID, one: toAliceID + publicID, stranger: publicID}},
		{`{"ids":["` + toBobID + `"]}`, map[*client]string{anyone: "", one: "", both: toBobID}},
		{`{}`, map[*client]string{anyone: publicID, one: toAliceID + publicID, both: toAliceID + toBobID + publicID}},
		{`{"limit":1}`, map[*client]string{anyone: publicID, one: toAliceID, stranger: publicID}},
		{`{"authors":["` + testdb.Key(10).Pubkey() + `"],"limit":1}`, map[*client]string{anyone: publicID, one: toAliceID}},
		{`{"#p":["` + p + `"]}`, map[*client]string{anyone: publicID, one: toAliceID + publicID}},
	} {
		for c, want := range test.want {
			c.send(`["REQ","q",%s]`, test.filter)
			if strings.HasSuffix(want, ": ") {
				m := c.recv()
				if strings.HasPrefix(m, `["AUTH","`) { // 42-R1: once more, before the first of them
					reminded++
					m = c.recv()
				}
				if !strings.HasPrefix(m, `["CLOSED","q","`+want) {
					t.Errorf("%s: received %s, want CLOSED %s", test.filter, short(m), want)
				}
				continue
			}
			if got := strings.Join(c.untilEOSE("q"), ""); got != want {
				t.Errorf("%s: received %s, want %s", test.filter, got, want)
			}
			c.send(`["CLOSE","q"]`)
			if strings.Contains(test.filter, "limit") {
				continue // 45-R2
			}
			c.send(`["COUNT","n",%s]`, test.filter)
			n := len(want) / 64
			if m := c.recv(); !strings.HasPrefix(m, fmt.Sprintf(`["COUNT","n",{"count":%d`, n)) {
				t.Errorf("%s: counted %s, want %d", test.filter, m, n)
			}
		}
	}
	if reminded != 1 {
		t.Errorf("the challenge was sent %d times more", reminded)
	}
	anyone.send(`["COUNT","n",{"kinds":[1059]}]`)
	if m := anyone.recv(); !strings.HasPrefix(m, `["CLOSED","n","auth-required: `) {
		t.Error("count: ", m)
	}
	// 45-R3: registers hold no one that may not be seen.
	anyone.send(`["COUNT","n",{"#p":["%s"]}]`, p)
	stranger.send(`["COUNT","n",{"#p":["%s"],"kinds":[1]}]`, p)
	if a, b := anyone.recv(), stranger.recv(); a != b || !strings.Contains(a, `"hll"`) {
		t.Errorf("counts betray something\n%s\n%s", a, b)
	}
}

// untilEOSE returns the ids that come for sub before EOSE.
func (c *client) untilEOSE(sub string) (ids []string) {
	c.t.Helper()
	for {
		m := c.recv()
		if strings.HasPrefix(m, `["EOSE","`+sub+`"`) {
			return ids
		}
		ids = append(ids, eventOf(c.t, m, sub).ID)
	}
}

// Live events are shown to those who may see them by then: an AUTH counts for
// subscriptions that are open (42-R7), also for what is not stored (59-R2).
func TestGateLive(t *testing.T) {
	r := startAuthRelay(t)
	const alice = 1
	c, challenge := r.challenged()
	c.send(`["REQ","s",{"limit":0}]`)
	c.expect(`["EOSE","s"]`)
	sender := r.dial()
	sender.recv() // its challenge
	publish := func(line []byte) {
		t.Helper()
		sender.send(`["EVENT",%s]`, line)
		if m := sender.recv(); !strings.Contains(m, "true") {
			t.Fatal(m)
		}
	}
	ephemeral := func(at int64) ([]byte, string) {
		line := testdb.Sign(10, testdb.Event{Kind: 21059, CreatedAt: at, Tags: [][]string{{"p", testdb.Key(alice).Pubkey()}}})
		return line, testdb.Decode(line).ID
	}
	hidden, _ := wrap(10, alice, authNow)
	publish(hidden)
	passing, _ := ephemeral(authNow)
	publish(passing)
	seen, seenID := note(10, authNow, "for all")
	publish(seen)
	if e := eventOf(t, c.recv(), "s"); e.ID != seenID {
		t.Errorf("kind %d came first", e.Kind)
	}
	c.login(challenge, alice)
	shown, shownID := wrap(10, alice, authNow+1)
	publish(shown)
	if e := eventOf(t, c.recv(), "s"); e.ID != shownID {
		t.Errorf("kind %d came", e.Kind)
	}
	passing, passingID := ephemeral(authNow + 1)
	publish(passing)
	if e := eventOf(t, c.recv(), "s"); e.ID != passingID {
		t.Errorf("kind %d came", e.Kind)
	}
}

// A challenge is of its connection.
func TestChallengesDiffer(t *testing.T) {
	r := startAuthRelay(t)
	_, a := r.challenged()
	_, b := r.challenged()
	if a == b {
		t.Error("two connections have one challenge")
	}
	if _, err := hex.DecodeString(a); err == nil && len(a) < 32 {
		t.Error("the challenge is short")
	}
}
