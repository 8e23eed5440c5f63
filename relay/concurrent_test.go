package relay

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"wok/ingest"
	"wok/internal/testdb"
	"wok/store"
)

const (
	writerDir  = "WOK_TEST_WRITER_DIR" // asks for TestWriterProcess
	perWriter  = 150                   // events each writer makes
	publishers = 2
)

// line returns event number i of a writer. All match the filters of the test.
func crowdLine(writer, i int) []byte {
	line, _ := note(writer, int64(1000+i), fmt.Sprint(writer, i), []string{"t", "crowd"}, []string{"t", fmt.Sprint(i % 3)})
	return line
}

// TestWriterProcess is a second process on the database of TestEveryEventOnce.
// It stores its events in many transactions, after a line on stdin.
func TestWriterProcess(t *testing.T) {
	dir := os.Getenv(writerDir)
	if dir == "" {
		t.Skip("runs as the second process of TestEveryEventOnce")
	}
	db, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	bufio.NewReader(os.Stdin).ReadString('\n')
	pipe := ingest.New(db, ingest.Options{MaxBatchEvents: 10})
	for i := range perWriter {
		err := pipe.Submit(context.Background(), crowdLine(publishers, i), ingest.Source{}, func(r ingest.Result) {
			if !r.OK {
				t.Errorf("event %d: %s", i, r.Reason)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := pipe.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestEveryEventOnce has clients publish, and a second process store events,
// while others subscribe at all times: each subscription gets every event once,
// stored or live (01-R33).
func TestEveryEventOnce(t *testing.T) {
	r := startRelay(t, func(o *Options) { o.Limits.MaxLimit = 10_000 })
	start := secondProcess(t, r.db.Dir())
	want := map[string]bool{}
	for w := range publishers + 1 {
		for i := range perWriter {
			want[testdb.Decode(crowdLine(w, i)).ID] = true
		}
	}
	filters := []string{
		`{}`,
		`{"#t":["crowd"]}`,
		`{"kinds":[1],"since":1000}`,
		`{"#t":["0","1"]},{"#t":["1","2"],"kinds":[1]}`,
		fmt.Sprintf(`{"authors":["%s","%s","%s"]}`, testdb.Key(0).Pubkey(), testdb.Key(1).Pubkey(), testdb.Key(2).Pubkey()),
	}
	var wg sync.WaitGroup
	for _, f := range filters {
		c := r.dial()
		c.send(`["REQ","stay",%s]`, f)
		c.expect(`["EOSE","stay"]`)
		wg.Go(func() { collect(c, "stay", want, false) })
		wg.Go(func() { comeAndGo(r.dial(), f, want) })
	}
	start()
	for w := range publishers {
		wg.Go(func() { publish(r.dial(), w) })
	}
	wg.Wait()
}

// secondProcess starts TestWriterProcess; what it returns lets it begin.
func secondProcess(t *testing.T, dir string) (start func()) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriterProcess$", "-test.v")
	cmd.Env = append(os.Environ(), writerDir+"="+dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("second process: %v\n%s", err, out.String())
		}
	})
	return func() { io.WriteString(stdin, "go\n") }
}

// publish sends the events of a writer, and waits for their OKs after each ten.
func publish(c *client, writer int) {
	for i := range perWriter {
		c.send(`["EVENT",%s]`, crowdLine(writer, i))
		if i%10 == 9 {
			for range 10 {
				c.expect(`["OK",…,true,""]`)
			}
		}
	}
}

// collect receives events for sub until it has all that are wanted, and EOSE if
// that is still to come. It reports what comes twice or is not wanted.
func collect(c *client, sub string, want map[string]bool, eose bool) {
	got := map[string]bool{}
	for len(got) < len(want) || eose {
		m, err := c.next()
		if err != nil {
			c.t.Errorf("after %d events for %s: %v", len(got), sub, err)
			return
		}
		if strings.HasPrefix(m, `["EOSE"`) && eose {
			eose = false
			continue
		}
		e := eventOf(c.t, m, sub)
		if got[e.ID] || !want[e.ID] {
			c.t.Errorf("event %s for %s came twice or is none of ours", e.ID, sub)
			return
		}
		got[e.ID] = true
	}
	c.send(`["CLOSE","%s"]`, sub)
	c.quiet()
}

// comeAndGo opens subscriptions at various times, and stays with the last.
func comeAndGo(c *client, filters string, want map[string]bool) {
	for i := range 20 {
		sub := fmt.Sprint("visit", i)
		c.send(`["REQ","%s",%s]`, sub, filters)
		if i%2 == 0 { // also leave in the middle of what is stored
			c.ids(sub)
		}
		c.send(`["CLOSE","%s"]`, sub)
		c.send(`["COUNT","gone",{"ids":[]}]`)
		for !strings.Contains(c.recv(), `"gone"`) {
		}
	}
	c.send(`["REQ","last",%s]`, filters)
	collect(c, "last", want, true)
}

// TestReplacedRequests sends many REQs with one id. Each asks for one author, so
// that it shows if anything of an earlier one comes after a later one's events,
// and the last must be answered completely, by one EOSE (01-R23).
func TestReplacedRequests(t *testing.T) {
	const authors, notes = 30, 40
	r := startRelay(t)
	var lines [][]byte
	for a := range authors {
		for i := range notes {
			line, _ := note(a, int64(i), strings.Repeat("x", 2000))
			lines = append(lines, line)
		}
	}
	r.put(lines...)
	number := map[string]int{}
	c := r.dial()
	for a := range authors {
		number[testdb.Key(a).Pubkey()] = a
		c.send(`["REQ","s",{"authors":["%s"]}]`, testdb.Key(a).Pubkey())
	}
	at, n := 0, 0
	for at < authors-1 || n < notes {
		m := c.recv()
		if strings.HasPrefix(m, `["EOSE"`) {
			continue
		}
		a := number[eventOf(t, m, "s").Pubkey]
		switch {
		case a < at:
			t.Fatalf("an event for request %d after one for request %d", a, at)
		case a > at:
			at, n = a, 0
		}
		n++
	}
	c.expect(`["EOSE","s"]`)
	c.quiet()
}
