package relay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wok/internal/testdb"
)

// TestSessions plays the conversations in testdata/session. A script is read
// line by line:
//
//	# a comment, with the ids of the rules that follow from the script
//	limit maxSubs=2              an option of the relay; before all else
//	now 1000                     sets the relay's clock
//	event a key=1 kind=1 at=5 tags=[["t","x"]] content="hi"
//	                             makes a signed event; what is left out is 0 or ""
//	> ["EVENT",{a}]              the client sends; {a} is the event's JSON,
//	                             {a.id}, {a.pubkey} and {a.sig} its parts
//	< ["OK","{a.id}",true,""]    the relay's next message; … stands for anything
//	2> 2<                        the same for a second client, and so on
//	quiet                        nothing is on its way to the clients
//
// Long values: {64*a} is a string of 64 a. At the end all clients are quiet.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/session/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &session{t: t, events: map[string]testdb.Event{}, lines: map[string]string{}, clients: map[string]*client{}}
			for i, line := range strings.Split(string(text), "\n") {
				s.at = fmt.Sprintf("%s:%d", file, i+1)
				s.play(line)
			}
			s.quiet()
		})
	}
}

// A session is a script that is being played.
type session struct {
	t       *testing.T
	at      string // file:line
	opts    []func(*Options)
	relay   *testRelay
	events  map[string]testdb.Event
	lines   map[string]string // the JSON of events
	clients map[string]*client
}

func (s *session) play(line string) {
	s.t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "" || word == "#":
	case word == "limit":
		s.option(rest)
	case word == "now":
		s.started().now.Store(s.number(rest))
	case word == "event":
		s.event(rest)
	case word == "quiet":
		s.quiet()
	case strings.HasSuffix(word, ">"):
		s.client(word[:len(word)-1]).send("%s", s.expand(rest))
	case strings.HasSuffix(word, "<"):
		want := s.expand(rest)
		if got := s.client(word[:len(word)-1]).recv(); !matches(want, got) {
			s.t.Fatalf("%s:\nreceived %s\n    want %s", s.at, short(got), short(want))
		}
	default:
		s.t.Fatalf("%s: what is %q?", s.at, word)
	}
}

func (s *session) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatalf("%s: %v", s.at, err)
	}
	return n
}

func (s *session) option(text string) {
	name, value, _ := strings.Cut(text, "=")
	n := int(s.number(value))
	set := map[string]func(*Options){
		"maxSubs":         func(o *Options) { o.Limits.MaxSubs = n },
		"maxFilters":      func(o *Options) { o.Limits.MaxFilters = n },
		"maxLimit":        func(o *Options) { o.Limits.MaxLimit = n },
		"defaultLimit":    func(o *Options) { o.Limits.DefaultLimit = n },
		"maxMessageBytes": func(o *Options) { o.Limits.MaxMessageBytes = n },
		"hints":           func(o *Options) { o.Hints = n != 0 },
		"noCount":         func(o *Options) { o.Limits.NoCount = n != 0 },
		"ignoreUnknown":   func(o *Options) { o.Limits.IgnoreUnknown = n != 0 },
	}[name]
	if set == nil {
		s.t.Fatalf("%s: no option %q", s.at, name)
	}
	s.opts = append(s.opts, set)
}

func (s *session) started() *testRelay {
	if s.relay == nil {
		s.relay = startRelay(s.t, s.opts...)
	}
	return s.relay
}

func (s *session) client(name string) *client {
	if s.clients[name] == nil {
		s.clients[name] = s.started().dial()
	}
	return s.clients[name]
}

func (s *session) quiet() {
	s.t.Helper()
	for name, c := range s.clients {
		c.send(`["COUNT","quiet?",{"ids":[]}]`)
		if got := c.recv(); !strings.Contains(got, `"quiet?"`) {
			s.t.Fatalf("%s: client %q received %s, want nothing", s.at, name, short(got))
		}
	}
}

// event makes an event of a description such as: a key=1 kind=1 content="x".
func (s *session) event(text string) {
	name, text, _ := strings.Cut(text, " ")
	var e testdb.Event
	key := 0
	for text != "" {
		field, rest, _ := strings.Cut(strings.TrimSpace(text), "=")
		dec := json.NewDecoder(strings.NewReader(s.expand(rest)))
		into, ok := map[string]any{
			"key": &key, "kind": &e.Kind, "at": &e.CreatedAt, "tags": &e.Tags, "content": &e.Content,
		}[field]
		if !ok {
			s.t.Fatalf("%s: an event has no %q", s.at, field)
		}
		if err := dec.Decode(into); err != nil {
			s.t.Fatalf("%s: %s: %v", s.at, field, err)
		}
		text = s.expand(rest)[dec.InputOffset():]
	}
	line := testdb.Sign(key, e)
	s.lines[name], s.events[name] = string(line), testdb.Decode(line)
}

// expand puts in what stands in braces, where it is a name.
func (s *session) expand(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		word, after, _ := strings.Cut(rest, "}")
		if value, ok := s.value(word); ok {
			b.WriteString(value)
			text = after
		} else {
			b.WriteByte('{')
			text = rest
		}
	}
}

func (s *session) value(word string) (string, bool) {
	if n, char, ok := strings.Cut(word, "*"); ok {
		if n, err := strconv.Atoi(n); err == nil {
			return strings.Repeat(char, n), true
		}
	}
	name, part, _ := strings.Cut(word, ".")
	e, ok := s.events[name]
	if !ok {
		return "", false
	}
	switch part {
	case "":
		return s.lines[name], true
	case "id":
		return e.ID, true
	case "pubkey":
		return e.Pubkey, true
	case "sig":
		return e.Sig, true
	}
	return "", false
}
