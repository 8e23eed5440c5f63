package nostr

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// A Prefix is the machine-readable word that begins a reason, before a colon
// (NIP-01). Clients test for it at the very start of the text, so nothing may
// stand in front of it.
type Prefix string

// The words of NIP-01, 42, 43 and 77, and where they may be used.
const (
	PrefixDuplicate    Prefix = "duplicate"     // OK, either way: the event, or a newer version, is here
	PrefixPoW          Prefix = "pow"           // OK, either way: remarks on proof of work
	PrefixBlocked      Prefix = "blocked"       // refused by policy or by a bound
	PrefixRateLimited  Prefix = "rate-limited"  // too much for now
	PrefixInvalid      Prefix = "invalid"       // malformed, or an id, signature or time that cannot be
	PrefixRestricted   Prefix = "restricted"    // known, but not allowed
	PrefixAuthRequired Prefix = "auth-required" // not known yet: AUTH first
	PrefixMute         Prefix = "mute"          // OK false: ephemeral, and nobody listens
	PrefixError        Prefix = "error"         // anything else
	PrefixUnsupported  Prefix = "unsupported"   // CLOSED, NEG-ERR: a filter asks for what is not offered
	PrefixInfo         Prefix = "info"          // OK true: a remark
	PrefixClosed       Prefix = "closed"        // NEG-ERR: the session is gone
)

// prefixes are all words that a reason may begin with.
var prefixes = [...]Prefix{
	PrefixDuplicate, PrefixPoW, PrefixBlocked, PrefixRateLimited,
	PrefixInvalid, PrefixRestricted, PrefixAuthRequired, PrefixMute,
	PrefixError, PrefixUnsupported, PrefixInfo, PrefixClosed,
}

// Reason returns the reason that p and text make.
func (p Prefix) Reason(text string) string { return string(p) + ": " + text }

// Prefixed returns reason as it is if it begins with a known prefix, and with
// p in front otherwise: for texts of plugins and operators, who may write
// either (01-R39).
func Prefixed(p Prefix, reason string) string {
	if word, _, ok := strings.Cut(reason, ":"); ok {
		for _, known := range prefixes {
			if word == string(known) {
				return reason
			}
		}
	}
	return p.Reason(reason)
}

// A Refusal is an error whose text is made for the client it is the answer to.
type Refusal struct {
	Prefix Prefix
	Text   string // what is wrong, without the prefix
	class  string // see Class; "" where it is Text
}

func (r *Refusal) Error() string { return r.Prefix.Reason(r.Text) }

// With returns a refusal of the same class that says more exactly what is wrong.
func (r *Refusal) With(format string, args ...any) *Refusal {
	return &Refusal{r.Prefix, fmt.Sprintf(format, args...), cmp.Or(r.class, r.Text)}
}

// Class returns the refusal without particulars, such as numbers or offsets: what
// to count refusals by, where they are not made of the client's own words.
func (r *Refusal) Class() string { return r.Prefix.Reason(cmp.Or(r.class, r.Text)) }

// Refuse returns a Refusal. What it quotes of the client's own words must be
// cut to a length fit for logs, see [Excerpt].
func Refuse(p Prefix, format string, args ...any) *Refusal {
	return &Refusal{Prefix: p, Text: fmt.Sprintf(format, args...)}
}

// RefusalOf returns what a client may learn of err: a Refusal as it is, broken
// JSON as an invalid one. Any other error is about us and not for strangers;
// of it only the word "error" is told.
func RefusalOf(err error) *Refusal {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return &Refusal{PrefixInvalid, syntax.Error(), string(NotJSON)}
	}
	return Refuse(PrefixError, "internal error")
}

// Excerpt quotes the beginning of s, which may be anything, for a message.
func Excerpt[T string | []byte](s T) string {
	const shown = 40
	if len(s) > shown {
		return fmt.Sprintf("%q...", string(s[:shown]))
	}
	return fmt.Sprintf("%q", string(s))
}
