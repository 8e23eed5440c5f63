package ingest

import (
	"errors"
	"fmt"
	"time"

	"wok/store"
)

// maxFailures is how many transactions may fail in a row before the rest of a
// batch is given up. To find the one event in a thousand that fails takes ten;
// where as many as this fail, it is not the events.
const maxFailures = 64

// A writer is the goroutine that commits what has gathered.
type writer struct {
	p        *Pipeline
	answerer answerer
	batch    []*job
	failures int  // transactions of this batch that failed since one succeeded
	noSpace  bool // the last transaction found the disk full
}

func newWriter(p *Pipeline) *writer { return &writer{p: p, answerer: answerer{p: p}} }

// patience is the part of the time of a commit for which the writer waits, at
// most, for the next events of those who were answered by it. Four clients with
// 64 events in flight make batches of 132 without it, since half of them wait for
// the other half; with a quarter 180, and 220 in a database of 80,000 events, where
// a commit of twice the events writes 1.6 times the pages. With a half batches are
// 240 there and no quicker in a small database.
const patience = 4

func (w *writer) run() {
	var took time.Duration
	for {
		w.batch = w.p.lobby.next(w.batch, took/patience)
		if len(w.batch) == 0 {
			return
		}
		w.failures = 0
		began := time.Now()
		w.commit(w.batch)
		took = time.Since(began)
	}
}

// commit commits and answers jobs, in one transaction if it can be. Where that
// fails it tries them by halves, so that of all events only those fail that
// fail alone.
func (w *writer) commit(jobs []*job) {
	err := w.try(jobs)
	switch {
	case err == nil:
		w.committed(jobs)
	case len(jobs) == 1, w.noSpace, w.failures >= maxFailures:
		w.fail(jobs, err)
	default:
		half := len(jobs) / 2
		w.commit(jobs[:half])
		w.commit(jobs[half:])
	}
}

// try commits jobs in one transaction and notes how that went.
func (w *writer) try(jobs []*job) error {
	err := w.update(jobs)
	full := errors.Is(err, store.ErrNoSpace)
	switch {
	case full && !w.noSpace: // said once, not for every batch
		w.p.opts.Log.Error("disk nearly full, events are refused", "err", err)
	case w.noSpace && !full:
		w.p.opts.Log.Info("space on disk again")
	}
	w.noSpace = full
	if err != nil {
		w.failures++
		w.p.stats.batchFails.Add(1)
		return err
	}
	w.failures = 0
	w.p.stats.committed(len(jobs))
	return nil
}

// update puts jobs into the database and syncs, all or none.
func (w *writer) update(jobs []*job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = w.p.caught(v)
		}
	}()
	return w.p.db.Update(func(b *store.Batch) error {
		for _, j := range jobs {
			var err error
			if j.status, err = b.PutEncoded(j.ev, j.payload); err != nil {
				return fmt.Errorf("put event: %w", err)
			}
		}
		return nil
	})
}

func (w *writer) committed(jobs []*job) {
	for _, j := range jobs {
		j.end(resultOf(j.id(), outcomeOf(j.status)))
	}
	w.answerer.answer(jobs)
}

func (w *writer) fail(jobs []*job, err error) {
	if !w.noSpace {
		w.p.opts.Log.Error("events not stored", "events", len(jobs), "first", jobs[0].id(), "err", err)
	}
	for _, j := range jobs {
		j.end(failed(j.id(), err))
	}
	w.answerer.answer(jobs)
}
