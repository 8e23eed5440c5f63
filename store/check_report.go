package store

import (
	"fmt"
	"strings"

	"wok/index"
	"wok/internal/lmdbx"
)

// A Class is a sort of problem.
type Class uint8

// What can be wrong with a row.
const (
	BadKey     Class = iota // its key cannot be right
	BadValue                // its value cannot be right
	Missing                 // an event should have it and it is not there
	Wrong                   // it is there for another event than it should be
	Extra                   // no event has it
	Undead                  // the event should have been deleted
	Miscounted              // the table counts more or fewer rows than it has
	Forged                  // its signature is wrong
	Broken                  // a page of the file cannot be right
	classes
)

var classNames = [classes]string{"bad key", "bad value", "missing", "wrong", "extra", "undead", "miscounted", "forged", "broken"}

func (c Class) String() string {
	if c < classes {
		return classNames[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// A Problem is one row that is not as it should be, or one page.
type Problem struct {
	Class Class
	Table index.TableID // of no meaning for a broken page
	Key   []byte        // nil where the whole table is meant
	What  string
}

// String returns the problem as one line:
//
//	missing: table kind, key 0001: posting of event 7 is missing
func (p Problem) String() string {
	if p.Class == Broken {
		return fmt.Sprintf("%s: %s", p.Class, p.What)
	}
	return fmt.Sprintf("%s: table %s%s: %s", p.Class, index.Tables[p.Table].Name, showKey(p.Table, p.Key), p.What)
}

func showKey(table index.TableID, key []byte) string {
	switch {
	case key == nil:
		return ""
	case index.Tables[table].IntegerKey && len(key) == 8:
		return fmt.Sprintf(", key %d", lmdbx.Int(key))
	case table == index.TableMeta:
		return fmt.Sprintf(", key %q", key)
	}
	return fmt.Sprintf(", key %x", key)
}

// describe names a value of a table that has postings or levIds.
func describe(table index.TableID, val []byte) string {
	switch {
	case table == index.TableExpiration && len(val) == 8:
		return fmt.Sprintf("event %d", lmdbx.Int(val))
	case table != index.TableEventPayload && len(val) == index.PostingSize:
		return fmt.Sprintf("posting (%s)", index.ReadPosting(val))
	}
	return fmt.Sprintf("a value of %d bytes", len(val))
}

// A Report is what a check has found.
type Report struct {
	Events   uint64          // looked at
	Rows     uint64          // in all tables whose rows belong to events
	Hidden   uint64          // times that a row could not be looked up for a broken page
	Lost     uint64          // pages that belong to nothing: wasted, not harmful
	Counts   [classes]uint64 // problems by class
	Problems []Problem       // the first of them, up to CheckOptions.Limit
}

// add notes a problem and lists it within the limit.
func (r *Report) add(limit int, p Problem) {
	r.Counts[p.Class]++
	if len(r.Problems) < limit {
		r.Problems = append(r.Problems, p)
	}
}

// OK reports whether there was no problem.
func (r *Report) OK() bool { return r.Total() == 0 }

// Total returns the number of problems.
func (r *Report) Total() uint64 {
	n := uint64(0)
	for _, c := range r.Counts {
		n += c
	}
	return n
}

// String returns the report for a person: a summary, and a line for each
// problem listed.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events, %d rows, ", r.Events, r.Rows)
	if r.OK() {
		b.WriteString("no problems\n")
		return b.String()
	}
	fmt.Fprintf(&b, "%d problems", r.Total())
	for class, n := range r.Counts {
		if n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, Class(class))
		}
	}
	if r.Hidden > 0 {
		fmt.Fprintf(&b, ", %d rows hidden by broken pages", r.Hidden)
	}
	b.WriteByte('\n')
	for _, p := range r.Problems {
		b.WriteString(p.String())
		b.WriteByte('\n')
	}
	if more := r.Total() - uint64(len(r.Problems)); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return b.String()
}
