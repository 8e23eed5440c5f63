package relay

import (
	"slices"

	"wok/nostr"
)

// Narrow holds what the requests of a relay with a narrow purpose must be like.
// The zero Narrow takes all.
type Narrow struct {
	MinFilters   int      // of one REQ or COUNT
	MaxFilters   int      // 0 for no bound
	MaxKinds     int      // of one filter; 0 for no bound
	AllowedKinds []uint16 // that may be asked for; none for all
	// AuthorOrTag wants every filter to name ids, authors, or an event or person
	// by #e or #p.
	AuthorOrTag bool
}

// check returns why a request with these filters is not served, nil where it is.
func (n *Narrow) check(filters []*nostr.Filter) *nostr.Refusal {
	if len(filters) < n.MinFilters {
		return nostr.Refuse(nostr.PrefixBlocked, "a request has %d filters at least here", n.MinFilters)
	}
	if n.MaxFilters > 0 && len(filters) > n.MaxFilters {
		return nostr.Refuse(nostr.PrefixBlocked, "a request has %d filters at most here", n.MaxFilters)
	}
	for _, f := range filters {
		if refusal := n.checkFilter(f); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (n *Narrow) checkFilter(f *nostr.Filter) *nostr.Refusal {
	switch {
	case n.MaxKinds > 0 && len(f.Kinds) > n.MaxKinds:
		return nostr.Refuse(nostr.PrefixBlocked, "a filter has %d kinds at most here", n.MaxKinds)
	case len(n.AllowedKinds) > 0 && f.IDs == nil && f.Kinds == nil:
		return nostr.Refuse(nostr.PrefixBlocked, "a filter names kinds here, and only some are served")
	case n.AuthorOrTag && f.IDs == nil && f.Authors == nil && f.Tag('e') == nil && f.Tag('p') == nil:
		return nostr.Refuse(nostr.PrefixBlocked, "a filter names ids, authors, or an event or person by #e or #p here")
	}
	for _, kind := range f.Kinds {
		if len(n.AllowedKinds) > 0 && !slices.Contains(n.AllowedKinds, kind) {
			return nostr.Refuse(nostr.PrefixBlocked, "kind %d is not served here", kind)
		}
	}
	return nil
}
