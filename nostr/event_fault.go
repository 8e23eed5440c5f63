package nostr

import "errors"

// A Fault is why bytes are not a valid event: one of the texts below and
// nothing of the input, so that it can be sent behind "invalid: " and counted
// by. Compare with ==, or errors.Is where it may be wrapped.
type Fault string

// What an event can be refused for. The rules are those of NIP-01; the latest
// created_at is ours, and the sizes are the caller's [Limits].
const (
	NotJSON       Fault = "not valid JSON" // never returned, see [FaultOf]
	NotObject     Fault = "an event is a JSON object"
	TooLarge      Fault = "the event is too large"
	TooManyTags   Fault = "the event has too many tags"
	TagTooLong    Fault = "the value of a single-letter tag is too long"
	DuplicateKey  Fault = "a key of the event stands twice"
	NoID          Fault = "id is missing"
	NoPubkey      Fault = "pubkey is missing"
	NoCreatedAt   Fault = "created_at is missing"
	NoKind        Fault = "kind is missing"
	NoTags        Fault = "tags is missing"
	NoContent     Fault = "content is missing"
	NoSig         Fault = "sig is missing"
	BadID         Fault = "id is not 64 lowercase hex digits"
	BadPubkey     Fault = "pubkey is not 64 lowercase hex digits"
	BadCreatedAt  Fault = "created_at is not an integer of 0 to 2^64-1"
	LateCreatedAt Fault = "created_at is after 2^40-1"
	BadKind       Fault = "kind is not an integer of 0 to 65535"
	BadTags       Fault = "tags is not an array of arrays of strings"
	BadContent    Fault = "content is not a string"
	BadSig        Fault = "sig is not 128 lowercase hex digits"
	WrongID       Fault = "id does not match the content"
	BadSignature  Fault = "bad signature"
)

func (f Fault) Error() string { return string(f) }

// As lets errors.As find in a Fault the Refusal that its author is told.
func (f Fault) As(target any) bool {
	refusal, ok := target.(**Refusal)
	if ok {
		*refusal = &Refusal{Prefix: PrefixInvalid, Text: string(f)}
	}
	return ok
}

// FaultOf returns the Fault that err, an error of this package about an event,
// counts as: itself, [NotJSON] for any SyntaxError, "" for other errors.
func FaultOf(err error) Fault {
	var fault Fault
	if errors.As(err, &fault) {
		return fault
	}
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return NotJSON
	}
	return ""
}
