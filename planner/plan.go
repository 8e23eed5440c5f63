package planner

import (
	"fmt"
	"strings"

	"wok/nostr"
	"wok/store"
)

// A Plan is the way that was chosen for a filter, and those that were not.
type Plan struct {
	Filter   *nostr.Filter
	Path     Path // the chosen one; unset where Empty
	Rejected []Path
	Empty    bool // the filter can match nothing
}

// plan chooses the narrowest path of a filter.
func plan(tx *store.Txn, f *nostr.Filter) (Plan, error) {
	ps, err := paths(tx, f)
	if err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", f.Shape(), err)
	}
	if len(ps) == 0 {
		return Plan{Filter: f, Empty: true}, nil
	}
	return Plan{Filter: f, Path: ps[0], Rejected: ps[1:]}, nil
}

// Explain returns the plan of a filter without running it.
func Explain(tx *store.Txn, f *nostr.Filter, _ Options) (*Plan, error) {
	p, err := plan(tx, f)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// String returns the plan as text of several lines. It shows the filter's
// shape, never its contents.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "filter  %s\n", p.Filter.Shape())
	if p.Empty {
		b.WriteString("read    nothing: the filter can match no event\n")
		return b.String()
	}
	fmt.Fprintf(&b, "read    %s\n", &p.Path)
	if test := p.Path.tests(); test != "" {
		fmt.Fprintf(&b, "test    %s\n", test)
	}
	for i := range p.Rejected {
		fmt.Fprintf(&b, "instead of  %s\n", &p.Rejected[i])
	}
	return b.String()
}

func (p *Path) String() string {
	more := ""
	if p.Cut {
		more = "+"
	}
	switch {
	case p.keys == nil:
		return fmt.Sprintf("%s: %d looked up, %d found", p.Name, p.Lists, p.Postings)
	case p.Lists == 1:
		return fmt.Sprintf("%s: %d%s postings in one list", p.Name, p.Postings, more)
	}
	return fmt.Sprintf("%s: %d%s postings, merge of %d lists", p.Name, p.Postings, more, p.Lists)
}

// tests names the conditions that the path leaves open and where each is
// tested.
func (p *Path) tests() string {
	var on []string
	f := &p.settled
	if f.Kinds != nil {
		on = append(on, "kind on the posting")
	}
	if f.Authors != nil {
		on = append(on, "author on the posting, then the event")
	}
	for i := range f.Tags {
		on = append(on, fmt.Sprintf("#%c on the event", f.Tags[i].Letter))
	}
	return strings.Join(on, "; ")
}
