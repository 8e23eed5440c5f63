package planner

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"wok/index"
	"wok/internal/testdb"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

var tableDB = flag.String("table.db", "", "database of generated events to print the table of queries for (make bench-query)")

// A shape is a query as clients put it.
type shape struct {
	name   string
	filter map[string]any
}

// A world is what the shapes ask for, found in the database.
type world struct {
	tx *store.Txn

	authors []string // by number of notes, the busiest first
	tags    map[byte][]packed.Tag
	ids     []string // taken evenly
	oldest  uint64
	newest  uint64
	events  uint64
}

// explore reads the database once.
func explore(tx *store.Txn) (*world, error) {
	w := &world{tx: tx, tags: map[byte][]packed.Tag{}, oldest: ^uint64(0)}
	var err error
	if w.events, err = tx.Events(); err != nil {
		return nil, err
	}
	n := uint64(0)
	err = tx.EachEvent(1, func(_ uint64, v packed.View) error {
		if n++; n%(w.events/100) == 0 {
			w.ids = append(w.ids, hex.EncodeToString(v.ID()))
		}
		w.oldest, w.newest = min(w.oldest, v.CreatedAt()), max(w.newest, v.CreatedAt())
		return nil
	})
	if err != nil {
		return nil, err
	}
	type counted struct {
		key []byte
		n   uint64
	}
	byLength := func(a, b counted) int { return cmp.Compare(b.n, a.n) }
	var notes []counted
	tags := map[byte][]counted{}
	err = tx.EachKey(index.ByPubkeyKind, func(key []byte, n uint64) error {
		if binary.BigEndian.Uint16(key[32:]) == 1 {
			notes = append(notes, counted{slices.Clone(key[:32]), n})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = tx.EachKey(index.ByTag, func(key []byte, n uint64) error {
		if n > 20 {
			l := packed.Tag(key).Letter()
			tags[l] = append(tags[l], counted{slices.Clone(key), n})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(notes, byLength)
	for _, c := range notes {
		w.authors = append(w.authors, hex.EncodeToString(c.key))
	}
	for l, cs := range tags {
		slices.SortFunc(cs, byLength)
		for _, c := range cs {
			w.tags[l] = append(w.tags[l], c.key)
		}
	}
	return w, nil
}

// value returns the value of the tag of a letter that comes n-th by use.
func (w *world) value(letter byte, n int) string {
	t := w.tags[letter][min(n, len(w.tags[letter])-1)]
	if t.Form() == packed.Hex {
		return hex.EncodeToString(t.Value())
	}
	return string(t.Value())
}

// at returns the time at a share of the whole span.
func (w *world) at(share float64) uint64 {
	return w.oldest + uint64(share*float64(w.newest-w.oldest))
}

// shapes returns the queries of the table.
func (w *world) shapes() []shape {
	type m = map[string]any
	hot, rare := w.authors[:500], w.authors[len(w.authors)-500:]
	everyone := w.authors[:min(5000, len(w.authors))]
	hotTag, hotP, hotE := w.value('t', 0), w.value('p', 0), w.value('e', 0)
	return []shape{
		{"one id", m{"ids": w.ids[:1]}},
		{"100 ids", m{"ids": w.ids[:min(100, len(w.ids))]}},
		{"profiles of 100", m{"authors": w.authors[:100], "kinds": []int{0}}},
		{"feed of 500 hot, 50", m{"authors": hot, "kinds": []int{1, 6}, "limit": 50}},
		{"feed of 500 hot, 500", m{"authors": hot, "kinds": []int{1, 6}, "limit": 500}},
		{"feed of 500 rare, 50", m{"authors": rare, "kinds": []int{1, 6}, "limit": 50}},
		{"feed of 500 rare, 500", m{"authors": rare, "kinds": []int{1, 6}, "limit": 500}},
		{"notifications", m{"#p": []string{hotP}, "kinds": []int{1, 6, 7, 9735}, "limit": 100}},
		{"notifications, since", m{"#p": []string{hotP}, "kinds": []int{1, 6, 7, 9735}, "limit": 100, "since": w.at(0.9)}},
		{"reactions of a thread", m{"#e": []string{hotE}, "kinds": []int{7}}},
		{"hashtag + kind", m{"#t": []string{hotTag}, "kinds": []int{1}, "limit": 50}},
		{"hashtag + rare author", m{"#t": []string{hotTag}, "authors": rare[:1], "limit": 50}},
		{"hashtag + hot author", m{"#t": []string{hotTag}, "authors": hot[:1], "limit": 50}},
		{"#t + #p", m{"#t": []string{hotTag}, "#p": []string{hotP}, "limit": 50}},
		{"#t + #p, both rarer", m{"#t": []string{w.value('t', 20)}, "#p": []string{w.value('p', 20)}, "limit": 50}},
		{"one address, d of 10,000", m{"authors": []string{testdb.Key(addressKey).Pubkey()}, "kinds": []int{30078}, "#d": []string{sharedD}}},
		{"100 addresses of that d", m{"authors": w.sharers(100), "kinds": []int{30078}, "#d": []string{sharedD}}},
		{"rare kind, 20", m{"kinds": []int{1984}, "limit": 20}},
		{"newest 500", m{"limit": 500}},
		{"window in the middle", m{"since": w.at(0.4), "until": w.at(0.6), "limit": 500}},
		{"5,000 authors x 3 kinds", m{"authors": everyone, "kinds": []int{1, 6, 7}, "limit": 500}},
		{"2,000 #e", m{"#e": w.values('e', 2000), "kinds": []int{7}, "limit": 500}},
		{"nothing", m{"authors": []string{strings.Repeat("0", 64)}, "#t": []string{hotTag}}},
		{"newest 1 of an author", m{"authors": hot[:1], "limit": 1}},
	}
}

func (w *world) sharers(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = testdb.Key(addressKey + i).Pubkey()
	}
	return keys
}

func (w *world) values(letter byte, n int) []string {
	list := make([]string, min(n, len(w.tags[letter])))
	for i := range list {
		list[i] = w.value(letter, i)
	}
	return list
}

const (
	sharedD    = "shared-by-many"
	sharers    = 10_000
	addressKey = 1_000_000 // the first key of those who share a d
)

// share stores an address of one d for each of many authors.
func share(t testing.TB, db *store.DB) {
	err := db.Update(func(b *store.Batch) error {
		for i := range sharers {
			line := testdb.Sign(addressKey+i, testdb.Event{Kind: 30078, CreatedAt: 1_700_000_000 + int64(i), Tags: [][]string{{"d", sharedD}}})
			ev, err := nostr.ParseEvent(line, nostr.Limits{})
			if err != nil {
				return err
			}
			if st, err := b.Put(ev); err != nil || st == store.Duplicate {
				return err // it was done before
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTable prints what queries of all shapes do and how long they take. The
// database is given; without one there is nothing to test.
func TestTable(t *testing.T) {
	if *tableDB == "" {
		t.Skip("no database given; make bench-query makes one")
	}
	db, err := store.Open(store.Options{Dir: *tableDB})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	share(t, db)
	out := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
	defer out.Flush()
	fmt.Fprintln(out, "query\tplan\tevents\tpostings\tpages\tseeks\treads\tp50\tp99\tbest forced\tCOUNT\twork\tp50")
	err = db.View(context.Background(), func(tx *store.Txn) error {
		w, err := explore(tx)
		if err != nil {
			return err
		}
		for _, s := range w.shapes() {
			if err := w.row(out, s); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		return w.pages(out)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A measured query is what it did and how long its runs took.
type measured struct {
	events   int
	work     Work
	p50, p99 time.Duration
	plan     *Plan
}

const tableRuns = 101

// run measures a filter; force, unless nil, changes the plan before it runs.
func (w *world) run(f *nostr.Filter, force func(*Query)) (m measured, err error) {
	times := make([]time.Duration, 0, tableRuns)
	for range tableRuns {
		start := time.Now()
		q, err := New(w.tx, []*nostr.Filter{f}, Options{})
		if err != nil {
			return m, err
		}
		if force != nil {
			force(q)
		}
		m.events = 0
		if _, err := q.Run(w.tx, Budget{}, func(uint64, packed.View) bool { m.events++; return true }); err != nil {
			return m, err
		}
		times = append(times, time.Since(start))
		m.work, m.plan = q.Work(), q.Plans()[0]
		if time.Duration(len(times))*times[0] > 2*time.Second {
			break
		}
	}
	slices.Sort(times)
	m.p50, m.p99 = times[len(times)/2], times[len(times)*99/100]
	return m, nil
}

// row prints one line of the table.
func (w *world) row(out *tabwriter.Writer, s shape) error {
	text, err := json.Marshal(s.filter)
	if err != nil {
		return err
	}
	f, err := nostr.ParseFilter(text, nostr.FilterLimits{})
	if err != nil {
		return err
	}
	m, err := w.run(f, nil)
	if err != nil {
		return err
	}
	best, bestPath := m.p50, "-"
	for way := range m.plan.all() {
		var path string
		forced, err := w.run(f, func(q *Query) {
			p := q.scans[0].plan
			path = p.all()[way].names()
			p.Path, p.Rejected = *p.all()[way], nil
			q.scans[0] = newScan(p, f.Limit)
		})
		if err != nil {
			return err
		}
		if forced.p50 < best {
			best, bestPath = forced.p50, path
		}
	}
	n, work, p50, err := w.count(f)
	if err != nil {
		return err
	}
	names := m.plan.Path.names()
	for _, p := range m.plan.switched {
		names += " > " + p.names()
	}
	fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s %.2f\t%d\t%d/%d/%d\t%s\n", s.name, names, m.events,
		m.work.Postings, m.work.Pages, m.work.Seeks, m.work.Reads, round(m.p50), round(m.p99),
		bestPath, float64(m.p50)/float64(best), n, work.Postings, work.Seeks, work.Reads, round(p50))
	return nil
}

func (w *world) count(f *nostr.Filter) (n uint64, work Work, p50 time.Duration, err error) {
	var times []time.Duration
	for range 11 {
		start := time.Now()
		c, err := NewCount(w.tx, []*nostr.Filter{f}, Options{})
		if err != nil {
			return 0, work, 0, err
		}
		if _, err := c.Run(w.tx, Budget{}); err != nil {
			return 0, work, 0, err
		}
		times = append(times, time.Since(start))
		n, work = c.Count().N, c.Work()
	}
	slices.Sort(times)
	return n, work, times[len(times)/2], nil
}

// pages prints the cost of the first and the 50th page of 500 events, each asked
// for by the time at which the one before ended.
func (w *world) pages(out *tabwriter.Writer) error {
	until := w.at(0.8)
	for page := 1; page <= 50; page++ {
		f := nostr.NewFilter()
		f.Until, f.Limit = until, 500
		m, err := w.run(f, nil)
		if err != nil {
			return err
		}
		if page == 1 || page == 50 {
			fmt.Fprintf(out, "page %d, 500 each\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", page, m.plan.Path.names(), m.events,
				m.work.Postings, m.work.Pages, m.work.Seeks, m.work.Reads, round(m.p50), round(m.p99))
		}
		q, err := New(w.tx, []*nostr.Filter{f}, Options{})
		if err != nil {
			return err
		}
		if _, err := q.Run(w.tx, Budget{}, func(_ uint64, v packed.View) bool { until = v.CreatedAt(); return true }); err != nil {
			return err
		}
	}
	return nil
}

// names returns the names of a path's terms.
func (p *Path) names() string {
	var names []string
	for i := range p.Terms {
		names = append(names, p.Terms[i].Name())
	}
	return strings.Join(names, " & ")
}

func round(d time.Duration) time.Duration { return d.Round(max(1, d/100)) }
