package ingest

import (
	"context"

	"wok/index"
	"wok/nostr"
	"wok/store"
)

// A worker is the goroutine that takes events from submission to the lobby, or
// to an answer. Each has its own working memory.
type worker struct {
	p      *Pipeline
	parser nostr.Parser
}

func newWorker(p *Pipeline) *worker { return &worker{p: p} }

func (w *worker) run() {
	for j := range w.p.work {
		res, admitted := w.examine(j)
		if admitted {
			w.p.lobby.admit(j)
			continue
		}
		w.p.lobby.settle()
		w.p.answer(j, res)
	}
}

// examine passes j through the stages before the writer and returns either that
// it is admitted or the answer.
func (w *worker) examine(j *job) (res Result, admitted bool) {
	defer func() {
		if v := recover(); v != nil {
			w.parser = nostr.Parser{} // it may be half written
			res, admitted = failed(j.id(), w.p.caught(v)), false
		}
	}()
	rules := w.p.rules.Load()
	w.parser.Limits = rules.Limits
	var err error
	if j.ev, err = w.parser.Parse(j.raw); err != nil {
		return refused(claimedID(j.raw), err), false
	}
	if err := rules.check(j.ev, &j.src, w.p.opts.Now()); err != nil {
		return refused(j.id(), err), false
	}
	if o, ended := w.pointless(j.ev); ended {
		return resultOf(j.id(), o), false
	}
	if err := w.verify(j.ev); err != nil {
		return refused(j.id(), err), false
	}
	if isEphemeral(j.ev) {
		w.p.opts.Ephemeral(j.ev)
		return resultOf(j.id(), Ephemeral), false
	}
	return Result{}, true
}

// pointless returns the outcome of an event that needs no signature checked,
// because it would not be stored if it were right.
func (w *worker) pointless(ev *nostr.Event) (Outcome, bool) {
	if ev.Packed.Expired(uint64(max(0, w.p.opts.Now().Unix()))) {
		return Expired, true // 40-R2
	}
	var o Outcome
	ended := false
	err := w.p.db.View(context.Background(), func(tx *store.Txn) (err error) {
		if isEphemeral(ev) { // nobody else will ask
			o = Vanished
			ended, err = tx.Vanished(ev.Packed)
			return err
		}
		o = Duplicate
		ended, err = tx.Has(ev.Packed.ID())
		return err
	})
	// An error is left to the writer, who looks once more and has to answer.
	return o, ended && err == nil
}

func (w *worker) verify(ev *nostr.Event) error {
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
