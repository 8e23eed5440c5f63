package relay

import (
	"crypto/sha256"

	"wok/nostr"
)

// A liveIndex finds the subscriptions that a new event matches. Filters that
// ask the same are one interest, so that an event costs by what is asked for and
// not by how many ask. Each stands under the terms of one of its conditions, the
// one that fewest events are expected to meet; an event looks up all of its own.
type liveIndex struct {
	seeds *seeds
	rates *rates

	interests map[interestKey]*interest
	lists     map[term]*place // the first of each list
	round     uint64          // counts events matched
	gone      []*interest     // scratch
}

// An interest is a filter and the subscriptions that have it.
type interest struct {
	filter *nostr.Filter // but for the limit, which is not for new events (01-R28)
	subs   []holder
	under  condition
	places []place // one a term of the condition; nil when it is out of the index
	round  uint64  // the last one that has met it
}

// A holder is a subscription with an interest, which is shares[nth] of it.
type holder struct {
	sub *subscription
	nth int32
}

// A share is an interest of a subscription, which is subs[at] of it. With both,
// a subscription goes from among any number of others at once.
type share struct {
	*interest
	at int32
}

// A place is where an interest stands in the list of a term.
type place struct {
	*interest
	prev, next *place
}

func newLiveIndex(s *seeds, r *rates) liveIndex {
	return liveIndex{seeds: s, rates: r, interests: make(map[interestKey]*interest), lists: make(map[term]*place)}
}

// An interestKey is the same for filters that ask new events the same, and for
// no others: nobody finds a second filter for the key of a first.
type interestKey [16]byte

func keyOf(f *nostr.Filter) interestKey {
	asked := *f
	asked.Limit = nostr.NoLimit
	sum := sha256.Sum256(asked.AppendJSON(nil))
	return interestKey(sum[:])
}

// lateness is how many seconds an event may take from its author to us and
// still count as new where a filter has an until. Who has asked for what is
// older has asked for what is stored.
const lateness = 60

// past reports whether no new event is for f any more, now being unix seconds.
func past(f *nostr.Filter, now uint64) bool { return f.Until < now && now-f.Until > lateness }

// add makes f one of the filters of s.
func (x *liveIndex) add(s *subscription, f *nostr.Filter, key interestKey) {
	in := x.interests[key]
	if in == nil {
		in = &interest{filter: f}
		x.interests[key] = in
		x.enter(in)
	}
	in.subs = append(in.subs, holder{s, int32(len(s.shares))})
	s.shares = append(s.shares, share{in, int32(len(in.subs) - 1)})
}

// remove undoes all that was added to s. The last of those with an interest
// comes in its place.
func (x *liveIndex) remove(s *subscription) {
	for i := range s.shares {
		in, at := s.shares[i].interest, s.shares[i].at
		last := len(in.subs) - 1
		moved := in.subs[last]
		in.subs[at] = moved
		moved.sub.shares[moved.nth].at = at
		in.subs[last] = holder{}
		in.subs = in.subs[:last]
		if last == 0 {
			x.drop(in)
		}
	}
	s.shares = nil
}

// enter puts in under the terms of its narrowest condition.
func (x *liveIndex) enter(in *interest) {
	var terms []term
	in.under, terms = x.narrowest(in.filter)
	in.places = make([]place, len(terms))
	for i, t := range terms {
		p := &in.places[i]
		p.interest, p.next = in, x.lists[t]
		if p.next != nil {
			p.next.prev = p
		}
		x.lists[t] = p
	}
}

// narrowest returns the condition of f that fewest events are expected to meet,
// and its terms.
func (x *liveIndex) narrowest(f *nostr.Filter) (best condition, terms []term) {
	fewest := -1.0
	conditions(f, func(c condition) {
		list := x.seeds.ofFilter(nil, f, c)
		if n := x.rates.expect(c.sort, list); fewest < 0 || n < fewest {
			best, terms, fewest = c, list, n
		}
	})
	return best, terms
}

// drop takes in out of the index, if it is there.
func (x *liveIndex) drop(in *interest) {
	if in.places == nil {
		return
	}
	delete(x.interests, keyOf(in.filter))
	for i, t := range x.seeds.ofFilter(nil, in.filter, in.under) {
		p := &in.places[i]
		if p.next != nil {
			p.next.prev = p.prev
		}
		switch {
		case p.prev != nil:
			p.prev.next = p.next
		case p.next != nil:
			x.lists[t] = p.next
		default:
			delete(x.lists, t)
		}
	}
	in.places = nil
}

// match calls fn once with every subscription that n matches. Interests that it
// meets and that are past leave the index: their subscriptions are open, and
// nothing comes for them.
func (x *liveIndex) match(n *news, now uint64, fn func(*subscription)) {
	x.round++
	for _, t := range n.terms {
		for p := x.lists[t]; p != nil; p = p.next {
			x.meet(p.interest, n, now, fn)
		}
	}
	for i, in := range x.gone {
		x.drop(in)
		x.gone[i] = nil
	}
	x.gone = x.gone[:0]
}

// meet is match for one interest, which may be met under several terms.
func (x *liveIndex) meet(in *interest, n *news, now uint64, fn func(*subscription)) {
	if in.round == x.round {
		return
	}
	in.round = x.round
	switch {
	case past(in.filter, now):
		x.gone = append(x.gone, in)
	case in.filter.Match(n.view):
		for _, h := range in.subs {
			if h.sub.mark != x.round {
				h.sub.mark = x.round
				fn(h.sub)
			}
		}
	}
}
