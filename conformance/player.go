package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
)

// A player plays one case.
type player struct {
	target  *Target
	timeout time.Duration
	seed    string // of the case: all keys and words follow from it
	began   int64  // {t}, in seconds
	clients map[string]*client
	events  map[string]event
	values  map[string]string
	sent    string // the last line that was sent
}

// behind is how far {t} lies before the beginning of a case. Offsets up to it
// are in the past, and all of it is recent enough for ephemeral events.
const behind = 30 * time.Second

// A Failure says where a relay differed from what a case expects.
type Failure struct {
	Case  string // its name
	Place string // file:line
	Sent  string // the last line that the relay was sent
	Want  string
	Got   string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: want %s, got %s", f.Place, f.Want, f.Got)
}

// differs is a failure that play completes.
func differs(want, got string) error { return &Failure{Want: want, Got: got} }

// verbs are the words a line can begin with, but those of the parser.
var verbs = map[string]func(*player, *step) error{
	">":       (*player).send,
	"<":       (*player).receive,
	"<=":      (*player).receive,
	"event":   (*player).event,
	"publish": (*player).publish,
	"find":    (*player).find,
	"until":   (*player).until,
	"auth":    (*player).auth,
	"hll":     (*player).hll,
	"http":    (*player).http,
	"quiet":   (*player).quiet,
	"wait":    (*player).wait,
}

// play plays a case on connections of its own. The error is a *Failure where
// the relay is to blame. ctx is looked at between two lines, each of which takes
// no longer than the timeout or the wait that it asks for.
func play(ctx context.Context, t *Target, c *Case, seed string, timeout time.Duration) error {
	p := &player{
		target: t, timeout: timeout, seed: seed,
		began:   time.Now().Add(-behind).Unix(),
		clients: map[string]*client{}, events: map[string]event{}, values: map[string]string{},
	}
	defer func() {
		for _, c := range p.clients {
			c.close()
		}
	}()
	last := step{verb: "quiet", place: c.place}
	for _, s := range append(slices.Clone(c.steps), last) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.verb != "quiet" {
			last.place = s.place
		}
		if err := verbs[s.verb](p, &s); err != nil {
			return p.blame(err, c, s.place)
		}
	}
	return nil
}

// blame completes a failure by where it was.
func (p *player) blame(err error, c *Case, at place) error {
	var f *Failure
	if !errors.As(err, &f) {
		return fmt.Errorf("%s: %w", at, err)
	}
	f.Case, f.Place, f.Sent = c.Name, at.String(), p.sent
	return f
}

// key returns the key of a name in this case.
func (p *player) key(name string) *btcec.PrivateKey { return keyFor(p.seed, name) }

// client returns a client by its name, connected.
func (p *player) client(name string) (*client, error) {
	if c := p.clients[name]; c != nil {
		return c, nil
	}
	c, err := dial(name, p.target.URL, p.timeout)
	if err != nil {
		return nil, differs("a connection", err.Error())
	}
	p.clients[name] = c
	return c, nil
}

// write sends a text, and remembers it for failures.
func (p *player) write(c *client, text string) error {
	p.sent = c.name + "> " + text
	if err := c.send(text); err != nil {
		return differs("to send", err.Error())
	}
	return nil
}

// read takes the next message off a client; a failure says what was wanted.
func (p *player) read(c *client, want string) (message, error) {
	m, err := c.next()
	if err != nil {
		return m, differs(want, err.Error())
	}
	return m, nil
}

// send: > text
func (p *player) send(s *step) error {
	c, text, err := p.expanded(s)
	if err != nil {
		return err
	}
	return p.write(c, text)
}

// expanded returns the client of a step and its text with all put in.
func (p *player) expanded(s *step) (*client, string, error) {
	c, err := p.client(s.client)
	if err != nil {
		return nil, "", err
	}
	text, err := p.expand(s.client, s.text)
	return c, text, err
}

// receive: < pattern, with & for others in any order and | for other forms of
// the same message
func (p *player) receive(s *step) error {
	c, err := p.client(s.client)
	if err != nil {
		return err
	}
	var wanted [][]pattern // messages, each in all its forms
	for _, line := range append([]step{*s}, s.more...) {
		text, err := p.expand(s.client, line.text)
		if err != nil {
			return err
		}
		form, err := newPattern(text, s.verb == "<=")
		if err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
		if line.verb == "|" {
			n := len(wanted) - 1
			wanted[n] = append(wanted[n], form)
		} else {
			wanted = append(wanted, []pattern{form})
		}
	}
	return p.receiveAll(c, wanted)
}

func (p *player) receiveAll(c *client, wanted [][]pattern) error {
	passed := "" // a NOTICE that was passed over
	for len(wanted) > 0 {
		m, err := c.next()
		if err != nil {
			return differs(describe(wanted), err.Error()+passed)
		}
		i := slices.IndexFunc(wanted, func(forms []pattern) bool {
			return slices.ContainsFunc(forms, func(f pattern) bool { return f.matches(m.value) })
		})
		switch {
		case i >= 0:
			wanted = slices.Delete(wanted, i, i+1)
		case m.mayAlways():
			passed = ", after " + m.text
		default:
			return differs(describe(wanted), m.text)
		}
	}
	return nil
}

func describe(wanted [][]pattern) string {
	var all []string
	for _, forms := range wanted {
		var either []string
		for _, f := range forms {
			either = append(either, f.text)
		}
		all = append(all, strings.Join(either, " or "))
	}
	return strings.Join(all, " and ")
}

// quiet: nothing is on its way to any client
func (p *player) quiet(*step) error {
	for _, name := range slices.Sorted(maps.Keys(p.clients)) {
		c := p.clients[name]
		other, err := c.ask(fmt.Sprintf(`{"ids":["%s"],"limit":1}`, pubkeyOf(p.key("barrier"))))
		if other != nil {
			return differs("nothing more for client "+orFirst(name), other.text)
		}
		if err != nil {
			return differs("the connection to be alive", err.Error())
		}
	}
	return nil
}

func orFirst(name string) string {
	if name == "" {
		return "1"
	}
	return name
}

// wait: wait SECONDS, for what depends on the relay's clock
func (p *player) wait(s *step) error {
	d, err := time.ParseDuration(s.text + "s")
	if err != nil {
		return err
	}
	time.Sleep(d)
	return nil
}
