package nostr

import (
	"encoding/hex"
	"unicode/utf8"
)

// A Verb is the first word of a client's message.
type Verb uint8

// The verbs of a client. NoVerb is that of a message whose verb is unknown or
// cannot be read.
const (
	NoVerb       Verb = iota
	VerbEvent         // NIP-01
	VerbReq           // NIP-01
	VerbClose         // NIP-01
	VerbAuth          // NIP-42
	VerbCount         // NIP-45
	VerbNegOpen       // NIP-77
	VerbNegMsg        // NIP-77
	VerbNegClose      // NIP-77
)

var verbs = [...]string{"message", "EVENT", "REQ", "CLOSE", "AUTH", "COUNT", "NEG-OPEN", "NEG-MSG", "NEG-CLOSE"}

func (v Verb) String() string { return verbs[v] }

// MaxSubID is how many characters a subscription id may have (01-R22).
const MaxSubID = 64

// A Message is what a client sent. Which fields are set follows from the verb:
//
//	EVENT, AUTH         Event
//	REQ, COUNT          SubID, Filters (one or more)
//	CLOSE, NEG-CLOSE    SubID
//	NEG-OPEN            SubID, Filters (one), Payload
//	NEG-MSG             SubID, Payload
type Message struct {
	Verb    Verb
	SubID   string // as meant, escapes undone
	Filters []*Filter
	Event   []byte // JSON of an object, else unread; borrowed from the message
	Payload []byte // binary
}

// MessageLimits bounds what a message may cost before it is looked at. A zero
// limit is no limit.
type MessageLimits struct {
	MaxBytes   int // of the message
	MaxFilters int // of a REQ or COUNT
	Filter     FilterLimits
}

// ParseMessage reads a client's message, which must be all of raw. The error
// is a [*MessageError], which knows the answer.
func ParseMessage(raw []byte, lim MessageLimits) (Message, error) {
	p := messageParser{lexer: lexer{data: raw}, lim: lim}
	if err := p.message(); err != nil {
		return Message{}, &MessageError{
			Verb:     p.msg.Verb,
			SubID:    p.msg.SubID,
			HasSubID: p.hasSubID,
			Event:    p.msg.Event,
			Refusal:  RefusalOf(err),
		}
	}
	return p.msg, nil
}

// A messageParser reads one message.
type messageParser struct {
	lexer
	lim      MessageLimits
	msg      Message
	hasSubID bool // msg.SubID has been read, though it may not be allowed
}

func (p *messageParser) message() error {
	if p.lim.MaxBytes > 0 && len(p.data) > p.lim.MaxBytes {
		return Refuse(PrefixBlocked, "a message may have %d bytes", p.lim.MaxBytes)
	}
	if err := p.verb(); err != nil {
		return err
	}
	if err := p.elements(); err != nil {
		return err
	}
	if p.peek() == ',' {
		return Refuse(PrefixInvalid, "%s has too many elements", p.msg.Verb)
	}
	if err := p.expect(']'); err != nil {
		return err
	}
	return p.end()
}

// verb reads the opening bracket and the verb.
func (p *messageParser) verb() error {
	if err := p.expect('['); err != nil {
		return err
	}
	var buf [16]byte // room for all verbs
	word, err := p.str(buf[:0])
	if err != nil {
		return err
	}
	for v := VerbEvent; v <= VerbNegClose; v++ {
		if string(word) == verbs[v] {
			p.msg.Verb = v
			return nil
		}
	}
	return Refuse(PrefixUnsupported, "message %s", Excerpt(word))
}

// elements reads what stands behind the verb.
func (p *messageParser) elements() error {
	if p.msg.Verb == VerbEvent || p.msg.Verb == VerbAuth {
		return p.event()
	}
	if err := p.subID(); err != nil {
		return err
	}
	switch p.msg.Verb {
	case VerbReq, VerbCount:
		return p.filters()
	case VerbNegOpen:
		if err := p.filter(); err != nil {
			return err
		}
		return p.payload()
	case VerbNegMsg:
		return p.payload()
	}
	return nil
}

// next goes to the next element, which must be there.
func (p *messageParser) next() error {
	if p.peek() == ']' {
		return Refuse(PrefixInvalid, "%s has too few elements", p.msg.Verb)
	}
	return p.expect(',')
}

// event passes over an event. What cannot be passed over is kept to its end:
// its id may be there, and then the answer has somewhere to go (01-R44).
func (p *messageParser) event() error {
	if err := p.next(); err != nil {
		return err
	}
	if c := p.peek(); c != '{' && c != 0 {
		return Refuse(PrefixInvalid, "%s must carry an event", p.msg.Verb)
	}
	start := p.pos
	p.msg.Event = p.data[start:]
	if err := p.skip(1 + maxUnknownDepth); err != nil {
		return err
	}
	p.msg.Event = p.data[start:p.pos]
	return nil
}

// subID reads a subscription id: any characters, 1 to MaxSubID of them.
func (p *messageParser) subID() error {
	if err := p.next(); err != nil {
		return err
	}
	if c := p.peek(); c != '"' && c != 0 {
		return Refuse(PrefixInvalid, "the subscription id must be a string")
	}
	var buf [4 * MaxSubID]byte // room for all that are allowed
	id, err := p.str(buf[:0])
	if err != nil {
		return err
	}
	if n := utf8.RuneCount(id); n == 0 || n > MaxSubID {
		p.echo(id)
		return Refuse(PrefixInvalid, "a subscription id has 1 to %d characters", MaxSubID)
	}
	p.echo(id)
	return nil
}

// maxEcho is how many bytes of subscription id we send back. Longer ones are
// not allowed anyway, and a refusal should not be as long as what it refuses.
const maxEcho = 1024

// echo takes id as the subscription id that answers go to.
func (p *messageParser) echo(id []byte) {
	if len(id) <= maxEcho {
		p.msg.SubID, p.hasSubID = string(id), true
	}
}

// filter reads one filter.
func (p *messageParser) filter() error {
	if err := p.next(); err != nil {
		return err
	}
	f, err := p.lexer.filter(p.lim.Filter)
	if err != nil {
		r := RefusalOf(err)
		return Refuse(r.Prefix, "filter %d: %s", len(p.msg.Filters)+1, r.Text)
	}
	p.msg.Filters = append(p.msg.Filters, f)
	return nil
}

// filters reads one filter and all that follow.
func (p *messageParser) filters() error {
	for {
		if err := p.filter(); err != nil {
			return err
		}
		if p.peek() != ',' {
			return nil
		}
		if n := p.lim.MaxFilters; n > 0 && len(p.msg.Filters) == n {
			return Refuse(PrefixBlocked, "a %s may have %d filters", p.msg.Verb, n)
		}
	}
}

// payload reads the hex digits of a negentropy message, of either case.
func (p *messageParser) payload() error {
	if err := p.next(); err != nil {
		return err
	}
	if c := p.peek(); c != '"' && c != 0 {
		return Refuse(PrefixInvalid, "the payload must be a string")
	}
	text, err := p.str(nil)
	if err != nil {
		return err
	}
	n, err := hex.Decode(text, text)
	if err != nil {
		return Refuse(PrefixInvalid, "the payload must be hex")
	}
	p.msg.Payload = text[:n]
	return nil
}
