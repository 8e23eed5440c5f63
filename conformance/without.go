package conformance

import (
	"fmt"
	"strconv"
	"strings"
)

// An Excuse is a rule that no script shows, and why.
type Excuse struct {
	ID     string
	Level  Level
	Text   string
	Reason string
}

// A book is the list of all rules that have to be in the suite.
type book struct {
	counts  []count
	excuses []Excuse
}

// A count says that the rules of a NIP are R1 to Rn.
type count struct {
	nip string
	n   int
}

// parseWithout reads without.txt:
//
//	nip 09 9                   there are rules 09-R1 to 09-R9
//	09-R1 MUST text of a rule  one of them that no script shows
//	  because reason           and why
func parseWithout(file, text string) (*book, error) {
	b := &book{}
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		bad := func(why string) error { return fmt.Errorf("%s:%d: %s", file, i+1, why) }
		switch {
		case word == "" || word == "#":
		case word == "nip":
			nip, number, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(number)
			if err != nil {
				return nil, bad("a nip and the number of its rules are wanted")
			}
			b.counts = append(b.counts, count{nip, n})
		case word == "because":
			if len(b.excuses) == 0 || rest == "" {
				return nil, bad("a reason without a rule, or none")
			}
			b.excuses[len(b.excuses)-1].Reason = rest
		default:
			r, err := parseRule(word + " " + rest)
			if err != nil {
				return nil, bad(err.Error())
			}
			b.excuses = append(b.excuses, Excuse{ID: r.ID, Level: r.Level, Text: r.Text})
		}
	}
	return b, nil
}

// check compares the book with the rules that have scripts: each rule must be
// in one place, and none may be in both.
func (b *book) check(rules []*Rule) error {
	where := map[string]string{}
	for _, r := range rules {
		if other, twice := where[r.ID]; twice {
			return fmt.Errorf("%s: rule %s is in %s as well", r.place, r.ID, other)
		}
		where[r.ID] = r.String()
	}
	for _, e := range b.excuses {
		if e.Reason == "" {
			return fmt.Errorf("without.txt: rule %s has no reason", e.ID)
		}
		if other, twice := where[e.ID]; twice {
			return fmt.Errorf("without.txt: rule %s is in %s as well", e.ID, other)
		}
		where[e.ID] = "without.txt"
	}
	for _, c := range b.counts {
		for i := range c.n {
			id := fmt.Sprintf("%s-R%d", c.nip, i+1)
			if where[id] == "" {
				return fmt.Errorf("rule %s has neither a script nor a reason in without.txt", id)
			}
			delete(where, id)
		}
	}
	for id, at := range where {
		return fmt.Errorf("%s: there is no rule %s; without.txt says how many there are", at, id)
	}
	return nil
}
