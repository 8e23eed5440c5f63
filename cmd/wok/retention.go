package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"wok/internal/config"
	"wok/store"
)

// A retentionRule is a rule, and how the configuration spells it.
type retentionRule struct {
	text string
	store.Rule
}

// parseRules reads retention.rules: rules by semicolons or lines, each of words
// key=value by spaces, one of them a bound.
func parseRules(text string) ([]retentionRule, error) {
	var rules []retentionRule
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		rule := retentionRule{text: strings.Join(words, " ")}
		if err := rule.parse(words); err != nil {
			return nil, fmt.Errorf("retention.rules: %q: %w", rule.text, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func (r *retentionRule) parse(words []string) error {
	seen := map[string]bool{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if seen[key] {
			return fmt.Errorf("%s stands twice", key)
		}
		seen[key] = true
		if err := r.set(key, value); err != nil {
			return err
		}
	}
	bounds := len(seen)
	if seen["kind"] {
		bounds--
	}
	if bounds != 1 {
		return errors.New("a rule has one bound: age, perAuthor, maxEvents or maxSize")
	}
	return nil
}

func (r *retentionRule) set(key, value string) (err error) {
	var bound *uint64
	units := countUnits
	switch key {
	case "kind":
		r.Kinds, err = parseKinds(value)
		return err
	case "age":
		bound, units = &r.Age, timeUnits
	case "perAuthor":
		bound = &r.PerAuthor
	case "maxEvents":
		bound = &r.MaxEvents
	case "maxSize":
		bound, units = &r.MaxBytes, sizeUnits
	default:
		return fmt.Errorf("nothing is called %q; there are kind, age, perAuthor, maxEvents and maxSize", key)
	}
	if *bound, err = parseUnits(value, units); err == nil && *bound == 0 {
		err = errors.New("0 would remove everything")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// parseKinds reads kinds and ranges of kinds, by commas: 1,6,20000-29999.
func parseKinds(text string) ([]store.KindRange, error) {
	var kinds []store.KindRange
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 16)
		b, errB := strconv.ParseUint(last, 10, 16)
		if errA != nil || errB != nil || a > b {
			return nil, fmt.Errorf("kind: %q is neither a kind nor a range of kinds", part)
		}
		kinds = append(kinds, store.KindRange{First: uint16(a), Last: uint16(b)})
	}
	return kinds, nil
}

// keepRetained applies the rules of the configuration to db in the background,
// and returns what ends that.
func keepRetained(ctx context.Context, cfg *config.Config, db *store.DB, log *slog.Logger) (stop func()) {
	rules, _ := parseRules(cfg.Retention.Rules) // checked when it was loaded
	if len(rules) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	k := retainer{db: db, log: log, last: map[string]string{}}
	go func() {
		defer close(ended)
		k.run(ctx, rules, time.Duration(cfg.Retention.IntervalSeconds)*time.Second)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// A retainer applies rules, again and again.
type retainer struct {
	db   *store.DB
	log  *slog.Logger
	last map[string]string // by rule: the error that was logged last
}

// run applies all rules, rests for the interval, and so on until ctx ends.
func (k *retainer) run(ctx context.Context, rules []retentionRule, interval time.Duration) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		for i := range rules {
			k.apply(ctx, &rules[i])
		}
		timer.Reset(interval)
	}
}

// progressEvery is how often the removal of many events is logged.
const progressEvery = time.Minute

// apply applies one rule and logs what has come of it.
func (k *retainer) apply(ctx context.Context, rule *retentionRule) {
	const removed = "removed events by a rule of retention"
	logged, told := time.Now(), uint64(0)
	sum, err := k.db.Retain(ctx, &rule.Rule, func(so store.Pruned) {
		if time.Since(logged) >= progressEvery {
			k.log.Info(removed, "rule", rule.text, "events", so.Events-told, "more", true)
			logged, told = time.Now(), so.Events
		}
	})
	if n := sum.Events - told; n > 0 {
		k.log.Info(removed, "rule", rule.text, "events", n)
	}
	k.report(ctx, rule.text, sum, err)
}

// report logs what is wrong, once until it changes.
func (k *retainer) report(ctx context.Context, rule string, sum store.Pruned, err error) {
	text := ""
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		text = err.Error()
	case sum.Unreadable > 0:
		text = fmt.Sprintf("%d events cannot be read and stay; see wok check", sum.Unreadable)
	}
	if text != "" && text != k.last[rule] {
		k.log.Warn("a rule of retention was not applied, or not to all", "rule", rule, "error", text)
	}
	k.last[rule] = text
}
