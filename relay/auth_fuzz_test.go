package relay

import (
	"strings"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/nostr"
)

// FuzzAuth: nothing but a right AUTH is taken, and nothing panics.
func FuzzAuth(f *testing.F) {
	const challenge = "CHALLENGE"
	right := testdb.Sign(1, auth(1, challenge))
	f.Add(right)
	f.Add([]byte(`{}`))
	f.Add([]byte(strings.Replace(string(right), "relay", "rely", 1)))
	f.Add(testdb.Sign(1, testdb.Event{Kind: kindAuth, CreatedAt: authNow, Tags: [][]string{{"challenge"}, {"relay"}, {}, {"relay", ""}}}))
	f.Add(testdb.Sign(1, testdb.Event{Kind: kindAuth, CreatedAt: authNow, Tags: [][]string{{"challenge", challenge}, {"relay", "wss://[::1]:99999999/\x00"}}}))
	var opts Options
	withAuth(&opts)
	opts.Now = func() time.Time { return time.Unix(authNow, 0) }
	c := &conn{srv: &Server{opts: opts}, identity: identity{challenge: challenge, urls: opts.Auth.URLs}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ev, err := nostr.ParseEvent(raw, nostr.Limits{})
		if err != nil || c.checkAuth(ev) != nil {
			return
		}
		e := testdb.Decode(ev.JSON)
		text := string(ev.JSON)
		if e.Kind != kindAuth || ev.Verify() != nil || !strings.Contains(text, challenge) || !strings.Contains(strings.ToLower(text), "relay.test") {
			t.Errorf("taken: %s", ev.JSON)
		}
	})
}
