package relay

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// A live follows the store and sends each new event to the subscriptions that
// match. It reads what is new by levId when the watch of the store tells of
// commits, its own process's or another's, and hands it to the shards, to one of
// which each connection belongs.
type live struct {
	srv *Server
	db  *store.DB

	pos  uint64        // events up to this levId have been sent; the follower's own
	done chan struct{} // closed when nothing is followed any more

	seeds  *seeds
	rates  rates
	shards []*shard
}

// news is a new event, copied out of a transaction. Many read it at once.
type news struct {
	levID uint64 // 0 for what is not stored
	view  packed.View
	event *liveEvent
	terms []term
}

const (
	// maxNews and maxNewsBytes bound what is copied in one transaction.
	maxNews      = 256
	maxNewsBytes = 1 << 20
)

func newLive(srv *Server, db *store.DB, shards int) *live {
	l := &live{srv: srv, db: db, done: make(chan struct{}), seeds: newSeeds()}
	for range shards {
		l.shards = append(l.shards, newShard(srv, l.seeds, &l.rates))
	}
	return l
}

// start begins to follow: what is stored from now on is new. The events before
// that tell what is frequent.
func (l *live) start(ctx context.Context) (<-chan struct{}, error) {
	watch, err := l.db.Watch(ctx)
	if err != nil {
		return nil, err
	}
	err = l.db.View(ctx, func(tx *store.Txn) (err error) {
		l.pos, err = tx.LastLevID()
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := l.learn(ctx); err != nil { // which costs nothing but speed
		l.srv.log.Error("recent events not read", "error", err)
	}
	return watch, nil
}

// learn counts what the newest stored events have.
func (l *live) learn(ctx context.Context) error {
	return l.db.View(ctx, func(tx *store.Txn) error {
		var terms []term
		return tx.EachEvent(max(l.pos, rateWindow)-rateWindow+1, func(_ uint64, v packed.View) error {
			terms = l.seeds.ofEvent(terms[:0], v)
			l.rates.note(terms)
			return nil
		})
	})
}

// follow sends what is new, whenever there may be something, until ctx ends.
func (l *live) follow(ctx context.Context, watch <-chan struct{}) {
	var shards sync.WaitGroup
	defer shards.Wait()
	defer close(l.done)
	for _, sh := range l.shards {
		shards.Go(func() { sh.run(l.done) })
	}
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
		var batch []news
		var err error
		batch, more, err = l.read(ctx)
		l.send(batch)
		if err != nil && ctx.Err() == nil {
			l.srv.log.Error("new events not read", "after", l.pos, "error", err)
		}
	}
}

// read copies the next events, moves l.pos behind them, and reports whether it
// should be called again.
func (l *live) read(ctx context.Context) (batch []news, more bool, err error) {
	before := l.pos
	err = l.db.View(ctx, func(tx *store.Txn) error {
		size := 0
		err := tx.EachEvent(l.pos+1, func(levID uint64, v packed.View) error {
			if more = len(batch) == maxNews || size >= maxNewsBytes; more {
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
			batch = append(batch, l.news(levID, v.Clone(), bytes.Clone(json)))
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
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrDamaged) { // go on behind the row
		if l.pos == before {
			l.pos++
		}
		return batch, true, err
	}
	return batch, more && err == nil, err
}

// news returns an event as news, and counts it.
func (l *live) news(levID uint64, v packed.View, json []byte) news {
	n := news{levID: levID, view: v, event: &liveEvent{json: json}, terms: l.seeds.ofEvent(nil, v)}
	l.rates.note(n.terms)
	l.srv.metrics.events.add(v.Kind())
	return n
}

// send hands a batch to the shards, and waits for those that are behind: they
// wait for no client. A shard that has no subscription by now will have none
// whose snapshot is without these events.
func (l *live) send(batch []news) {
	if len(batch) == 0 {
		return
	}
	for _, sh := range l.shards {
		if sh.has.Load() == 0 {
			continue
		}
		select {
		case sh.in <- batch:
		case <-l.done:
			return
		}
	}
}

// Broadcast sends an ephemeral event, which is stored nowhere, to all
// subscriptions that match. It is to be called when the event has been
// accepted, and may be called by many goroutines.
func (s *Server) Broadcast(ev *nostr.Event) {
	if ev.Packed.Expired(s.now()) {
		return
	}
	s.live.send([]news{s.live.news(0, ev.Packed, ev.JSON)})
}

// now returns the time in unix seconds.
func (s *Server) now() uint64 { return uint64(max(0, s.opts.Now().Unix())) }

// shard returns the one that c belongs to.
func (l *live) shard(c *conn) *shard { return l.shards[c.num%uint64(len(l.shards))] }

// add makes new events reach s.
func (l *live) add(s *subscription) { l.shard(s.conn).add(s, l.srv.now()) }

// remove undoes add, if it has been.
func (l *live) remove(s *subscription) { l.shard(s.conn).remove(s) }
