package conformance

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// The files of the suite.
//
//go:embed scripts/*.txt without.txt
var files embed.FS

// A Suite is all rules, in the order of the scripts.
type Suite struct {
	Rules   []*Rule
	Without []Excuse // rules that no script shows
}

// A Rule is one duty of a relay, with the cases that show it.
type Rule struct {
	ID    string // such as 01-R26: the NIP, and a number within it
	Level Level
	Text  string // the duty in one line
	Cases []*Case
	place
}

// A Level says how binding a rule is.
type Level string

// The levels. The first three are the words of the NIPs.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
	// Choice is for what the NIPs leave open: of the ways that are allowed, the
	// one that clients get on with best.
	Choice Level = "CHOICE"
)

// A Case is one conversation.
type Case struct {
	Name  string // "" for the only one of a rule
	Needs []Need
	steps []step
	place
}

// A place is where something stands in the scripts.
type place struct {
	File string
	Line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Load reads the scripts and checks that no rule is missing.
func Load() (*Suite, error) { return load(files) }

func load(fsys fs.FS) (*Suite, error) {
	names, err := fs.Glob(fsys, "scripts/*.txt")
	if err != nil {
		return nil, err
	}
	s := &Suite{}
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		rules, err := parse(name, string(text))
		if err != nil {
			return nil, err
		}
		s.Rules = append(s.Rules, rules...)
	}
	text, err := fs.ReadFile(fsys, "without.txt")
	if err != nil {
		return nil, err
	}
	book, err := parseWithout("without.txt", string(text))
	if err != nil {
		return nil, err
	}
	s.Without = book.excuses
	return s, book.check(s.Rules)
}

// NIP returns the part of a rule's id that names the NIP.
func (r *Rule) NIP() string { return nipOf(r.ID) }

func nipOf(id string) string {
	nip, _, _ := strings.Cut(id, "-")
	return nip
}

// among reports whether the rule is one of those asked for: by its id, the
// number of its NIP, its level, or the name of its script.
func (r *Rule) among(only []string) bool {
	if len(only) == 0 {
		return true
	}
	for _, word := range only {
		switch {
		case strings.EqualFold(word, r.ID), word == r.NIP(),
			strings.EqualFold(word, string(r.Level)),
			word == strings.TrimSuffix(path.Base(r.File), ".txt"):
			return true
		}
	}
	return false
}
