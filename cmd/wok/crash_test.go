package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"wok/index"
	"wok/internal/testdb"
	"wok/packed"
	"wok/store"
)

const (
	crashRounds  = 20  // CRASH_ROUNDS in the environment overrides it
	crashClients = 3   // that publish at once
	crashAcks    = 300 // answers after which a round is killed, at most
	crashImport  = 500 // notes that an import beside the relay brings in
	freshEvery   = 25  // rounds after which a new database is begun, since each is checked whole
)

// TestCrash kills a relay that several clients publish to, at a random moment,
// in some rounds beside an import that is killed with it or before it, in all
// beside a command that compresses, backs up or deletes, and looks at what is
// left: every event that was answered with OK is there, whatever it deleted is
// not, and every row is right. Make crash does it some hundred times.
func TestCrash(t *testing.T) {
	rounds := crashRounds
	if raceDetector {
		rounds /= 5 // it sees only this side of the sockets
	}
	if n, err := strconv.Atoi(os.Getenv("CRASH_ROUNDS")); err == nil {
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed) // tells the load; the moment of a kill comes but once
	rng := rand.New(rand.NewPCG(seed, 0))
	var l *ledger
	var dir string
	for i := range rounds {
		if i%freshEvery == 0 {
			l = newLedger()
			dir = filepath.Join(t.TempDir(), "db")
		}
		r := crashRound{t: t, dir: dir, ledger: l, rng: rng, number: i}
		r.run()
		if t.Failed() {
			t.Fatalf("in round %d of kind %d", i, i%3)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Logf("the last database has kept %d notes, %d addresses, %d deletions", len(l.kept), len(l.versions), len(l.gone))
}

// A crashRound is one life of a relay.
type crashRound struct {
	t      *testing.T
	dir    string
	ledger *ledger
	rng    *rand.Rand
	number int
}

func (r *crashRound) run() {
	relay, url := startRelay(r.t, "--db", r.dir, "--set", "relay.logging.invalidEvents=false")
	var imp *process
	var notes []string
	if r.number%3 > 0 {
		imp, notes = r.startImport()
	}
	var publishers sync.WaitGroup
	for i := range crashClients {
		p := newPublisher(r.t, url, r.ledger, r.number*crashClients+i, r.rng.Uint64())
		publishers.Go(p.write)
		publishers.Go(p.read)
	}
	ended := make(chan struct{})
	go func() {
		publishers.Wait()
		close(ended)
	}()
	other := start(r.t, append([]string{"--db", r.dir}, r.other()...)...)
	r.await(ended, relay, 1+r.rng.IntN(crashAcks))
	if r.number%3 == 2 {
		// The import may hold the writer's lock, which the relay must get over.
		imp.kill()
		r.await(ended, relay, 50)
	}
	relay.kill()
	other.kill()
	if imp != nil {
		imp.kill()
		if imp.cmd.ProcessState.Success() {
			r.ledger.keep(notes)
		}
	}
	<-ended
	r.inspect()
	if r.number%freshEvery == 3 {
		r.finish("dict", "train")
		r.finish("backup", r.backups())
	}
	if r.number%freshEvery == freshEvery-1 {
		r.restore()
	}
}

// other returns the command that runs beside the relay of this round.
func (r *crashRound) other() []string {
	switch r.rng.IntN(5) {
	case 0:
		return []string{"backup", "--incremental", r.backups()}
	case 1:
		return []string{"dict", "decompress", "--filter", `{"kinds":[30023]}`}
	case 2:
		return []string{"delete", "--filter", `{"kinds":[7]}`}
	}
	return []string{"dict", "compress"} // fails until there is a dictionary
}

func (r *crashRound) backups() string { return filepath.Join(filepath.Dir(r.dir), "backups") }

// finish runs a command to its end, which must be a good one.
func (r *crashRound) finish(args ...string) {
	r.t.Helper()
	p := start(r.t, append([]string{"--db", r.dir}, args...)...)
	if code := p.wait(); code != exitOK {
		r.t.Errorf("%v: exit code %d\n%s", args, code, p.stderr())
	}
}

// restore finishes the chain of backups that the rounds have left behind, and
// restores from it what is there now.
func (r *crashRound) restore() {
	r.t.Helper()
	r.finish("backup", "--incremental", r.backups())
	copied := *r
	copied.dir = filepath.Join(r.t.TempDir(), "restored")
	copied.finish("restore", r.backups())
	copied.inspect()
}

// await waits until n more events have been answered, and then a little.
func (r *crashRound) await(ended <-chan struct{}, relay *process, n int) {
	r.t.Helper()
	select {
	case <-r.ledger.after(n):
	case <-ended:
		r.t.Fatalf("the relay has ended by itself:\n%s", relay.stderr())
	}
	// Not all kills are to come right after an answer.
	timer := time.NewTimer(time.Duration(r.rng.IntN(5000)) * time.Microsecond)
	defer timer.Stop()
	<-timer.C
}

// startImport starts an import of notes that nothing deletes, and returns their
// ids once it is at work.
func (r *crashRound) startImport() (*process, []string) {
	var ids []string
	var text strings.Builder
	text.WriteString("at work\n")
	for i := range crashImport {
		ev, id := note(1, int64(1_000_000+r.number*crashImport+i), "imported")
		fmt.Fprintf(&text, "%s\n", ev)
		ids = append(ids, unquote(id))
	}
	p := start(r.t, "--db", r.dir, "import", "--show-rejected", "--write-batch=20")
	go func() {
		fmt.Fprint(p.stdin, text.String()) // as far as it lives
		p.stdin.Close()
	}()
	p.await("^stdin:1: invalid")
	return p, ids
}

// inspect looks at the database that a round has left.
func (r *crashRound) inspect() {
	r.t.Helper()
	db, err := store.Open(store.Options{Dir: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	report, err := db.Check(context.Background(), store.CheckOptions{})
	if err != nil || !report.OK() {
		r.t.Errorf("check: %v\n%s", err, &report)
	}
	err = db.View(context.Background(), func(tx *store.Txn) error { return r.ledger.compare(r.t, tx) })
	if err != nil {
		r.t.Error(err)
	}
}

// A ledger keeps what the relay has promised.
type ledger struct {
	mu       sync.Mutex
	kept     map[string]bool   // ids that must be there
	gone     map[string]bool   // ids that must not
	versions map[string]uint64 // by address: created_at of the latest version answered for
	acks     int
	reached  map[int]chan struct{} // closed when there are so many acks
}

func newLedger() *ledger {
	return &ledger{
		kept:     make(map[string]bool),
		gone:     make(map[string]bool),
		versions: make(map[string]uint64),
		reached:  make(map[int]chan struct{}),
	}
}

// after returns a channel that is closed when n more events were answered.
func (l *ledger) after(n int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{})
	l.reached[l.acks+n] = c
	return c
}

func (l *ledger) keep(ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.kept[id] = true
	}
}

// ack enters that the relay has answered for an event.
func (l *ledger) ack(d draftEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case d.fleeting:
	case d.address != "":
		l.versions[d.address] = max(l.versions[d.address], d.created)
	case d.target != "":
		l.gone[d.target] = true
		l.kept[d.id] = true
	default:
		l.kept[d.id] = true
	}
	l.acks++
	if c := l.reached[l.acks]; c != nil {
		close(c)
		delete(l.reached, l.acks)
	}
}

// doubt forgets a promise: a deletion of the event is on its way.
func (l *ledger) doubt(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kept, id)
}

