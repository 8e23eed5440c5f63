package store

import "fmt"

// A Status says what became of an event that was put.
type Status uint8

// What can become of an event. Only Stored changes what readers find.
const (
	Stored     Status = iota
	Duplicate         // the event is there already
	Superseded        // a newer version of its address is there (NIP-01)
	Deleted           // its author has deleted it, or its address since (NIP-09)
	Vanished          // its author, or who it is for, has asked to vanish since (NIP-62)
	Expired           // its expiration has passed (NIP-40)
	NotKept           // its kind is ephemeral (NIP-01)
)

var statusNames = [...]string{"stored", "duplicate", "superseded", "deleted", "vanished", "expired", "not kept"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}
