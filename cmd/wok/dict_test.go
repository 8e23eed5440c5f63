package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"wok/internal/testdb"
)

// corpus writes n invented events to a file and returns its path.
func corpus(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	for line := range testdb.Lines(testdb.Options{Seed: 3, Events: n}) {
		fmt.Fprintf(&b, "%s\n", line)
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDictBesideRelay has other processes make dictionaries and compress while a
// relay serves: it reads what they have written, with dictionaries that it has
// never seen, and takes to the one of its configuration once that is there.
func TestDictBesideRelay(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	wok(t, "--db", db, "import", corpus(t, 1200))
	relay, url := startRelay(t, "--db", db, "--set", "dbParams.compression=1=2")
	c := dial(t, url)
	all := func() string {
		c.send(`["REQ","all",{"kinds":[0,3,6,7,9735],"limit":400}]`)
		var b strings.Builder
		for {
			m := c.receive()
			if m[0] == `"EOSE"` {
				break
			}
			b.WriteString(m[2])
		}
		c.send(`["CLOSE","all"]`)
		return b.String()
	}
	before := all()
	for _, args := range [][]string{
		{"train", "--dictSize", "8192"}, {"compress"},
		{"train", "--dictSize", "4096", "--limit", "300"}, {"compress"}, {"remove", "1"}, {"decompress"}, {"compress"},
	} {
		wok(t, append([]string{"--db", db, "dict"}, args...)...)
		if all() != before {
			t.Fatalf("after dict %v the relay answers otherwise", args)
		}
	}

	wok(t, "--db", db, "dict", "decompress")
	c.send(`["REQ","live",{"kinds":[1],"limit":0}]`)
	c.expect(`"EOSE"`, `"live"`)
	text := "what is published now is compressed, as there is a dictionary by now"
	ev, id := note(1, 1000, text)
	c.publish(ev)
	for seen := 0; seen < 2; seen++ {
		if m := c.receive(); m[0] == `"EVENT"` && m[2] != string(ev) || m[0] == `"OK"` && m[1] != id {
			t.Fatalf("received %s", m)
		}
	}
	stats := wok(t, "--db", db, "dict", "stats")
	if !regexp.MustCompile(`(?m)^dictionary 2 \(\S+ kB\) +[1-9]`).MatchString(stats) || !strings.Contains(stats, "plain") {
		t.Errorf("stats:\n%s", stats)
	}
	if got := wok(t, "--db", db, "scan", `{"ids":[`+id+`]}`); got != string(ev)+"\n" {
		t.Errorf("scan: %s", got)
	}
	wok(t, "--db", db, "check")
	if said := relay.stderr(); !strings.Contains(said, "no such dictionary: 2") {
		t.Errorf("the relay does not say that its dictionary is not there:\n%s", said)
	}
}

// TestDictKilled kills compression at any moment: all can be read, and the next
// one goes on.
func TestDictKilled(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	wok(t, "--db", db, "import", corpus(t, 3000))
	before := wok(t, "--db", db, "export")
	wok(t, "--db", db, "dict", "train", "--dictSize", "8192", "--limit", "500")
	for i, args := range [][]string{{"compress"}, {"compress", "--dictId", "0"}, {"decompress"}, {"compress", "--level", "5"}} {
		p := start(t, append([]string{"--db", db, "dict"}, args...)...)
		// Not long enough for all of it, most times; that is for chance to vary.
		timer := time.NewTimer(time.Duration(20+rand.IntN(200)) * time.Millisecond)
		<-timer.C
		p.kill()
		if got := wok(t, "--db", db, "export"); got != before {
			t.Fatalf("round %d: the export is another one", i)
		}
		wok(t, "--db", db, "check")
	}
	wok(t, "--db", db, "dict", "compress", "--dictId", "1")
	if got := wok(t, "--db", db, "export"); got != before {
		t.Fatal("the export is another one")
	}
}

// TestDictRealEvents compresses real events: what comes out is the same.
func TestDictRealEvents(t *testing.T) {
	if _, err := os.Stat(realEvents); err != nil {
		t.Skip("no recorded events: ", err)
	}
	db := filepath.Join(t.TempDir(), "db")
	wok(t, "--db", db, "import", "--no-verify", realEvents)
	before := wok(t, "--db", db, "export")
	wok(t, "--db", db, "dict", "train", "--dictSize", "32768", "--limit", "1000")
	t.Log(wok(t, "--db", db, "dict", "compress"))
	if wok(t, "--db", db, "export") != before {
		t.Error("the export is another one")
	}
	wok(t, "--db", db, "check")
}