// compare holds the database against the ledger.
func (l *ledger) compare(t *testing.T, tx *store.Txn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.kept {
		if ok, err := has(tx, id); err != nil {
			return err
		} else if !ok {
			t.Errorf("event %s was answered with OK and is not there", id)
		}
	}
	for id := range l.gone {
		if ok, err := has(tx, id); err != nil {
			return err
		} else if ok {
			t.Errorf("event %s is there after its deletion was answered with OK", id)
		}
	}
	for address, created := range l.versions {
		p, ok, err := tx.ByAddress([]byte(address))
		if err != nil {
			return err
		}
		if !ok || p.Time() < created {
			t.Errorf("address %x: version %d was answered with OK; there is %v, %s", address, created, ok, p)
		}
	}
	return nil
}

func has(tx *store.Txn, id string) (bool, error) {
	b, err := hex.DecodeString(id)
	if err != nil {
		return false, err
	}
	_, ok, err := tx.ByID(b)
	return ok, err
}

// A publisher is a client that publishes as fast as the relay takes it.
type publisher struct {
	t      *testing.T
	ws     *websocket.Conn
	ledger *ledger
	number int // its key's
	rng    *rand.Rand
	sent   int

	mu      sync.Mutex
	pending map[string]draftEvent // by id
	notes   []string              // ids that were answered for and may be deleted
}

