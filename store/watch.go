package store

import (
	"context"
	"slices"
	"time"

	"wok/internal/lmdbx"
)

const (
	// lookPause is between two looks for commits of other processes, where the
	// system tells of writes.
	lookPause = 10 * time.Millisecond
	// lookInterval is how often it is looked where the system tells nothing. A
	// look is one read of shared memory, but twenty a second wake a process that
	// does nothing else for 0.4 % of a core.
	lookInterval = 50 * time.Millisecond
	// trustInterval is how often it is looked where the system does tell, should
	// it once fail to.
	trustInterval = time.Second
	// maxLooks is how often it is looked whether a commit can be read by now. One
	// whose process was killed meanwhile cannot, until another process writes.
	maxLooks = 50
)

// Watch returns a channel that receives after every commit, when it can be read:
// at once after one of this process, within 50 ms after one of another. Commits
// in quick succession may share a receipt, so the receiver reads on from the last
// levId it has seen. The watch ends with ctx, and the channel is closed then.
func (db *DB) Watch(ctx context.Context) (<-chan struct{}, error) {
	seen, err := db.readable(ctx)
	if err != nil {
		return nil, err
	}
	// Where it fails (a system without, or all that a user may have are in use)
	// looking more often does as well.
	written, _ := writes(ctx, db.Dir())
	return db.watch(ctx, seen, written), nil
}

// watch begins a watch from the commit seen. written tells of writes, nil where
// nothing does.
func (db *DB) watch(ctx context.Context, seen uint64, written <-chan struct{}) <-chan struct{} {
	w := make(chan struct{}, 1)
	db.mu.Lock()
	db.watchers = append(db.watchers, w)
	db.mu.Unlock()
	go func() {
		defer close(w)
		defer db.unwatch(w)
		for wait(ctx, &written) {
			seen = db.look(ctx, seen, w)
		}
	}()
	return w
}

// wait waits until it is time to look, and reports false when ctx has ended.
func wait(ctx context.Context, written *<-chan struct{}) bool {
	interval := trustInterval
	if *written == nil {
		interval = lookInterval
	}
	tick := time.NewTimer(interval)
	defer tick.Stop()
	select {
	case <-ctx.Done():
		return false
	case _, open := <-*written:
		if !open {
			*written = nil
		}
	case <-tick.C:
	}
	return ctx.Err() == nil
}

// look signals w if there are commits after seen, and returns the newest. LMDB
// shows that there is one earlier than it can be read, by as long as the disk
// takes to sync.
func (db *DB) look(ctx context.Context, seen uint64, w chan struct{}) uint64 {
	for range maxLooks {
		// It fails only on a closed environment, which outlives its watches.
		last, err := db.env.LastTxnID()
		if err != nil || last == seen {
			return seen
		}
		now, err := db.readable(ctx)
		if err != nil {
			return seen
		}
		if now != seen {
			seen = now
			signal(w)
		}
		if now < last {
			pause(ctx, lookPause)
		}
	}
	return seen
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// readable returns the number of the newest commit that can be read.
func (db *DB) readable(ctx context.Context) (id uint64, err error) {
	err = db.env.Read(ctx, func(lx *lmdbx.Txn) error {
		id = lx.ID()
		return nil
	})
	return id, err
}

func (db *DB) unwatch(w chan struct{}) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.watchers = slices.DeleteFunc(db.watchers, func(c chan struct{}) bool { return c == w })
}

// wake tells every watch of this process that something was committed.
func (db *DB) wake() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, w := range db.watchers {
		signal(w)
	}
}

// signal sends unless a signal is waiting already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
