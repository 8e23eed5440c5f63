package ingest

import "sync"

// maxTurn is how many events a worker takes at once: they share a snapshot, the
// locks on their way, and the answers. It keeps the events of a turn within a
// millisecond of signatures.
const maxTurn = 16

// An intake holds submitted events until workers come for them. Submitters take
// turns, event by event; those of one submitter keep their order. It has as many
// events as there are slots at most, and as many submitters.
type intake struct {
	workers int
	lobby   *gatherer // is told of each event

	mu          sync.Mutex
	filled      sync.Cond
	first, last *Submitter // those with events here; the first is next
	waiting     int        // events
	seq         uint64     // of the next event taken
	closed      bool
}

func newIntake(workers int, lobby *gatherer) *intake {
	q := &intake{workers: workers, lobby: lobby}
	q.filled.L = &q.mu
	return q
}

// put adds j unless the intake is closed.
func (q *intake) put(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.lobby.expect()
	s := j.from
	if s.tail == nil {
		s.head = j
		q.join(s)
	} else {
		s.tail.next = j
	}
	s.tail = j
	q.waiting++
	q.filled.Signal()
	return true
}

// join puts s at the end of those who wait for their turn.
func (q *intake) join(s *Submitter) {
	if q.last == nil {
		q.first = s
	} else {
		q.last.after = s
	}
	q.last = s
}

// take waits for events and appends some to dst, so many that every worker has
// its part. It returns none once the intake is closed and empty.
func (q *intake) take(dst []*job) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.waiting == 0 && !q.closed {
		q.filled.Wait()
	}
	part := (q.waiting + q.workers - 1) / q.workers
	for range min(part, maxTurn) {
		dst = append(dst, q.next())
	}
	return dst
}

// next removes the event whose turn it is. There is one.
func (q *intake) next() *job {
	s := q.first
	q.first, s.after = s.after, nil
	if q.first == nil {
		q.last = nil
	}
	j := s.head
	s.head, j.next = j.next, nil
	if s.head == nil {
		s.tail = nil
	} else {
		q.join(s)
	}
	j.seq = q.seq
	q.seq++
	q.waiting--
	return j
}

// close says that no more events come.
func (q *intake) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}