// A draftEvent is an event that was sent, and what is to be remembered of it.
type draftEvent struct {
	id      string
	created uint64
	address string // of an addressable one
	target  string // of a deletion

	fleeting bool // another command deletes its kind
}

func newPublisher(t *testing.T, url string, l *ledger, number int, seed uint64) *publisher {
	return &publisher{
		t:       t,
		ws:      dial(t, url).ws,
		ledger:  l,
		number:  number,
		rng:     rand.New(rand.NewPCG(seed, 1)),
		pending: make(map[string]draftEvent),
	}
}

// write publishes until the connection breaks.
func (p *publisher) write() {
	for {
		event := p.next()
		message := `["EVENT",` + string(event) + `]`
		if p.ws.WriteMessage(websocket.TextMessage, []byte(message)) != nil {
			return
		}
	}
}

// next makes an event and enters it among the pending ones.
func (p *publisher) next() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	d := draftEvent{created: uint64(1_700_000_000 + p.sent)}
	ev := testdb.Event{Kind: 1, CreatedAt: int64(d.created), Content: strings.Repeat("text ", p.rng.IntN(200))}
	switch n := p.rng.IntN(20); {
	case n < 3:
		name := fmt.Sprint(p.rng.IntN(5))
		ev.Kind, ev.Tags = 30023, [][]string{{"d", name}}
		d.address = string(addressOf(p.number, 30023, name))
	case n < 4:
		ev.Kind, d.fleeting = 7, true
	case n < 6 && len(p.notes) > 0:
		i := p.rng.IntN(len(p.notes))
		d.target = p.notes[i]
		p.notes[i] = p.notes[len(p.notes)-1]
		p.notes = p.notes[:len(p.notes)-1]
		p.ledger.doubt(d.target)
		ev.Kind, ev.Tags = 5, [][]string{{"e", d.target}}
	}
	line := testdb.Sign(p.number, ev)
	d.id = string(line[len(`{"id":"`):][:64])
	p.pending[d.id] = d
	return line
}

func addressOf(key int, kind uint16, name string) []byte {
	pubkey, err := hex.DecodeString(testdb.Key(key).Pubkey())
	if err != nil {
		panic(err)
	}
	return index.AppendAddress(nil, pubkey, kind, packed.AppendTag(nil, 'd', []byte(name)))
}

// read takes answers until the connection breaks.
func (p *publisher) read() {
	for {
		_, message, err := p.ws.ReadMessage()
		if err != nil {
			return
		}
		m, err := elements(message)
		if err != nil || len(m) != 4 || m[0] != `"OK"` {
			p.t.Errorf("received %s", message)
			return
		}
		p.answered(unquote(m[1]), m[2] == "true", m[3])
	}
}

func (p *publisher) answered(id string, ok bool, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, known := p.pending[id]
	delete(p.pending, id)
	switch {
	case !known:
		p.t.Errorf("an answer to %s, which was not asked: %s", id, reason)
	case ok:
		p.ledger.ack(d)
		if d.address == "" && d.target == "" && !d.fleeting {
			p.notes = append(p.notes, id)
		}
	case d.address == "": // a version may come after a newer one
		p.t.Errorf("event %s was refused: %s", id, reason)
	}
}

func unquote(s string) (text string) {
	if json.Unmarshal([]byte(s), &text) != nil {
		return ""
	}
	return text
}
