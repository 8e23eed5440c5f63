package ingest

import (
	"time"

	"wok/index"
	"wok/nostr"
)

// Rules are what an event must keep to, beyond being one. They may change while
// a pipeline runs, see [Pipeline.Apply]. The zero Rules let in every event that
// may be stored.
type Rules struct {
	Limits nostr.Limits

	// How far created_at may be from now; 0 is no bound. Of the two bounds on
	// age the second is for ephemeral kinds and the first for all others.
	NewerThan          time.Duration
	OlderThan          time.Duration
	EphemeralOlderThan time.Duration

	// MinPoW is how many leading zero bits an id must have, and its nonce tag
	// commit to (NIP-13); 0 asks for none.
	MinPoW int

	// AuthToWrite takes events of clients that have authenticated only,
	// AuthToWrap gift wraps (59-R4).
	AuthToWrite bool
	AuthToWrap  bool

	// URLs are those under which clients know this relay. They are whom a request
	// to vanish must name, unless it is to all relays (62-R1).
	URLs []nostr.RelayURL
}

const (
	kindRepost            = 6     // NIP-18
	kindGenericRepost     = 16    // NIP-18
	kindVanish            = 62    // NIP-62
	kindGiftWrap          = 1059  // NIP-59
	kindEphemeralGiftWrap = 21059 // NIP-59
	kindAuth              = 22242 // NIP-42
)

// wrapAge is the least bound on the age of a gift wrap: its date is up to two
// days before the day it is sent, and clocks differ (59-R5).
const wrapAge = 49 * time.Hour

// What the rules say to submitters.
var (
	errAuth    = nostr.Refuse(nostr.PrefixInvalid, "kind 22242 is for AUTH messages and never published")
	errFuture  = nostr.Refuse(nostr.PrefixInvalid, "created_at is too far in the future")
	errOld     = nostr.Refuse(nostr.PrefixInvalid, "created_at is too long ago")
	errNoKey   = nostr.Refuse(nostr.PrefixAuthRequired, "events are taken from clients that have authenticated")
	errWrapKey = nostr.Refuse(nostr.PrefixAuthRequired, "gift wraps are taken from clients that have authenticated")
)

// check applies the rules that need no signature. Those about dates and form
// hold at every door. The rest is about who brings the event, and for what the
// operator brings in nobody else has to answer.
func (r *Rules) check(ev *nostr.Event, src *Source, now time.Time) error {
	kind := ev.Packed.Kind()
	if kind == kindAuth {
		return errAuth // 42-R5
	}
	if err := r.checkTime(ev, now); err != nil {
		return err
	}
	if kind == kindVanish { // from everyone, members or not (62-R6)
		return r.checkVanish(ev)
	}
	if src.Kind.trusted() {
		return nil
	}
	if err := r.checkAuth(kind, src); err != nil {
		return err
	}
	if err := r.checkWork(ev); err != nil {
		return err
	}
	return checkProtected(ev, src)
}

// checkAuth returns why an event of that kind has to wait for the client to
// authenticate, nil if it has not. Which key that is does not matter.
func (r *Rules) checkAuth(kind uint16, src *Source) error {
	switch {
	case !src.Kind.client() || len(src.Authed) > 0:
		return nil
	case r.AuthToWrite:
		return errNoKey
	case r.AuthToWrap && isWrap(kind):
		return errWrapKey
	}
	return nil
}

// checkTime returns why the date of ev is out of bounds, nil if it is not.
func (r *Rules) checkTime(ev *nostr.Event, now time.Time) error {
	at, kind := int64(ev.Packed.CreatedAt()), ev.Packed.Kind()
	if r.NewerThan > 0 && at > now.Add(r.NewerThan).Unix() {
		return errFuture
	}
	if age := r.maxAge(kind); age > 0 && at < now.Add(-age).Unix() {
		return errOld
	}
	return nil
}

// maxAge returns the bound on the age of events of a kind, 0 for none.
func (r *Rules) maxAge(kind uint16) time.Duration {
	age := r.OlderThan
	if index.ClassOf(kind) == index.Ephemeral {
		age = r.EphemeralOlderThan
	}
	if age > 0 && isWrap(kind) {
		return max(age, wrapAge)
	}
	return age
}

func isWrap(kind uint16) bool { return kind == kindGiftWrap || kind == kindEphemeralGiftWrap }
