package relay

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"wok/ingest"
	"wok/nostr"
	"wok/store"
)

// handle does what a message asks. It takes over raw, a buffer of the pool.
func (c *conn) handle(ctx context.Context, raw []byte) {
	msg, err := nostr.ParseMessage(raw, c.srv.limits)
	if answer := (*nostr.MessageError)(nil); errors.As(err, &answer) {
		c.note(answer.Verb, raw)
		if answer.Verb == nostr.VerbReq && answer.HasSubID {
			c.closeSub(answer.SubID) // which CLOSED says (01-R34)
		}
		c.send(answer.AppendReply(nil))
		messageBuffers.put(raw)
		return
	}
	c.note(msg.Verb, raw)
	if msg.Verb == nostr.VerbEvent {
		c.submit(ctx, raw, msg.Event)
		return
	}
	c.serveMessage(&msg)
	messageBuffers.put(raw)
}

// serveMessage does what a message other than EVENT asks.
func (c *conn) serveMessage(msg *nostr.Message) {
	switch msg.Verb {
	case nostr.VerbReq:
		c.awaitAnswers()
		c.request(msg.SubID, msg.Filters)
	case nostr.VerbCount:
		c.awaitAnswers()
		c.count(msg.SubID, msg.Filters)
	case nostr.VerbClose:
		c.closeSub(msg.SubID)
	case nostr.VerbAuth:
		if c.identity.challenge == "" {
			c.refuseMessage(msg, nostr.Refuse(nostr.PrefixError, "AUTH is not offered here"))
			return
		}
		c.authenticate(msg.Event)
	case nostr.VerbNegOpen:
		c.refuseMessage(msg, nostr.Refuse(nostr.PrefixError, "reconciliation is not offered here"))
	case nostr.VerbNegMsg:
		c.refuseMessage(msg, nostr.Refuse(nostr.PrefixClosed, "no session is open"))
	case nostr.VerbNegClose: // is never answered
	}
}

// note counts a message, and logs it, cut, if that is asked for.
func (c *conn) note(verb nostr.Verb, raw []byte) {
	c.srv.metrics.received(verb)
	t := &c.srv.opts.Trace
	if t.Events && verb == nostr.VerbEvent || t.Requests && verb != nostr.VerbEvent {
		const shown = 4 << 10
		c.srv.log.Info("message", "client", c.src.Info, "bytes", len(raw), "text", string(raw[:min(len(raw), shown)]))
	}
}

// refuseMessage answers a valid message that is not served.
func (c *conn) refuseMessage(msg *nostr.Message, reason *nostr.Refusal) {
	answer := nostr.MessageError{Verb: msg.Verb, SubID: msg.SubID, HasSubID: true, Event: msg.Event, Refusal: reason}
	c.send(answer.AppendReply(nil))
}

// submit hands an event to ingest, which answers when it likes (01-R38). raw is
// what event lies in, and goes back to the pool then.
func (c *conn) submit(ctx context.Context, raw, event []byte) {
	if !c.expectAnswer() {
		messageBuffers.put(raw)
		return
	}
	err := c.events.Submit(ctx, ingest.Submission{Raw: event, Source: c.src, Ref: raw})
	if err != nil { // we are stopping
		id, _ := nostr.FindID(event)
		c.answer([]ingest.Result{{ID: id, Reason: nostr.PrefixError.Reason("the relay is stopping"), Ref: raw}})
	}
}

// expectAnswer counts an event about to be submitted. False says that the
// connection is at its end and takes none.
func (c *conn) expectAnswer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out.ended() || c.draining {
		return false
	}
	c.pending++
	return true
}

// answer tells the client what became of events (01-R38, 01-R44).
func (c *conn) answer(results []ingest.Result) {
	for i := range results {
		r := &results[i]
		messageBuffers.put(r.Ref.([]byte))
		c.logAnswer(r)
		c.remind(r.Prefix)
	}
	var memory [256]byte // most answers are shorter
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range results {
		c.sendText(nil, appendAnswer(memory[:0], &results[i]))
	}
	if c.pending -= len(results); c.pending == 0 {
		c.changed.Broadcast()
		c.leaveIfIdle()
	}
}

// appendAnswer appends the answer to an event, whose id may be unreadable.
func appendAnswer(dst []byte, r *ingest.Result) []byte {
	if r.ID == "" {
		return nostr.AppendNotice(dst, r.Reason)
	}
	return nostr.AppendOK(dst, r.ID, r.OK, r.Reason)
}

// logAnswer logs what is to be known of an event that was not taken.
func (c *conn) logAnswer(r *ingest.Result) {
	if !r.OK && c.srv.opts.Trace.Refused && c.srv.refusals.allow(c.srv.log) {
		c.srv.log.Info("event refused", "client", c.src.Info, "id", r.ID, "reason", r.Reason)
	}
	if r.Err != nil && !errors.Is(r.Err, store.ErrNoSpace) && c.srv.failures.allow(c.srv.log) { // ingest tells of a full disk
		c.srv.log.Error("event not stored", "id", r.ID, "error", r.Err)
	}
}

// awaitAnswers waits until all events of this connection have been answered, so
// that a query sees those that came before it.
func (c *conn) awaitAnswers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.pending > 0 && !c.out.ended() {
		c.changed.Wait()
	}
}

// request opens a subscription.
func (c *conn) request(id string, filters []*nostr.Filter) {
	limits := &c.srv.opts.Limits
	narrow := limits.Narrow.check(filters)
	s := newSubscription(c, id, possible(filters))
	for _, f := range s.filters {
		if f.Limit == nostr.NoLimit {
			f.Limit = limits.DefaultLimit
		}
	}
	s.keys = c.keys()
	barred := cmp.Or(narrow, c.srv.opts.Auth.barred(s.filters, s.keys))
	old, ok := c.open(s)
	if old != nil {
		c.srv.live.remove(old)
	}
	switch {
	case ok && barred != nil:
		c.remind(barred.Prefix)
		c.refuse(s, barred)
	case !ok:
		c.send(nostr.AppendClosed(nil, id,
			nostr.PrefixBlocked.Reason("too many subscriptions, or values in their filters, are open on this connection")))
	case len(s.filters) == 0: // nothing can ever come
		c.sendEOSE(s, c.srv.hint(nostr.HintFinish))
		c.forget(s)
	default:
		c.srv.live.add(s)
		c.srv.sched.add(c, fresh, &scan{sub: s})
	}
}

// possible returns the filters that can match something.
func possible(filters []*nostr.Filter) []*nostr.Filter {
	return slices.DeleteFunc(filters, (*nostr.Filter).Never)
}

// forget frees the place of a subscription that nothing more is sent for, but
// leaves what is on its way.
func (c *conn) forget(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs[s.id] == s {
		delete(c.subs, s.id)
		c.values -= s.values
	}
}
