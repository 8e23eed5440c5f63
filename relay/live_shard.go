package relay

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// A shard has the open subscriptions of some of the connections. A goroutine of
// its own matches new events with them and delivers, so that deliveries use all
// cores, and who opens a subscription waits for nobody elsewhere.
type shard struct {
	srv *Server
	in  chan []news  // shared with other shards, not to be changed
	has atomic.Int64 // subscriptions in the index

	mu    sync.Mutex
	index liveIndex

	out []delivery // the goroutine's own
}

// A delivery is an event on its way to a subscription.
type delivery struct {
	conn uint64 // its number
	sub  *subscription
	news *news
}

const (
	// coresPerShard is how many cores there are for a shard: one finds and hands
	// over two million deliveries a second, and encoding and sending them, which
	// writers do, takes ten times that. On two cores a second shard makes
	// deliveries cost some 6 % more.
	coresPerShard = 2
	// maxQueued is how many batches of news wait for a shard. They are shared,
	// and each has up to maxNewsBytes.
	maxQueued = 16
	// maxGathered is about how many deliveries are gathered before they are made.
	maxGathered = 4096
)

func newShard(srv *Server, seeds *seeds, rates *rates) *shard {
	return &shard{srv: srv, in: make(chan []news, maxQueued), index: newLiveIndex(seeds, rates)}
}

// run delivers what comes in, until done. What waits together is delivered
// together.
func (sh *shard) run(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case batch := <-sh.in:
			sh.gather(batch)
		}
		for more := true; more; {
			select {
			case batch := <-sh.in:
				sh.gather(batch)
			default:
				more = false
			}
		}
		sh.deliver()
	}
}

// gather notes who is to get the events of batch.
func (sh *shard) gather(batch []news) {
	now := sh.srv.now()
	for i := range batch {
		sh.match(&batch[i], now)
		if len(sh.out) >= maxGathered {
			sh.deliver()
		}
	}
}

func (sh *shard) match(n *news, now uint64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	defer sh.contain()
	sh.index.match(n, now, func(s *subscription) {
		sh.out = append(sh.out, delivery{s.conn.num, s, n})
	})
}

// deliver gives every connection its part at once, so that it is sent by one
// write. What a connection gets is in the order it was gathered.
func (sh *shard) deliver() {
	slices.SortStableFunc(sh.out, func(a, b delivery) int { return cmp.Compare(a.conn, b.conn) })
	for rest := sh.out; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].conn == rest[0].conn {
			n++
		}
		sh.hand(rest[:n])
		rest = rest[n:]
	}
	clear(sh.out)
	sh.out = sh.out[:0]
}

// hand makes deliveries that are for one connection. One that has ended
// meanwhile takes none.
func (sh *shard) hand(ds []delivery) {
	c := ds[0].sub.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	defer sh.contain()
	for _, d := range ds {
		c.sendLive(d.sub, d.news)
	}
}

// contain keeps a panic over one event from ending the others.
func (sh *shard) contain() {
	if p := recover(); p != nil {
		sh.srv.caught(p, nil)
	}
}

// add makes new events reach s.
func (sh *shard) add(s *subscription, now uint64) {
	for _, f := range s.filters {
		if past(f, now) {
			continue
		}
		key := keyOf(f)
		sh.mu.Lock()
		if len(s.shares) == 0 {
			sh.has.Add(1)
		}
		sh.index.add(s, f, key)
		sh.mu.Unlock()
	}
}

// remove undoes add, if it has been.
func (sh *shard) remove(s *subscription) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if len(s.shares) > 0 {
		sh.has.Add(-1)
	}
	sh.index.remove(s)
}
