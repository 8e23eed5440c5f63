package planner

import (
	"cmp"
	"fmt"
	"slices"

	"wok/nostr"
	"wok/store"
)

// A Plan is the way that was chosen for a filter, and those that were not.
type Plan struct {
	Filter   *nostr.Filter
	Empty    bool   // the filter can match nothing; there is no path
	Path     Path   // the cheapest
	Rejected []Path // the others, the cheaper first

	facts    facts
	switched []*Path // the first paths that were gone over to while running
	switches int     // how often
}

// maxSwitched is how many switches are kept to be shown: a plan that wavers for
// as long as it runs must not fill a log.
const maxSwitched = 8

// turn notes that a scan goes on with q.
func (p *Plan) turn(q *Path) {
	p.switches++
	if len(p.switched) < maxSwitched {
		p.switched = append(p.switched, q)
	}
}

// newPlan prices all paths of a filter; readless says that matches are only
// counted.
func newPlan(tx *store.Txn, f *nostr.Filter, readless bool) (*Plan, error) {
	p := &Plan{Filter: f}
	if p.Empty = f.Never(); p.Empty {
		return p, nil
	}
	if err := p.choose(tx, readless); err != nil {
		return nil, fmt.Errorf("plan %s: %w", f.Shape(), err)
	}
	return p, nil
}

func (p *Plan) choose(tx *store.Txn, readless bool) error {
	ts, err := terms(tx, p.Filter)
	if err != nil {
		return err
	}
	if p.facts, err = learn(tx, p.Filter, ts, readless); err != nil {
		return err
	}
	all := paths(p.Filter, ts)
	for i := range all {
		all[i].Cost = all[i].price(&p.facts, 1, p.facts.matches, p.facts.limit)
	}
	slices.SortStableFunc(all, func(a, b Path) int { return cmp.Compare(a.Cost.Nanos, b.Cost.Nanos) })
	p.Path, p.Rejected = all[0], all[1:]
	return nil
}

// all returns every path of the plan.
func (p *Plan) all() []*Path {
	all := make([]*Path, 0, 1+len(p.Rejected))
	all = append(all, &p.Path)
	for i := range p.Rejected {
		all = append(all, &p.Rejected[i])
	}
	return all
}

// Explain returns the plan of a filter without running it.
func Explain(tx *store.Txn, f *nostr.Filter, _ Options) (*Plan, error) { return newPlan(tx, f, false) }
