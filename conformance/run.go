package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Options are how a suite is run.
type Options struct {
	Only    []string      // ids of rules, NIPs, levels or scripts; none for all
	Seed    string        // that all keys follow from; default a random one
	Timeout time.Duration // for each thing that is expected; default 5 s
	Pace    time.Duration // to wait between two cases, out of politeness
	// Progress is told of each result when there is one; nil for nobody.
	Progress func(*Result)
}

// An Outcome is what became of a rule.
type Outcome string

// The outcomes.
const (
	Held          Outcome = "held"
	Broken        Outcome = "broken"
	NotApplicable Outcome = "n/a"
)

// A Result is the outcome of one rule.
type Result struct {
	*Rule
	Outcome  Outcome
	Failures []*Failure // of a broken one, one a case
	Reason   string     // why one does not apply
	Played   int        // cases
}

// Run plays the cases of all rules that are asked for, one after another. An
// error is not about the relay, but says that the run could not go on.
func (s *Suite) Run(ctx context.Context, relays Source, o Options) (*Report, error) {
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	if o.Seed == "" {
		o.Seed = rand.Text()
	}
	r := &runner{relays: relays, opts: o, opened: map[*Target]bool{}}
	report := &Report{Without: s.Without, Seed: o.Seed}
	if len(o.Only) > 0 {
		report.Without = nil
	}
	for _, rule := range s.Rules {
		if !rule.among(o.Only) {
			continue
		}
		result, err := r.rule(ctx, rule)
		if err != nil {
			return report, err
		}
		report.Results = append(report.Results, result)
		if o.Progress != nil {
			o.Progress(result)
		}
	}
	return report, nil
}

// A runner is a run of a suite.
type runner struct {
	relays Source
	opts   Options
	opened map[*Target]bool
}

// rule plays the cases of a rule. It is broken if one of them is, and does not
// apply if none does.
func (r *runner) rule(ctx context.Context, rule *Rule) (*Result, error) {
	result := &Result{Rule: rule, Outcome: NotApplicable}
	for i, c := range rule.Cases {
		t, lack, err := r.target(ctx, c.Needs)
		if err != nil {
			return nil, err
		}
		if t == nil {
			result.Reason = lack
			continue
		}
		if err := pause(ctx, r.opts.Pace); err != nil {
			return nil, err
		}
		result.Played++
		err = play(ctx, t, c, fmt.Sprintf("%s/%s/%d", r.opts.Seed, rule.ID, i), r.opts.Timeout)
		var f *Failure
		switch {
		case errors.As(err, &f):
			result.Failures = append(result.Failures, f)
		case err != nil:
			return nil, err
		}
	}
	switch {
	case len(result.Failures) > 0:
		result.Outcome = Broken
	case result.Played > 0:
		result.Outcome = Held
	}
	return result, nil
}

// target returns a relay that has what is needed, or says what is lacking.
func (r *runner) target(ctx context.Context, needs []Need) (*Target, string, error) {
	wanted := options(needs)
	t, err := r.relays(ctx, wanted)
	if err != nil {
		return nil, "", err
	}
	if t == nil {
		return nil, "the relay was not started with " + strings.Join(wanted, " "), nil
	}
	if !r.opened[t] {
		if err := t.open(ctx, r.opts.Timeout); err != nil {
			return nil, "", err
		}
		r.opened[t] = true
	}
	if lack := t.lacks(needs); lack != "" {
		return nil, lack, nil
	}
	return t, "", nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
