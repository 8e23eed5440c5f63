package ingest

import (
	"wok/nostr"
	"wok/store"
)

// An Outcome says what became of a submitted event.
type Outcome uint8

// What can become of an event.
const (
	Stored     Outcome = iota // committed and synced to disk
	Duplicate                 // it was stored before
	Superseded                // a newer version of its address is stored (NIP-01)
	Deleted                   // its author has deleted it (NIP-09)
	Vanished                  // its author, or who it is for, has asked to vanish since (NIP-62)
	Expired                   // its expiration has passed (NIP-40)
	Ephemeral                 // handed on and not stored (NIP-01)
	Invalid                   // not an event, not its author's, or of an impossible time
	Blocked                   // a valid event that the rules do not let in
	Failed                    // our fault: the same event may be taken later
	outcomes                  // how many there are
)

var outcomeNames = [outcomes]string{
	"stored", "duplicate", "superseded", "deleted", "vanished", "expired", "ephemeral", "invalid", "blocked", "failed",
}

func (o Outcome) String() string { return outcomeNames[o] }

// A Result is the answer to a submitted event.
type Result struct {
	ID      string       // 64 hex digits; "" where none can be read
	OK      bool         // the event is, or was already, where it belongs
	Prefix  nostr.Prefix // the word that Reason begins with, "" where there is none
	Reason  string       // "" only where OK
	Outcome Outcome

	// Class is Reason without particulars: one of a fixed, short list of
	// texts, for counting.
	Class string
	// Err is what stands behind Failed. It is for logs and never for a client.
	Err error
	// Ref is that of the Submission.
	Ref any
}

// answers are what submitters are told where nothing but the outcome matters.
// The word for a superseded event is ours: NIP-01 has none, and of its words
// this is the closest (01-R41).
var answers = [outcomes]answer{
	Stored:     {ok: true},
	Duplicate:  answerOf(true, nostr.PrefixDuplicate, "this event is stored already"),
	Superseded: answerOf(false, nostr.PrefixDuplicate, "a newer version is stored"),
	Deleted:    answerOf(false, nostr.PrefixBlocked, "deleted by author"),
	Vanished:   answerOf(false, nostr.PrefixBlocked, "its author or recipient has asked to vanish"),
	Expired:    answerOf(false, nostr.PrefixInvalid, "the event has expired"),
	Ephemeral:  {ok: true},
	Invalid:    answerOf(false, nostr.PrefixInvalid, "not a valid event"),
	Blocked:    answerOf(false, nostr.PrefixBlocked, "not accepted here"),
	Failed:     answerOf(false, nostr.PrefixError, "the event could not be stored, try again later"),
}

// An answer is what a submitter is told.
type answer struct {
	ok     bool
	prefix nostr.Prefix
	reason string
}

func answerOf(ok bool, prefix nostr.Prefix, text string) answer {
	return answer{ok, prefix, prefix.Reason(text)}
}

// resultOf returns the answer that an outcome alone makes.
func resultOf(id string, o Outcome) Result {
	a := answers[o]
	return Result{ID: id, OK: a.ok, Prefix: a.prefix, Reason: a.reason, Outcome: o, Class: a.reason}
}

// failed returns the answer to an event that err, which nobody outside is told
// of, has kept out (01-R35).
func failed(id string, err error) Result {
	r := resultOf(id, Failed)
	r.Err = err
	return r
}

// refused returns the answer to an event that a rule or the parser objects to.
func refused(id string, err error) Result {
	refusal := nostr.RefusalOf(err)
	o := Blocked
	switch refusal.Prefix {
	case nostr.PrefixError:
		return failed(id, err)
	case nostr.PrefixInvalid:
		o = Invalid
	}
	return Result{ID: id, Prefix: refusal.Prefix, Reason: refusal.Error(), Outcome: o, Class: refusal.Class()}
}

// outcomeOf translates what the store made of an event.
func outcomeOf(s store.Status) Outcome {
	switch s {
	case store.Stored:
		return Stored
	case store.Duplicate:
		return Duplicate
	case store.Superseded:
		return Superseded
	case store.Deleted:
		return Deleted
	case store.Vanished:
		return Vanished
	case store.Expired:
		return Expired
	}
	return Failed // NotKept: ephemeral events do not get as far
}
