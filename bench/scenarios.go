package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A scenario is one way to use a relay.
type scenario struct {
	name    string
	restart bool // the relay is started anew before, for memory to mean something
	run     func(*bench, context.Context, *process, *report) error
}

// scenarios returns all in their order: queries come first, as long as all relays
// hold the same events.
func scenarios() (all []scenario) {
	for _, s := range shapes {
		ask := func(b *bench, ctx context.Context, p *process, r *report) error { return b.query(ctx, p, s, r) }
		all = append(all, scenario{s.scenario(), false, ask})
	}
	return append(all,
		scenario{"publish", false, (*bench).publish},
		scenario{"fan-out", false, (*bench).fanout},
		scenario{"mixed", false, (*bench).mixed},
		scenario{"idle", true, (*bench).idle},
		scenario{"deflate", true, (*bench).idleDeflate},
		scenario{"slow", true, (*bench).slow},
	)
}

// measure fills a relay and runs the scenarios on it.
func (b *bench) measure(ctx context.Context, r relay) (*report, error) {
	b.say("%s: filling it with %d events", r.name, b.corpus.events)
	if err := r.fill(ctx, b.corpus.path); err != nil {
		return nil, err
	}
	result := &report{relay: r.name}
	p, err := r.launch(ctx)
	if err == nil && r.load == "" && r.url == "" {
		err = b.fillByPublishing(ctx, p, result)
	}
	for _, s := range scenarios() {
		if err == nil && b.only.MatchString(s.name) {
			p, err = b.play(ctx, &r, p, s, result)
		}
	}
	if p != nil {
		err = errors.Join(err, p.stop())
	}
	return result, err
}

// play runs a scenario and returns the process, which may be another one. A
// scenario that fails is told in the report: it is a figure as well.
func (b *bench) play(ctx context.Context, r *relay, p *process, s scenario, result *report) (*process, error) {
	if s.restart && p.cmd != nil {
		if err := p.stop(); err != nil {
			return nil, fmt.Errorf("stop before %s: %w", s.name, err)
		}
		var err error
		if p, err = r.launch(ctx); err != nil {
			return nil, err
		}
	}
	b.say("%s: %s", r.name, s.name)
	if err := s.run(b, ctx, p, result); err != nil {
		result.note("%s ended: %v", s.name, err)
		b.say("%s: %s ended: %v", r.name, s.name, err)
	}
	return p, ctx.Err()
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.log, format+"\n", args...) }

// fillTime is how long a relay may be filled that has no command for it.
const fillTime = time.Minute

func (b *bench) fillByPublishing(ctx context.Context, p *process, r *report) error {
	events, err := readFresh(b.corpus.path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fillTime)
	defer cancel()
	o, err := publishAll(ctx, p.url, events)
	if err != nil {
		return fmt.Errorf("fill by publishing: %w", err)
	}
	if o.sent < len(events) {
		r.note("holds %d of %d events, so its queries do not compare", o.sent, len(events))
	}
	return nil
}
