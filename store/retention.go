package store

import (
	"context"
	"errors"
	"slices"

	"wok/index"
)

// A Rule says which events are not kept. It has kinds and one bound, the only
// one of Age, PerAuthor, MaxEvents and MaxBytes that is not 0.
type Rule struct {
	// Kinds are the kinds that the rule is for. Nil are all whose events stand
	// for themselves: not deletions and requests to vanish, nor what is
	// replaceable or addressable, of which the latest version is what counts.
	Kinds []KindRange

	Age       uint64 // seconds: events that old go
	PerAuthor uint64 // of each author and kind only that many stay, the newest
	MaxEvents uint64 // of all events that many stay; the oldest go
	MaxBytes  uint64 // those stored longest ago go until all but the free pages take no more
}

// A KindRange is a range of kinds, both ends inclusive.
type KindRange struct{ First, Last uint16 }

// Covers reports whether the rule is for events of a kind.
func (r *Rule) Covers(kind uint16) bool {
	if r.Kinds == nil {
		return !lasts(kind) && index.ClassOf(kind) == index.Regular
	}
	return slices.ContainsFunc(r.Kinds, func(k KindRange) bool { return k.First <= kind && kind <= k.Last })
}

// ErrClock is returned where a rule of age is not applied since the clock cannot
// be right.
var ErrClock = errors.New("the clock is far ahead of the newest event")

// maxAhead is how far the clock may be ahead of the newest event, in seconds: 30
// days. Of a relay that people use it is seconds; a clock that has jumped would
// make all events old.
const maxAhead = 30 * 24 * 60 * 60

// Retain removes the events that a rule does not keep, as [DB.Prune] does, and
// leaves no tombstones. Progress, unless nil, is told now and then.
func (db *DB) Retain(ctx context.Context, r *Rule, progress func(Pruned)) (Pruned, error) {
	var pick Pick
	switch {
	case r.Age > 0:
		p := byAge{rule: r}
		pick = p.pick
	case r.PerAuthor > 0:
		p := byAuthor{rule: r}
		pick = p.pick
	case r.MaxEvents > 0:
		p := oldest{rule: r}
		pick = p.pick
	default:
		p := byArrival{rule: r}
		pick = p.pick
	}
	return db.Prune(ctx, pick, PruneOptions{Progress: progress})
}
