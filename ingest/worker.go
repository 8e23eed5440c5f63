package ingest

import (
	"context"

	"wok/index"
	"wok/nostr"
	"wok/store"
)

// A worker is the goroutine that takes events from submission to the lobby, or
// to an answer, a few at a time. Each has its own working memory.
type worker struct {
	p        *Pipeline
	parser   nostr.Parser
	answerer answerer
	tx       *store.Txn // of known, while it runs

	jobs, admitted, ended []*job
}

func newWorker(p *Pipeline) *worker { return &worker{p: p, answerer: answerer{p: p}} }

func (w *worker) run() {
	for {
		w.jobs = w.p.intake.take(w.jobs[:0])
		if len(w.jobs) == 0 {
			return
		}
		w.examine()
		w.admitted, w.ended = w.admitted[:0], w.ended[:0]
		for _, j := range w.jobs {
			if j.ended {
				w.ended = append(w.ended, j)
			} else {
				w.admitted = append(w.admitted, j)
			}
		}
		w.p.lobby.settle(w.admitted, len(w.jobs)) // the admitted are the writer's from here on
		w.answerer.answer(w.ended)
	}
}

// examine passes the jobs through the stages before the writer.
func (w *worker) examine() {
	w.each((*worker).read)
	// What fails here is left to the writer, who looks once more and has to answer.
	// An ephemeral event goes on without: nothing of it stays.
	_ = w.p.db.View(context.Background(), func(tx *store.Txn) error {
		w.tx = tx
		w.each((*worker).known)
		w.tx = nil
		return nil
	})
	w.each((*worker).verify)
	w.each((*worker).encode)
}

// each passes the jobs that go on through one stage.
func (w *worker) each(stage func(*worker, *job)) {
	for _, j := range w.jobs {
		if !j.ended {
			w.pass(j, stage)
		}
	}
}

// pass passes j through a stage. A panic ends its way and nobody else's.
func (w *worker) pass(j *job, stage func(*worker, *job)) {
	defer func() {
		if v := recover(); v != nil {
			w.parser = nostr.Parser{} // it may be half written
			j.end(failed(j.id(), w.p.caught(v)))
		}
	}()
	stage(w, j)
}

// read parses j and applies the rules.
func (w *worker) read(j *job) {
	rules := w.p.rules.Load()
	w.parser.Limits = rules.Limits
	var err error
	if j.ev, err = w.parser.Parse(j.Raw); err != nil {
		j.end(refused(claimedID(j.Raw), err))
		return
	}
	if err := w.p.opts.Inspect(j.Raw, j.ev); err != nil {
		j.end(refused(j.id(), err))
		return
	}
	if err := rules.check(j.ev, &j.Source, w.p.opts.Now()); err != nil {
		j.end(refused(j.id(), err))
	}
}

// known ends the way of an event that needs no signature checked, because it
// would not be stored if it were right.
func (w *worker) known(j *job) {
	var o Outcome
	var known bool
	var err error
	switch v := j.ev.Packed; {
	case v.Expired(uint64(max(0, w.p.opts.Now().Unix()))):
		o, known = Expired, true // 40-R2
	case isEphemeral(j.ev): // nobody else will ask
		o = Vanished
		known, err = w.tx.Vanished(v)
	default:
		o = Duplicate
		known, err = w.tx.Has(v.ID())
	}
	if known && err == nil {
		j.end(resultOf(j.id(), o))
	}
}

// verify checks the signature. An ephemeral event ends its way here.
func (w *worker) verify(j *job) {
	if err := w.signature(j.ev); err != nil {
		j.end(refused(j.id(), err))
		return
	}
	if isEphemeral(j.ev) {
		w.p.opts.Ephemeral(j.ev)
		j.end(resultOf(j.id(), Ephemeral))
	}
}

// encode makes the payload that the writer is to store, since there are several
// workers and one writer.
func (w *worker) encode(j *job) { j.payload = w.p.db.Encode(j.ev) }

func (w *worker) signature(ev *nostr.Event) error {
	if w.p.opts.SkipVerify {
		return nil
	}
	err, remembered := w.p.verdicts.verify(ev)
	if remembered {
		w.p.stats.remembered.Add(1)
	} else {
		w.p.stats.verified.Add(1)
	}
	return err
}

func isEphemeral(ev *nostr.Event) bool { return index.ClassOf(ev.Packed.Kind()) == index.Ephemeral }

// id returns the id of a parsed event, "" of one that is not parsed.
func (j *job) id() string {
	if j.ev == nil {
		return ""
	}
	return j.ev.ID()
}

// claimedID returns the id that unreadable JSON claims to be of (01-R44), or "".
func claimedID(raw []byte) string {
	if id, ok := nostr.FindID(raw); ok {
		return id
	}
	return ""
}
