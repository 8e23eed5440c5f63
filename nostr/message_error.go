package nostr

// A MessageError says why a message was refused, and to what the answer goes.
type MessageError struct {
	Verb     Verb   // NoVerb where it is unknown or could not be read
	SubID    string // where HasSubID is set; it may be empty or too long
	HasSubID bool
	Event    []byte // EVENT, AUTH: from the beginning of the event, borrowed from the message
	Refusal  *Refusal
}

func (e *MessageError) Error() string { return e.Refusal.Error() }

// Unwrap returns the Refusal.
func (e *MessageError) Unwrap() error { return e.Refusal }

// AppendReply appends the answer that the client gets: an OK for an event
// whose id can be read, CLOSED for a REQ or COUNT and NEG-ERR for a NEG-* whose
// subscription id can be read, else NOTICE (01-R34, 01-R37, 01-R44, NIP-77).
// A CLOSE, which is never answered otherwise, gets a NOTICE: CLOSED would say
// that the subscription has ended.
func (e *MessageError) AppendReply(dst []byte) []byte {
	reason := e.Error()
	switch e.Verb {
	case VerbEvent, VerbAuth:
		if id, ok := FindID(e.Event); ok {
			return AppendOK(dst, id, false, reason)
		}
	case VerbReq, VerbCount:
		if e.HasSubID {
			return AppendClosed(dst, e.SubID, reason)
		}
	case VerbNegOpen, VerbNegMsg, VerbNegClose:
		if e.HasSubID {
			return AppendNegErr(dst, e.SubID, reason, 0)
		}
	}
	return AppendNotice(dst, reason)
}
