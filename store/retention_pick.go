package store

import (
	"encoding/binary"
	"fmt"
	"slices"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/packed"
)

// Here are the picks of the rules of retention, a type for each bound.

// byAge picks the events that are too old: kind after kind, down from the age.
type byAge struct {
	rule  *Rule
	begun bool
	kinds []uint16 // still to be looked at
	limit index.Posting
	next  index.Posting // of the first of the kinds
}

func (a *byAge) pick(tx *Txn, n int) (levIDs []uint64, more bool, err error) {
	if !a.begun {
		if err := a.begin(tx); err != nil {
			return nil, false, err
		}
	}
	for looked := 0; len(a.kinds) > 0; looked++ {
		if len(levIDs) == n || looked == maxSought {
			return levIDs, true, nil
		}
		list := tx.List(index.ByKind, index.All[index.ByKind].AppendKey(nil, nil, a.kinds[0], nil))
		var ended bool
		if levIDs, ended, err = take(&list, &a.next, levIDs, n); err != nil {
			return levIDs, false, err
		}
		if ended {
			a.kinds, a.next = a.kinds[1:], a.limit
		}
	}
	return levIDs, false, nil
}

// maxSought is how many lists are sought in one snapshot, some milliseconds.
const maxSought = 2000

func (a *byAge) begin(tx *Txn) error {
	a.begun = true
	if tx.now < a.rule.Age {
		return nil
	}
	if err := tx.checkClock(); err != nil {
		return err
	}
	a.limit = index.NotAfter(tx.now - a.rule.Age)
	a.next = a.limit
	return tx.eachKind(func(kind uint16, _ uint64) {
		if a.rule.Covers(kind) {
			a.kinds = append(a.kinds, kind)
		}
	})
}

// checkClock returns ErrClock where there has been no event for long.
func (tx *Txn) checkClock() error {
	list := tx.List(index.CreatedAt, index.All[index.CreatedAt].AppendKey(nil, nil, 0, nil))
	ok, err := list.Seek(index.NotAfter(tx.now))
	if err != nil || !ok {
		return err
	}
	if ahead := tx.now - list.Posting().Time(); ahead > maxAhead {
		return fmt.Errorf("%w: %d days", ErrClock, ahead/(24*60*60))
	}
	return nil
}

func (tx *Txn) eachKind(fn func(kind uint16, n uint64)) error {
	return tx.EachKey(index.ByKind, func(key []byte, n uint64) error {
		if len(key) == 2 { // another length is for Check to report
			fn(binary.BigEndian.Uint16(key), n)
		}
		return nil
	})
}

// take appends the events of a list to levIDs, from a posting on downwards, until
// there are n; next is then where to go on. It reports whether the list has ended.
func take(list *List, next *index.Posting, levIDs []uint64, n int) (_ []uint64, ended bool, err error) {
	ok, err := list.Seek(*next)
	for ; err == nil && ok; ok, err = list.Next() {
		if len(levIDs) == n {
			*next = list.Posting()
			return levIDs, false, nil
		}
		levIDs = append(levIDs, list.Posting().LevID())
	}
	return levIDs, err == nil, err
}

// byAuthor picks what goes beyond the newest of an author and kind.
type byAuthor struct {
	rule *Rule
	from []byte   // key from which on lists are still to be measured
	all  bool     // no more are
	long [][]byte // keys of lists that are too long
	next *index.Posting
}

// maxMeasured is how many lists are measured in one snapshot: some milliseconds.
const maxMeasured = 20_000

func (a *byAuthor) pick(tx *Txn, n int) (levIDs []uint64, more bool, err error) {
	if len(a.long) == 0 && !a.all {
		if err := a.measure(tx); err != nil {
			return nil, false, err
		}
	}
	for looked := 0; len(a.long) > 0 && len(levIDs) < n && looked < maxSought; looked++ {
		list := tx.List(index.ByPubkeyKind, a.long[0])
		if a.next == nil {
			if a.next, err = a.beyond(&list); err != nil {
				return levIDs, false, err
			}
		}
		ended := a.next == nil
		if !ended {
			if levIDs, ended, err = take(&list, a.next, levIDs, n); err != nil {
				return levIDs, false, err
			}
		}
		if ended {
			a.long, a.next = a.long[1:], nil
		}
	}
	return levIDs, len(a.long) > 0 || !a.all, nil
}

// measure looks for lists that are too long.
func (a *byAuthor) measure(tx *Txn) error {
	looked := 0
	a.all = true
	return tx.lx.EachKeyFrom(int(index.TableByPubkeyKind), a.from, func(key []byte, n uint64) error {
		if looked++; looked > maxMeasured || len(a.long) == maxSought {
			a.from, a.all = append(a.from[:0], key...), false
			return ErrStop
		}
		if len(key) == 34 && n > a.rule.PerAuthor && a.rule.Covers(binary.BigEndian.Uint16(key[32:])) {
			a.long = append(a.long, slices.Clone(key))
		}
		return nil
	})
}

// beyond returns the first posting of a list that is not kept, if there is one.
func (a *byAuthor) beyond(list *List) (*index.Posting, error) {
	ok, err := list.Next()
	for i := uint64(0); err == nil && ok && i < a.rule.PerAuthor; i++ {
		ok, err = list.Next()
	}
	if err != nil || !ok {
		return nil, err
	}
	p := list.Posting()
	return &p, nil
}

// oldest picks the oldest events while there are too many.
type oldest struct {
	rule *Rule
	from index.Posting
}

func (o *oldest) pick(tx *Txn, n int) (levIDs []uint64, more bool, err error) {
	if n, err = o.excess(tx, n); err != nil || n == 0 {
		return nil, false, err
	}
	looked := 0
	key := index.All[index.CreatedAt].AppendKey(nil, nil, 0, nil)
	err = tx.lx.EachPosting(int(index.TableCreatedAt), key, o.from, func(p index.Posting) error {
		o.from = p
		if len(levIDs) == n || looked == sweepPostings {
			more = true
			return ErrStop
		}
		looked++
		if o.rule.Covers(p.Kind()) {
			levIDs = append(levIDs, p.LevID())
		}
		return nil
	})
	return levIDs, more, err
}

// excess returns how many events are too many, up to n.
func (o *oldest) excess(tx *Txn, n int) (int, error) {
	all := uint64(0)
	err := tx.eachKind(func(kind uint16, events uint64) {
		if o.rule.Covers(kind) {
			all += events
		}
	})
	if err != nil || all <= o.rule.MaxEvents {
		return 0, err
	}
	return int(min(all-o.rule.MaxEvents, uint64(n))), nil
}

// byArrival picks the events that were stored longest ago while the database is
// too large. They stand side by side, so their pages become free; to remove as
// many by date could leave holes in many pages and make none free.
type byArrival struct {
	rule *Rule
	from uint64
}

func (a *byArrival) pick(tx *Txn, n int) (levIDs []uint64, more bool, err error) {
	used, err := tx.lx.UsedBytes()
	if err != nil || used <= a.rule.MaxBytes {
		return nil, false, err
	}
	looked := 0
	err = tx.lx.Each(int(index.TableEvent), lmdbx.AppendInt(nil, a.from), func(key, val []byte) error {
		a.from = lmdbx.Int(key)
		if len(levIDs) == n || looked == sweepPostings {
			more = true
			return ErrStop
		}
		looked++
		if len(val) >= packed.HeaderSize && a.rule.Covers(packed.View(val).Kind()) {
			levIDs = append(levIDs, a.from)
		}
		return nil
	})
	return levIDs, more, err
}
