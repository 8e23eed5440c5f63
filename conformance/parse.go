package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// A step is one line of a case, with those that belong to it.
type step struct {
	client string // "" is the first one
	verb   string
	text   string
	// more are the lines that go on with what this one expects: & or | after
	// <, = after http.
	more []step
	place
}

// continues lists which verbs a line may go on with.
var continues = map[string][]string{
	"<": {"&", "|"}, "<=": {"&", "|"},
	"http": {"="},
}

// A parser reads one script. What it reads goes to the inner of the scopes
// that are open: file, rule, case.
type parser struct {
	rules []*Rule
	rule  *Rule
	needs []Need // of the file
	setup Case   // of the rule: what all its cases begin with
	named bool   // the rule has cases with names
}

// parse reads a script. docs/conformance.md has the language.
func parse(file, text string) ([]*Rule, error) {
	p := &parser{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := place{file, i + 1}
		if err := p.line(line, at); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	p.endRule()
	return p.rules, nil
}

func (p *parser) line(line string, at place) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "rule":
		p.endRule()
		r, err := parseRule(rest)
		if err != nil {
			return err
		}
		r.place = at
		p.rule, p.named = r, false
		p.setup = Case{Needs: slices.Clone(p.needs), place: at}
		p.rules = append(p.rules, r)
		return nil
	case "case":
		if p.rule == nil {
			return fmt.Errorf("a case outside of a rule")
		}
		p.named = true
		p.rule.Cases = append(p.rule.Cases, &Case{
			Name: rest, place: at,
			Needs: slices.Clone(p.setup.Needs), steps: slices.Clone(p.setup.steps),
		})
		return nil
	case "needs":
		need, err := parseNeed(rest)
		if err != nil {
			return err
		}
		p.addNeed(need)
		return nil
	}
	return p.step(line, at)
}

// endRule closes a rule; one without names for its cases has one case.
func (p *parser) endRule() {
	if p.rule != nil && !p.named {
		only := p.setup
		p.rule.Cases = []*Case{&only}
	}
}

// here returns the case that lines go to.
func (p *parser) here() *Case {
	if p.named {
		return p.rule.Cases[len(p.rule.Cases)-1]
	}
	return &p.setup
}

func (p *parser) addNeed(n Need) {
	if p.rule == nil {
		p.needs = append(p.needs, n)
		return
	}
	p.here().Needs = append(p.here().Needs, n)
}

// step reads a line of the conversation: [client]verb text.
func (p *parser) step(line string, at place) error {
	rest := strings.TrimLeft(line, "0123456789")
	s := step{client: line[:len(line)-len(rest)], place: at}
	s.verb, s.text, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	if p.rule == nil {
		return fmt.Errorf("%q outside of a rule", s.verb)
	}
	c := p.here()
	if s.verb == "&" || s.verb == "|" || s.verb == "=" {
		if len(c.steps) == 0 {
			return fmt.Errorf("nothing before %q", s.verb)
		}
		last := &c.steps[len(c.steps)-1]
		if !slices.Contains(continues[last.verb], s.verb) || s.client != "" && s.client != last.client {
			return fmt.Errorf("%q cannot follow %q", s.verb, last.verb)
		}
		last.more = append(slices.Clone(last.more), s)
		return nil
	}
	if verbs[s.verb] == nil {
		return fmt.Errorf("what is %q?", s.verb)
	}
	c.steps = append(c.steps, s)
	return nil
}

// parseRule reads what stands after the word rule: ID LEVEL text.
func parseRule(text string) (*Rule, error) {
	id, rest, _ := strings.Cut(text, " ")
	level, text, _ := strings.Cut(rest, " ")
	r := &Rule{ID: id, Level: Level(level), Text: text}
	if nip, number, ok := strings.Cut(id, "-R"); !ok || nip == "" || number == "" {
		return nil, fmt.Errorf("%q is no id of a rule, such as 01-R26", id)
	}
	if !slices.Contains([]Level{Must, Should, May, Choice}, r.Level) {
		return nil, fmt.Errorf("rule %s has no level MUST, SHOULD, MAY or CHOICE", id)
	}
	if text == "" {
		return nil, fmt.Errorf("rule %s has no text", id)
	}
	return r, nil
}
