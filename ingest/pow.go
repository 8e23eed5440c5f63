package ingest

import (
	"math/bits"
	"strconv"

	"wok/nostr"
)

// errWork stands for all events with too little work, each of which is told how
// much that is.
var errWork = nostr.Refuse(nostr.PrefixPoW, "the difficulty is less than is asked for")

// errNoTarget is for an event whose id is good by luck: only a target that was
// named before makes that expensive (13-R2).
var errNoTarget = nostr.Refuse(nostr.PrefixPoW, "the nonce tag does not commit to the difficulty that is asked for")

// checkWork returns why the proof of work of ev is not enough (NIP-13).
func (r *Rules) checkWork(ev *nostr.Event) error {
	if r.MinPoW == 0 {
		return nil
	}
	if d := difficulty(ev.Packed.ID()); d < r.MinPoW {
		return errWork.With("difficulty %d is less than %d", d, r.MinPoW) // 13-R3
	}
	if committed(ev) < r.MinPoW {
		return errNoTarget
	}
	return nil
}

// difficulty returns the number of leading zero bits of an id (13-R1).
func difficulty(id []byte) (n int) {
	for _, b := range id {
		n += bits.LeadingZeros8(b)
		if b != 0 {
			break
		}
	}
	return n
}

// committed returns the target that the first nonce tag of ev names, 0 where
// there is none.
func committed(ev *nostr.Event) int {
	for tag := range ev.Tags() {
		if len(tag) > 0 && string(tag[0]) == "nonce" {
			return target(tag)
		}
	}
	return 0
}

// target returns the third element of a nonce tag, 0 where it is no number.
func target(tag [][]byte) int {
	if len(tag) < 3 {
		return 0
	}
	n, err := strconv.ParseUint(string(tag[2]), 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}
