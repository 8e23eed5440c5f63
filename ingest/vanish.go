package ingest

import (
	"slices"

	"wok/nostr"
)

// allRelays is the value of a relay tag that means every relay (NIP-62).
const allRelays = "ALL_RELAYS"

// Why a request to vanish is not taken (62-R1). One that is for others is not
// kept as a mere event either: it would look as if it had been followed.
var (
	errNoRelay     = nostr.Refuse(nostr.PrefixInvalid, "a request to vanish names a relay, or ALL_RELAYS")
	errOtherRelays = nostr.Refuse(nostr.PrefixBlocked, "this request to vanish is for other relays")
)

// checkVanish returns why a request to vanish, which store carries out as it
// comes, is not for this relay.
func (r *Rules) checkVanish(ev *nostr.Event) error {
	err := errNoRelay
	for tag := range ev.Tags() {
		if len(tag) < 2 || string(tag[0]) != "relay" {
			continue
		}
		if string(tag[1]) == allRelays {
			return nil
		}
		if u, bad := nostr.ParseRelayURL(string(tag[1])); bad == nil && slices.Contains(r.URLs, u) {
			return nil
		}
		err = errOtherRelays
	}
	return err
}
