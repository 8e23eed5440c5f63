package planner

import (
	"encoding/json"
	"math"
)

// The JSON of a plan, for programs. Times are in microseconds, shares from 0 to
// 1. Fields may be added; what is there keeps its meaning.
type (
	planJSON struct {
		Filter   string     `json:"filter"` // its shape
		Empty    bool       `json:"empty,omitempty"`
		Events   float64    `json:"events"`  // stored
		Share    float64    `json:"share"`   // of them between since and until
		Matches  float64    `json:"matches"` // expected
		Path     *pathJSON  `json:"path,omitempty"`
		Switched []pathJSON `json:"switched,omitempty"` // gone over to while running: the first of them
		Switches int        `json:"switches,omitempty"` // how often that was
		Rejected []pathJSON `json:"rejected,omitempty"`
	}
	pathJSON struct {
		Micros   float64    `json:"micros"`
		Postings float64    `json:"postings"`
		Seeks    float64    `json:"seeks"`
		Reads    float64    `json:"reads"`
		Terms    []termJSON `json:"terms"` // joined where there are several
		Tests    []string   `json:"tests,omitempty"`
	}
	termJSON struct {
		Name     string `json:"name"`
		Lists    int    `json:"lists"`
		Postings uint64 `json:"postings"`
		Sampled  bool   `json:"sampled,omitempty"`
	}
)

// MarshalJSON returns the plan for programs, with what String shows.
func (p *Plan) MarshalJSON() ([]byte, error) {
	j := planJSON{Filter: p.Filter.Shape(), Empty: p.Empty}
	if p.Empty {
		return json.Marshal(j)
	}
	j.Events, j.Share, j.Matches = p.facts.events, p.facts.share, math.Round(p.facts.matches)
	path := p.Path.json()
	j.Path = &path
	j.Switches = p.switches
	for _, q := range p.switched {
		j.Switched = append(j.Switched, q.json())
	}
	for i := range p.Rejected {
		j.Rejected = append(j.Rejected, p.Rejected[i].json())
	}
	return json.Marshal(j)
}

func (p *Path) json() pathJSON {
	j := pathJSON{
		Micros:   p.Cost.Nanos / 1e3,
		Postings: math.Round(p.Cost.Postings),
		Seeks:    math.Round(p.Cost.Seeks),
		Reads:    math.Round(p.Cost.Reads),
		Tests:    p.tests(),
	}
	for _, t := range p.Terms {
		j.Terms = append(j.Terms, termJSON{t.Name(), t.Lists, t.Postings, t.Sampled})
	}
	return j
}
