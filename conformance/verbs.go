package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// event: event NAME field=value…, a signed event. Fields are by, kind, at,
// tags, content; pubkey in place of that of by; bits, the leading zero bits
// that the id shall have, for which TRY in tags and content is replaced; and
// hashed=verbatim or html, see spelling. What is left out is alice, 1, t, [] and "".
func (p *player) event(s *step) error {
	name, text, _ := strings.Cut(s.text, " ")
	text, err := p.expand(s.client, text)
	if err != nil {
		return err
	}
	d := draft{by: p.key("alice"), bits: -1}
	d.createdAt, d.kind, d.tags, d.content = p.began, json.Number("1"), []any{}, ""
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		field, rest, _ := strings.Cut(text, "=")
		value, rest, err := p.fieldValue(rest)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		if err := p.setField(&d, field, value); err != nil {
			return err
		}
		text = rest
	}
	e, err := d.sign()
	if err != nil {
		return err
	}
	p.events[name] = e
	return nil
}

// fieldValue takes a value off the front of text: JSON, or a word.
func (p *player) fieldValue(text string) (value any, rest string, err error) {
	word, after, _ := strings.Cut(text, " ")
	if at, ok, err := p.time(word); ok || err != nil {
		return at, after, err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil { // a bare word, such as alice
		return word, after, nil
	}
	return value, text[dec.InputOffset():], nil
}

func (p *player) setField(d *draft, field string, value any) (err error) {
	word, _ := value.(string)
	switch field {
	case "by":
		if !slices.Contains(people, word) {
			return fmt.Errorf("by=%s is nobody", word)
		}
		d.by = p.key(word)
	case "pubkey":
		d.pubkey = word
	case "at":
		d.createdAt = value
	case "kind":
		d.kind = value
	case "tags":
		d.tags = value
	case "content":
		d.content = value
	case "hashed":
		d.how = map[string]spelling{"verbatim": verbatim, "html": html}[word]
	case "bits":
		number, _ := value.(json.Number)
		d.bits, err = strconv.Atoi(string(number))
	default:
		return fmt.Errorf("an event has no %q", field)
	}
	return err
}

// publish: publish NAME…, events that must be accepted
func (p *player) publish(s *step) error {
	c, err := p.client(s.client)
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(s.text) {
		e, ok := p.events[name]
		if !ok {
			return fmt.Errorf("no event is called %q", name)
		}
		if err := p.write(c, `["EVENT",`+e.json+`]`); err != nil {
			return err
		}
		if err := p.accepted(c, e.id); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) accepted(c *client, id string) error {
	ok, err := newPattern(fmt.Sprintf(`["OK","%s",true,…]`, id), false)
	if err != nil {
		return err
	}
	return p.receiveAll(c, [][]pattern{{ok}})
}

// until: until PATTERN, reads on until a message is like that
func (p *player) until(s *step) error {
	c, text, err := p.expanded(s)
	if err != nil {
		return err
	}
	want, err := newPattern(text, false)
	if err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	for {
		m, err := p.read(c, text)
		if err != nil || want.matches(m.value) {
			return err
		}
	}
}

// find: find FILTER… -> NAME…, exactly these are stored, in whatever order
func (p *player) find(s *step) error {
	c, text, err := p.expanded(s)
	if err != nil {
		return err
	}
	filters, names, ok := strings.Cut(text, " -> ")
	if !ok {
		return fmt.Errorf("find FILTER -> NAMES, or nothing")
	}
	p.sent = c.name + "> a REQ of " + filters
	sub, err := c.question(filters)
	if err != nil {
		return differs("to send", err.Error())
	}
	want := strings.Fields(names)
	if names == "nothing" {
		want = nil
	}
	got, err := p.found(c, sub)
	if err != nil {
		return err
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		return differs(listed(want), listed(got))
	}
	return c.answered(sub)
}

// found reads the answer to find up to its EOSE.
func (p *player) found(c *client, sub string) (names []string, err error) {
	for {
		m, err := p.read(c, "EVENTs and EOSE")
		switch {
		case err != nil:
			return nil, err
		case m.mayAlways():
		case m.part(1) != sub || m.verb() == "CLOSED":
			return nil, differs("EVENTs and EOSE", m.text)
		case m.verb() == "EOSE":
			return names, nil
		default:
			names = append(names, p.nameOf(&m))
		}
	}
}

// nameOf returns the name of the event in a message if it is as it was sent.
func (p *player) nameOf(m *message) string {
	for name, e := range p.events {
		want, err := newPattern(`["EVENT",…,`+e.json+`]`, false)
		if err == nil && want.matches(m.value) {
			return name
		}
	}
	return m.text
}

func listed(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, " ")
}

// auth: auth NAME, proves to be somebody (NIP-42)
func (p *player) auth(s *step) error {
	c, err := p.client(s.client)
	if err != nil {
		return err
	}
	challenge, err := p.challenge(s.client)
	if err != nil {
		return err
	}
	d := draft{by: p.key(s.text), bits: -1}
	d.createdAt, d.kind, d.content = p.began, json.Number("22242"), ""
	d.tags = []any{[]any{"relay", p.target.Own}, []any{"challenge", challenge}}
	e, err := d.sign()
	if err != nil {
		return err
	}
	if err := p.write(c, `["AUTH",`+e.json+`]`); err != nil {
		return err
	}
	return p.accepted(c, e.id)
}

// challenge returns what the relay wants to see signed. Where none has come
// yet, it asks for what relays want to see authentication for.
func (p *player) challenge(client string) (string, error) {
	c, err := p.client(client)
	if err != nil {
		return "", err
	}
	if c.challenge == "" {
		wraps := fmt.Sprintf(`{"kinds":[1059],"#p":["%s"],"limit":1}`, pubkeyOf(p.key("alice")))
		if _, err := c.ask(wraps); err != nil {
			return "", differs("a challenge", err.Error())
		}
	}
	if c.challenge == "" {
		return "", differs(`["AUTH",…]`, "no challenge, neither at once nor when asked for private messages")
	}
	return c.challenge, nil
}

// hll: hll NAME VALUE EVENT…, the registers of the authors of these events
func (p *player) hll(s *step) error {
	text, err := p.expand(s.client, s.text)
	if err != nil {
		return err
	}
	words := strings.Fields(text)
	var pubkeys []string
	for _, name := range words[2:] {
		e, ok := p.events[name]
		if !ok {
			return fmt.Errorf("no event is called %q", name)
		}
		pubkeys = append(pubkeys, e.pubkey)
	}
	p.values[words[0]] = hll(words[1], pubkeys)
	return nil
}
