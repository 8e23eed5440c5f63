package ingest

import (
	"bytes"
	"time"

	"wok/index"
	"wok/nostr"
)

// Rules are the bounds that may change while a pipeline runs, see
// [Pipeline.Apply]. The zero Rules let in every event that may be stored.
type Rules struct {
	Limits nostr.Limits

	// How far created_at may be from now; 0 is no bound. Of the two bounds on
	// age the second is for ephemeral kinds and the first for all others.
	NewerThan          time.Duration
	OlderThan          time.Duration
	EphemeralOlderThan time.Duration
}

const (
	kindRepost            = 6     // NIP-18
	kindGenericRepost     = 16    // NIP-18
	kindGiftWrap          = 1059  // NIP-59
	kindEphemeralGiftWrap = 21059 // NIP-59
	kindAuth              = 22242 // NIP-42
)

// wrapAge is the least bound on the age of a gift wrap: its date is up to two
// days before the day it is sent, and clocks differ (59-R5).
const wrapAge = 49 * time.Hour

// What the rules say to submitters.
var (
	errAuth      = nostr.Refuse(nostr.PrefixInvalid, "kind 22242 is for AUTH messages and never published")
	errFuture    = nostr.Refuse(nostr.PrefixInvalid, "created_at is too far in the future")
	errOld       = nostr.Refuse(nostr.PrefixInvalid, "created_at is too long ago")
	errProtected = nostr.Refuse(nostr.PrefixRestricted, "protected events are not accepted")
	errRepost    = nostr.Refuse(nostr.PrefixRestricted, "reposts of protected events are not accepted")
)

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
	if age > 0 && (kind == kindGiftWrap || kind == kindEphemeralGiftWrap) {
		return max(age, wrapAge)
	}
	return age
}

// isProtected reports whether only its author may publish ev: it has the tag
// ["-"] (NIP-70).
func isProtected(ev *nostr.Event) bool {
	if !bytes.Contains(ev.JSON, []byte(`["-"]`)) { // nearly all
		return false
	}
	for tag := range ev.Tags() {
		if len(tag) == 1 && string(tag[0]) == "-" {
			return true
		}
	}
	return false
}

// isRepost reports whether the content of ev is another event (NIP-18).
func isRepost(ev *nostr.Event) bool {
	kind := ev.Packed.Kind()
	return kind == kindRepost || kind == kindGenericRepost
}
