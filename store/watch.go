package store

import (
	"context"
	"slices"
	"time"

	"wok/internal/lmdbx"
)

// watchInterval is how often a watch looks for commits of other processes. The
// look is one read of shared memory.
const watchInterval = 50 * time.Millisecond

// Watch returns a channel that receives after every commit, when it can be read:
// at once after one of this process, within 50 ms after one of another. Commits in quick
// succession may share a receipt, so the receiver reads on from the last levId
// it has seen. The watch ends with ctx, and the channel is closed then.
func (db *DB) Watch(ctx context.Context) (<-chan struct{}, error) {
	seen, err := db.readable(ctx)
	if err != nil {
		return nil, err
	}
	own := make(chan struct{}, 1)
	db.mu.Lock()
	db.watchers = append(db.watchers, own)
	db.mu.Unlock()
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		defer db.unwatch(own)
		db.watch(ctx, seen, own, out)
	}()
	return out, nil
}

func (db *DB) watch(ctx context.Context, seen uint64, own, out chan struct{}) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-own:
			signal(out)
			continue
		case <-tick.C:
		}
		// It fails only on a closed environment, which outlives its watches.
		if last, err := db.env.LastTxnID(); err != nil || last == seen {
			continue
		}
		signal(out)
		if now, err := db.readable(ctx); err == nil {
			seen = now
		} // else the next tick tries again, or ctx has ended
	}
}

// readable returns the number of the newest commit that can be read. LMDB shows
// that there is one (LastTxnID) earlier, by as long as the disk takes to sync.
func (db *DB) readable(ctx context.Context) (id uint64, err error) {
	err = db.env.Read(ctx, func(lx *lmdbx.Txn) error {
		id = lx.ID()
		return nil
	})
	return id, err
}

func (db *DB) unwatch(own chan struct{}) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.watchers = slices.DeleteFunc(db.watchers, func(c chan struct{}) bool { return c == own })
}

// wake tells every watch of this process that something was committed.
func (db *DB) wake() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, c := range db.watchers {
		signal(c)
	}
}

// signal sends unless a signal is waiting already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
