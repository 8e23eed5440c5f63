package testdb

import (
	"fmt"
	"slices"
)

// Visible returns what a relay that has seen all the events, in whichever
// order, still shows: the latest of each address (01-R12, 01-R14), nothing
// ephemeral (01-R13), nothing that its own author or, of a gift wrap, recipient
// has deleted (NIP-09, 59-R3), and nothing whose author or recipient has asked to vanish since
// (NIP-62); every such request is taken as one to this relay. What was deleted
// by id has superseded older versions all the same: they do not come back. And
// what a deletion has deleted stays so when the deletion has vanished.
func Visible(events []Event) []Event {
	sorted := slices.SortedFunc(slices.Values(events), Compare)
	deletions := slices.DeleteFunc(slices.Clone(sorted), func(e Event) bool { return e.Kind != 5 })
	var visible []Event
	seen := map[string]bool{} // ids and addresses
	for _, e := range sorted {
		name := Address(e)
		if name == "" {
			name = e.ID
		}
		if !seen[name] && !isEphemeral(e.Kind) && !deleted(e, deletions) && !vanished(e, events) {
			visible = append(visible, e)
		}
		seen[name] = true
	}
	return visible
}

// Address returns the address of an event as an a tag names it (01-R21), and
// "" where its kind has none.
func Address(e Event) string {
	switch {
	case e.Kind == 0 || e.Kind == 3 || e.Kind/10000 == 1:
		return fmt.Sprintf("%d:%s:", e.Kind, e.Pubkey)
	case e.Kind/10000 == 3:
		d := ""
		if i := slices.IndexFunc(e.Tags, isD); i >= 0 && len(e.Tags[i]) > 1 {
			d = e.Tags[i][1]
		}
		return fmt.Sprintf("%d:%s:%s", e.Kind, e.Pubkey, d)
	}
	return ""
}

func isD(tag []string) bool { return len(tag) > 0 && tag[0] == "d" }

func isEphemeral(kind int) bool { return kind/10000 == 2 }

// deleted reports whether one of the deletions is of e and by its author: by
// id, or by an address up to the deletion's time; or of a gift wrap, by id, by
// one it is for. Deletions stay, and so do requests to vanish.
func deleted(e Event, deletions []Event) bool {
	if e.Kind == 5 || e.Kind == 62 {
		return false
	}
	address := Address(e)
	return slices.ContainsFunc(deletions, func(d Event) bool {
		byID := slices.Contains(d.values("#e"), e.ID)
		if d.Pubkey != e.Pubkey {
			return byID && isWrapFor(e, d.Pubkey)
		}
		byAddress := address != "" && slices.Contains(d.values("#a"), address)
		return byID || byAddress && e.CreatedAt <= d.CreatedAt
	})
}

// vanished reports whether one of the events is a request to vanish that covers
// e. Requests stay.
func vanished(e Event, events []Event) bool {
	return e.Kind != 62 && slices.ContainsFunc(events, func(r Event) bool {
		return r.Kind == 62 && e.CreatedAt <= r.CreatedAt && (e.Pubkey == r.Pubkey || isWrapFor(e, r.Pubkey))
	})
}

func isWrapFor(e Event, pubkey string) bool {
	return (e.Kind == 1059 || e.Kind == 21059) && slices.Contains(e.values("#p"), pubkey)
}
