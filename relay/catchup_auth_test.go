package relay

import (
	"strings"
	"testing"

	"wok/internal/testdb"
)

// 42-R7: who authenticates while the stored events of a REQ are still on their
// way gets what comes for the new key, as on a subscription that is live.
func TestAuthWhileStored(t *testing.T) {
	r := startAuthRelay(t)
	for i := range 200 {
		line, _ := note(7, authNow-1000-int64(i), strings.Repeat("x", 100_000))
		r.put(line)
	}
	c, challenge := r.challenged()
	conn := r.conn()
	c.send(`["REQ","s",{}]`)
	until(t, "the query has paused", conn.isParked)
	c.send(`["AUTH",%s]`, testdb.Sign(1, auth(1, challenge)))
	until(t, "the key counts", func() bool { return len(conn.keys()) > 0 })
	letter, letterID := wrap(10, 1, authNow-3)
	after, afterID := note(8, authNow-2, "after")
	r.put(letter, after)
	came := false
	for m := ""; !strings.Contains(m, afterID); m = c.recv() {
		came = came || strings.Contains(m, letterID)
	}
	if !came {
		t.Error("the letter did not come")
	}
}
