package store

import (
	"cmp"
	"context"
	"math"
	"slices"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/packed"
)

// A Share is the events of one kind that have one form.
type Share struct {
	Form   Form
	Kind   uint16
	Events uint64
	JSON   uint64 // bytes of their JSON
	Stored uint64 // bytes of their payloads
}

// Shares is what the payloads of a database come to.
type Shares struct {
	All     []Share // by form and kind
	Corrupt uint64  // events whose payload cannot be told the size of
}

// Shares adds up all payloads, in steps of one short snapshot each. Nothing is
// decompressed. Progress, unless nil, is told now and then how many events have
// been seen of all.
func (db *DB) Shares(ctx context.Context, progress func(done, total uint64)) (Shares, error) {
	type key struct {
		form Form
		kind uint16
	}
	var result Shares
	sums := map[key]*Share{}
	seen := uint64(0)
	add := func(f Form, kind uint16, json, stored int) {
		s := sums[key{f, kind}]
		if s == nil {
			s = &Share{Form: f, Kind: kind}
			sums[key{f, kind}] = s
		}
		s.Events++
		s.JSON += uint64(json)
		s.Stored += uint64(stored)
	}
	for next := uint64(0); next < math.MaxUint64; {
		err := db.View(ctx, func(tx *Txn) (err error) {
			next, err = tx.eachPayload(next, func(v packed.View, b []byte) {
				seen++
				p, err := parsePayload(b)
				size := 0
				if err == nil {
					size, err = p.jsonSize()
				}
				if err != nil {
					result.Corrupt++
					return
				}
				add(p.form, v.Kind(), size, len(b))
			})
			if err != nil || progress == nil {
				return err
			}
			total, err := tx.Events()
			progress(seen, max(seen, total))
			return err
		})
		if err != nil {
			return result, err
		}
	}
	for _, s := range sums {
		result.All = append(result.All, *s)
	}
	slices.SortFunc(result.All, func(a, b Share) int {
		return cmp.Or(cmp.Compare(a.Form, b.Form), cmp.Compare(a.Kind, b.Kind))
	})
	return result, nil
}

// eachPayload calls fn with the events from a levId on and their payloads, nil
// for one that is missing, up to seenAtOnce of them. It returns the levId to go on
// with, MaxUint64 at the end.
func (tx *Txn) eachPayload(from uint64, fn func(v packed.View, b []byte)) (next uint64, err error) {
	n := 0
	next = math.MaxUint64
	err = tx.lx.Each(int(index.TableEvent), lmdbx.AppendInt(nil, from), func(key, val []byte) error {
		levID, ok := levIDOf(key)
		if !ok || len(val) < packed.HeaderSize { // for Check to report
			return nil
		}
		if n++; n > seenAtOnce {
			next = levID
			return ErrStop
		}
		b, _, err := tx.lx.Get(int(index.TableEventPayload), tx.intKey(levID))
		if err == nil {
			fn(packed.View(val), b)
		}
		return err
	})
	return next, err
}
