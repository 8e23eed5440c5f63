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
	p       *Pipeline
	parser  nostr.Parser
	content []byte
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
			w.parser, w.content = nostr.Parser{}, nil // they may be half written
			res, admitted = failed(j.id(), w.p.caught(v)), false
		}
	}()
	rules := w.p.rules.Load()
	w.parser.Limits = rules.Limits
	var err error
	if j.ev, err = w.parser.Parse(j.raw); err != nil {
		return refused(claimedID(j.raw), err), false
	}
	if err := w.check(rules, j); err != nil {
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

// check applies the rules that need no signature.
func (w *worker) check(rules *Rules, j *job) error {
	if j.ev.Packed.Kind() == kindAuth {
		return errAuth // 42-R5
	}
	if err := rules.checkTime(j.ev, w.p.opts.Now()); err != nil {
		return err
	}
	switch {
	case j.src.Kind.trusted():
		return nil
	case isProtected(j.ev):
		return errProtected // 70-R1
	case isRepost(j.ev) && w.embedsProtected(j.ev):
		return errRepost // 70-R3
	}
	return nil
}

// embedsProtected reports whether the content of ev is a protected event. What
// is no event at all is nobody's secret.
func (w *worker) embedsProtected(ev *nostr.Event) bool {
	w.content = ev.Content(w.content[:0])
	inner, err := w.parser.Parse(w.content)
	return err == nil && isProtected(inner)
}

// pointless returns the outcome of an event that needs no signature checked,
// because it would not be stored if it were right.
func (w *worker) pointless(ev *nostr.Event) (Outcome, bool) {
	if ev.Packed.Expired(uint64(max(0, w.p.opts.Now().Unix()))) {
		return Expired, true // 40-R2
	}
	if isEphemeral(ev) {
		return 0, false
	}
	known := false
	err := w.p.db.View(context.Background(), func(tx *store.Txn) (err error) {
		_, known, err = tx.ByID(ev.Packed.ID())
		return err
	})
	// An error is left to the writer, who looks once more and has to answer.
	return Duplicate, known && err == nil
}

func (w *worker) verify(ev *nostr.Event) error {
	if w.p.opts.SkipVerify {
		return nil
	}
	w.p.stats.verified.Add(1)
	return ev.Verify()
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
