package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// A live follows the store and sends each new event to the subscriptions that
// match. It reads what is new by levId when the watch of the store tells of
// commits, its own process's or another's.
type live struct {
	srv *Server
	db  *store.DB

	pos   uint64 // events up to this levId have been sent; the follower's own
	batch []news // the same

	mu    sync.Mutex
	index liveIndex
	round uint64 // counts events matched
	kinds kindCounts
}

// news is a new event, copied out of a transaction.
type news struct {
	levID uint64
	view  packed.View
	event *liveEvent
}

const (
	// maxNews and maxNewsBytes bound what is copied in one transaction.
	maxNews      = 256
	maxNewsBytes = 1 << 20
)

func newLive(srv *Server, db *store.DB) *live {
	return &live{srv: srv, db: db, index: newLiveIndex()}
}

// start begins to follow: what is stored from now on is new.
func (l *live) start(ctx context.Context) (<-chan struct{}, error) {
	watch, err := l.db.Watch(ctx)
	if err != nil {
		return nil, err
	}
	err = l.db.View(ctx, func(tx *store.Txn) (err error) {
		l.pos, err = tx.LastLevID()
		return err
	})
	return watch, err
}

// follow sends what is new, whenever there may be something, until ctx ends.
func (l *live) follow(ctx context.Context, watch <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch:
		}
		l.sendNew(ctx)
	}
}

// sendNew sends all that is new.
func (l *live) sendNew(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		var err error
		more, err = l.read(ctx)
		for i := range l.batch {
			l.send(&l.batch[i])
		}
		if err != nil && ctx.Err() == nil {
			l.srv.log.Error("new events not read", "after", l.pos, "error", err)
		}
	}
}

// read copies the next events into l.batch, moves l.pos behind them, and
// reports whether it should be called again.
func (l *live) read(ctx context.Context) (more bool, err error) {
	clear(l.batch)
	l.batch = l.batch[:0]
	err = l.db.View(ctx, func(tx *store.Txn) error {
		size := 0
		err := tx.EachEvent(l.pos+1, func(levID uint64, v packed.View) error {
			if more = len(l.batch) == maxNews || size >= maxNewsBytes; more {
				return store.ErrStop
			}
			l.pos = levID
			if hidden, err := tx.Hidden(v); err != nil || hidden {
				return err
			}
			json, ok, err := tx.JSON(levID)
			if err != nil || !ok {
				return l.srv.skip(levID, err)
			}
			l.batch = append(l.batch, news{levID, v.Clone(), &liveEvent{json: bytes.Clone(json)}})
			size += len(json)
			return nil
		})
		if err != nil || more {
			return err
		}
		last, err := tx.LastLevID()
		l.pos = max(l.pos, last)
		return err
	})
	if errors.Is(err, store.ErrCorrupt) { // step over the row
		l.pos++
		return true, err
	}
	return more && err == nil, err
}

// send sends an event to all subscriptions that match.
func (l *live) send(n *news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.contain()
	l.kinds.add(n.view.Kind())
	l.match(n.view, func(s *subscription) { s.conn.sendLive(s, n.levID, n.view, n.event) })
}

// Broadcast sends an ephemeral event, which is stored nowhere, to all
// subscriptions that match. It is to be called when the event has been
// accepted, and may be called by many goroutines.
func (s *Server) Broadcast(ev *nostr.Event) {
	if ev.Packed.Expired(uint64(max(0, s.opts.Now().Unix()))) {
		return
	}
	l := s.live
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.contain()
	l.kinds.add(ev.Packed.Kind())
	event := &liveEvent{json: ev.JSON}
	l.match(ev.Packed, func(sub *subscription) { sub.conn.sendLive(sub, 0, ev.Packed, event) })
}

// contain keeps a panic over one event from ending the others.
func (l *live) contain() {
	if p := recover(); p != nil {
		l.srv.caught(p, nil)
	}
}

// match calls fn once with every subscription that matches. The caller holds
// l.mu.
func (l *live) match(v packed.View, fn func(*subscription)) {
	l.round++
	l.index.candidates(v, func(e *entry) {
		if e.sub.mark != l.round && e.filter.Match(v) {
			e.sub.mark = l.round
			fn(e.sub)
		}
	})
}

// add makes new events reach s.
func (l *live) add(s *subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range s.filters {
		e := &entry{sub: s, filter: f}
		s.entries = append(s.entries, e)
		l.index.add(e)
	}
}

// remove undoes add, if it has been.
func (l *live) remove(s *subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range s.entries {
		l.index.remove(e)
	}
	s.entries = nil
}

// maxKinds bounds the kinds that are counted one by one: they come from
// strangers.
const maxKinds = 256

// kindCounts counts events by kind.
type kindCounts struct {
	byKind map[uint16]uint64
	others uint64
}

func (k *kindCounts) add(kind uint16) {
	if k.byKind == nil {
		k.byKind = make(map[uint16]uint64)
	}
	if _, known := k.byKind[kind]; !known && len(k.byKind) >= maxKinds {
		k.others++
		return
	}
	k.byKind[kind]++
}

// labels returns the counts by label.
func (k *kindCounts) labels() map[string]uint64 {
	m := make(map[string]uint64, len(k.byKind)+1)
	for kind, n := range k.byKind {
		m[fmt.Sprint(kind)] = n
	}
	if k.others > 0 {
		m["other"] = k.others
	}
	return m
}
