package conformance

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// A client is one connection to the relay.
type client struct {
	name      string
	ws        *websocket.Conn
	timeout   time.Duration
	challenge string // the last one that came (NIP-42)
	received  int
	questions int
	over      map[string]bool // subscriptions of questions that were answered
}

// A message is what a relay sent.
type message struct {
	text  string
	value any
}

// Bounds on what a relay may send: for one message, and on a connection. A
// relay that passes over filters would send all that it has.
const (
	maxMessage  = 16 << 20
	maxMessages = 2000
)

func dial(name, url string, timeout time.Duration) (*client, error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: timeout}
	ws, _, err := dialer.Dial(url, nil)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	ws.SetReadLimit(maxMessage)
	return &client{name: name, ws: ws, timeout: timeout, over: map[string]bool{}}, nil
}

func (c *client) close() {
	goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	c.ws.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(c.timeout))
	c.ws.Close()
}

func (c *client) send(text string) error {
	c.ws.SetWriteDeadline(time.Now().Add(c.timeout))
	return c.ws.WriteMessage(websocket.TextMessage, []byte(text))
}

// next returns the next message, and remembers it if it is a challenge. What
// still comes for a question that was answered is passed over: it had its CLOSE,
// which another connection may have overtaken.
func (c *client) next() (message, error) {
	for {
		m, err := c.read()
		if err != nil || !c.over[m.part(1)] {
			return m, err
		}
	}
}

func (c *client) read() (message, error) {
	if c.received++; c.received > maxMessages {
		return message{}, fmt.Errorf("more than %d messages", maxMessages)
	}
	c.ws.SetReadDeadline(time.Now().Add(c.timeout))
	_, b, err := c.ws.ReadMessage()
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		return message{}, fmt.Errorf("nothing within %v", c.timeout)
	case err != nil:
		return message{}, fmt.Errorf("the end of the connection: %w", err)
	}
	m := message{text: string(b)}
	if m.value, err = decode(m.text); err != nil {
		return m, fmt.Errorf("what is no JSON: %.200s", m.text)
	}
	if list, _ := m.value.([]any); m.verb() == "AUTH" && len(list) == 2 {
		c.challenge, _ = list[1].(string)
	}
	return m, nil
}

// part returns element i of a message if it is a string.
func (m *message) part(i int) string {
	list, _ := m.value.([]any)
	if i >= len(list) {
		return ""
	}
	s, _ := list[i].(string)
	return s
}

func (m *message) verb() string { return m.part(0) }

// mayAlways reports whether a relay may send such a message at any time.
func (m *message) mayAlways() bool { return m.verb() == "AUTH" || m.verb() == "NOTICE" }

// question opens a subscription of the suite's own.
func (c *client) question(filters string) (sub string, err error) {
	c.questions++
	sub = fmt.Sprintf("question-%d", c.questions)
	return sub, c.send(fmt.Sprintf(`["REQ",%q,%s]`, sub, filters))
}

// answered ends it.
func (c *client) answered(sub string) error {
	c.over[sub] = true
	return c.send(fmt.Sprintf(`["CLOSE",%q]`, sub))
}

// ask sends a harmless question, to which the relay has one answer, and
// returns the first message that is not that answer, nil if there is none. A
// relay answers a connection in order, so what it had to say before has come.
func (c *client) ask(filter string) (*message, error) {
	sub, err := c.question(filter)
	if err != nil {
		return nil, err
	}
	var other *message
	for {
		m, err := c.next()
		if err != nil {
			return other, err
		}
		switch {
		case m.part(1) == sub && (m.verb() == "EOSE" || m.verb() == "CLOSED"):
			return other, c.answered(sub)
		case other == nil && !m.mayAlways():
			other = &m
		}
	}
}
