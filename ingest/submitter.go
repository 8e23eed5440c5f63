package ingest

import (
	"context"
)

// A Submission is one event handed in.
type Submission struct {
	Raw    []byte // its JSON, which must not change until it is answered
	Source Source
	Ref    any // comes back with the Result
}

// A Submitter is one of those who bring events: a connection, a file. All of
// them take turns, so that who has a thousand events waiting keeps who has one
// waiting for one, or for a few. It needs no closing.
type Submitter struct {
	p    *Pipeline
	num  uint64 // unlike every other submitter's
	done func([]Result)

	head, tail *job       // waiting for a worker; guarded by intake.mu
	after      *Submitter // whose turn is next; guarded by intake.mu
	turn       int        // used while a batch is picked; guarded by gatherer.mu
}

// Submitter returns a new submitter, whose events are answered by done: several
// at once where they were decided at once, in the order of submission as far as
// it is kept. It is called by goroutines of the pipeline, by several at the same
// time, must be quick and must not submit. The results are valid until it
// returns.
func (p *Pipeline) Submitter(done func([]Result)) *Submitter {
	return &Submitter{p: p, num: p.submitters.Add(1), done: done}
}

// Submit hands an event to the pipeline. It waits while the pipeline is full,
// until ctx ends. An error, that of ctx or [ErrClosed], means that the event was
// not taken.
//
// Otherwise it is answered exactly once: a stored event after commit and sync.
// The events of one submitter may be answered in any order. A submitter may
// submit from several goroutines.
func (s *Submitter) Submit(ctx context.Context, sub Submission) error {
	p := s.p
	// One event larger than all of QueueBytes passes when it is alone.
	size := int64(min(len(sub.Raw), p.opts.QueueBytes))
	if err := p.bytes.Acquire(ctx, size); err != nil {
		return context.Cause(ctx)
	}
	select {
	case j := <-p.slots:
		*j = job{Submission: sub, from: s, bytes: size}
		if p.intake.put(j) {
			return nil
		}
		p.release(j)
		return ErrClosed
	case <-ctx.Done():
		p.bytes.Release(size)
		return context.Cause(ctx)
	}
}

// Submit hands in raw, the JSON of one event, as a submitter of its own.
func (p *Pipeline) Submit(ctx context.Context, raw []byte, src Source, done func(Result)) error {
	s := p.Submitter(func(results []Result) { done(results[0]) })
	return s.Submit(ctx, Submission{Raw: raw, Source: src})
}
