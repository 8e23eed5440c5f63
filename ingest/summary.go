package ingest

import (
	"cmp"
	"slices"
)

// A Summary says what an import came to.
type Summary struct {
	Bytes    int64            // read
	Lines    int              // read, blank ones included
	Outcomes [outcomes]uint64 // of the lines that are not blank
	Reasons  []Reason         // why events were invalid, blocked or failed; most frequent first
}

// A Reason says how often something kept an event out, and where.
type Reason struct {
	Text  string // as the author of such an event is told
	Count uint64
	Lines []int // the first of them, up to maxReasonLines, from 1
}

const (
	maxReasons     = 100 // there are about forty; a bound all the same
	maxReasonLines = 10
)

// Events returns how many lines held something.
func (s *Summary) Events() uint64 {
	n := uint64(0)
	for _, c := range s.Outcomes {
		n += c
	}
	return n
}

// Rejected returns how many lines were refused for what they are.
func (s *Summary) Rejected() uint64 { return s.Outcomes[Invalid] + s.Outcomes[Blocked] }

// count adds the answer to a line.
func (s *Summary) count(line int, res Result) {
	s.Outcomes[res.Outcome]++
	switch res.Outcome {
	case Invalid, Blocked, Failed:
		s.reason(res.Class).note(line)
	}
}

// reason returns the entry of a text, nil where there are too many.
func (s *Summary) reason(text string) *Reason {
	i := slices.IndexFunc(s.Reasons, func(r Reason) bool { return r.Text == text })
	if i < 0 && len(s.Reasons) == maxReasons {
		return nil
	}
	if i < 0 {
		i = len(s.Reasons)
		s.Reasons = append(s.Reasons, Reason{Text: text})
	}
	return &s.Reasons[i]
}

// note counts a line. Lines come in nearly their order.
func (r *Reason) note(line int) {
	if r == nil {
		return
	}
	r.Count++
	i, _ := slices.BinarySearch(r.Lines, line)
	r.Lines = slices.Insert(r.Lines, i, line)
	r.Lines = r.Lines[:min(len(r.Lines), maxReasonLines)]
}

// sort puts the most frequent reasons first, and those alike by their line.
func (s *Summary) sort() {
	slices.SortFunc(s.Reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Lines[0], b.Lines[0]))
	})
}
