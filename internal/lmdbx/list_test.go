package lmdbx_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"wok/index"
	"wok/internal/lmdbx"
)

// pagePostings is how many postings a page of 4 KiB holds behind its header.
const pagePostings = 255

var sizes = []int{1, 2, 100, 128, 129, 254, 255, 256, 511, 5000, 300_000}

// TestListNext walks lists of all sizes: inside the page of the key, on one
// page, on many.
func TestListNext(t *testing.T) {
	env := open(t, lmdbx.Options{})
	for _, n := range sizes {
		putList(t, env, key(n), ascending(n), 1000)
	}
	for _, n := range sizes {
		read(t, env, func(x *lmdbx.Txn) error {
			if got, err := x.Length(postings, key(n)); err != nil || got != uint64(n) {
				t.Errorf("the list of %d has length %d (%v)", n, got, err)
			}
			l := x.List(postings, key(n))
			got, err := walk(&l)
			if err != nil || !slices.Equal(got, descending(ascending(n))) {
				t.Errorf("the list of %d is walked as %d postings (%v)", n, len(got), err)
			}
			if ok, err := l.Next(); ok || err != nil || !l.Done() {
				t.Errorf("past the end of %d: %v (%v), done %v", n, ok, err, l.Done())
			}
			if ok, err := l.Seek(index.Oldest); ok || err != nil {
				t.Errorf("seek past the end of %d: %v (%v)", n, ok, err)
			}
			return nil
		})
	}
}

// TestListPages takes lists a page at a time, from the end and from within, also
// where another list has moved the cursor meanwhile.
func TestListPages(t *testing.T) {
	env := open(t, lmdbx.Options{})
	for _, n := range sizes {
		putList(t, env, key(n), ascending(n), 1000)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for _, n := range sizes {
		for _, from := range []int{n - 1, rng.IntN(n), 0} {
			read(t, env, func(x *lmdbx.Txn) error {
				l, pages := x.List(postings, key(n)), 0
				var got []index.Posting
				ok, err := l.Seek(posting(from))
				for ; ok && err == nil; ok, err = l.NextPage() {
					pages++
					page := l.Page()
					for at := len(page) - index.PostingSize; at >= 0; at -= index.PostingSize {
						got = append(got, index.ReadPosting(page[at:]))
					}
					if rng.IntN(4) == 0 {
						if _, err := x.Length(postings, key(1)); err != nil {
							return err
						}
					}
				}
				if err != nil || !slices.Equal(got, descending(ascending(from+1))) {
					t.Errorf("%d of %d: %d postings in %d pages (%v)", from, n, len(got), pages, err)
				}
				if most := 2 + from*2/pagePostings; pages > most {
					t.Errorf("%d of %d: %d pages of at most %d", from, n, pages, most)
				}
				return nil
			})
		}
	}
}

func key(n int) []byte { return fmt.Appendf(nil, "list of %d", n) }

// TestListMissing: a key that is not there is an empty list, in an empty table
// and between others.
func TestListMissing(t *testing.T) {
	env := open(t, lmdbx.Options{})
	check := func() {
		t.Helper()
		read(t, env, func(x *lmdbx.Txn) error {
			for _, bound := range []index.Posting{index.Newest, posting(1), index.Oldest} {
				l := x.List(postings, []byte("list of 3"))
				if ok, err := l.Seek(bound); ok || err != nil || !l.Done() {
					t.Errorf("seek: %v (%v)", ok, err)
				}
			}
			l := x.List(postings, []byte("list of 3"))
			if ok, err := l.Next(); ok || err != nil || !l.Done() {
				t.Errorf("next: %v (%v)", ok, err)
			}
			if n, err := x.Length(postings, []byte("list of 3")); n != 0 || err != nil {
				t.Errorf("length %d (%v)", n, err)
			}
			return nil
		})
	}
	check()
	for _, n := range []int{2, 30, 400} {
		putList(t, env, key(n), ascending(n), n)
	}
	check()
}

// TestListSeek seeks, from a new list and from further up, to every posting,
// to the gaps around it and beyond both ends.
func TestListSeek(t *testing.T) {
	env := open(t, lmdbx.Options{})
	for _, n := range sizes {
		putList(t, env, key(n), ascending(n), 700)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range sizes {
		targets := []index.Posting{index.Newest, index.Oldest, {Hi: 0, Lo: 9}, {Hi: 0, Lo: 10}, {Hi: uint64(n), Lo: 0}}
		for i := range n {
			if n > 5000 && i%pagePostings > 2 && rng.IntN(200) > 0 {
				continue // all of the large one would take too long
			}
			p := posting(i)
			targets = append(targets, p, index.Posting{Hi: p.Hi, Lo: p.Lo + 1}, p.Prev())
		}
		all := ascending(n)
		read(t, env, func(x *lmdbx.Txn) error {
			for _, target := range targets {
				fresh := newTracked(x, key(n), all)
				fresh.seek(t, target)
				fresh.next(t)
				moved := newTracked(x, key(n), all)
				moved.seek(t, posting(n-1-rng.IntN(min(n, 600))))
				moved.seek(t, target)
				moved.next(t)
				moved.next(t)
			}
			return nil
		})
	}
}

// A tracked list is walked beside the slice it should be, and fails the test
// where the two part.
type tracked struct {
	list lmdbx.List
	all  []index.Posting // ascending
	at   int             // where the list stands: len(all) before it begins, -1 at its end
}

func newTracked(x *lmdbx.Txn, key []byte, all []index.Posting) *tracked {
	return &tracked{list: x.List(postings, key), all: all, at: len(all)}
}

func (l *tracked) next(t *testing.T) {
	t.Helper()
	l.at = max(-1, l.at-1)
	got, err := l.list.Next()
	l.compare(t, "next", got, err)
}

func (l *tracked) seek(t *testing.T, p index.Posting) {
	t.Helper()
	if n := l.at; n == len(l.all) || n >= 0 && p.Less(l.all[n]) {
		l.at = sort.Search(len(l.all), func(i int) bool { return p.Less(l.all[i]) }) - 1
	}
	got, err := l.list.Seek(p)
	l.compare(t, "seek "+p.String(), got, err)
}

func (l *tracked) compare(t *testing.T, what string, got bool, err error) {
	t.Helper()
	want := l.at >= 0
	switch {
	case err != nil || got != want || l.list.Done() == want:
		t.Fatalf("%s in %q: %v (%v), want %v", what, l.list.Key(), got, err, want)
	case want && l.list.Posting() != l.all[l.at]:
		t.Fatalf("%s in %q: at %s, want %s", what, l.list.Key(), l.list.Posting(), l.all[l.at])
	}
}

// TestListsTogether moves many lists of one table at random. They share one
// cursor, and they are moved in memory, as a growing slice and a heap do.
func TestListsTogether(t *testing.T) {
	env := open(t, lmdbx.Options{})
	counts := []int{1, 2, 40, 129, 255, 256, 1000, 5000, 20_000}
	for _, n := range counts {
		putList(t, env, key(n), ascending(n), 300)
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		read(t, env, func(x *lmdbx.Txn) error {
			var lists []tracked
			for range 3000 {
				switch rng.IntN(40) {
				case 0:
					n := counts[rng.IntN(len(counts))]
					lists = append(lists, *newTracked(x, key(n), ascending(n)))
				case 1:
					rng.Shuffle(len(lists), func(i, j int) { lists[i], lists[j] = lists[j], lists[i] })
				case 2:
					if len(lists) > 30 {
						lists = slices.Delete(lists, 0, 10)
					}
				case 3:
					if _, err := x.Length(postings, key(5000)); err != nil {
						t.Fatal(err)
					}
				}
				if len(lists) == 0 {
					continue
				}
				l := &lists[rng.IntN(len(lists))]
				if rng.IntN(3) > 0 {
					l.next(t)
					continue
				}
				l.seek(t, posting(l.at-rng.IntN(600)+50))
			}
			return nil
		})
	}
}

// TestListResumes pauses at every posting, lets others write above and below,
// and goes on in a new transaction from the posting alone.
func TestListResumes(t *testing.T) {
	env := open(t, lmdbx.Options{})
	k := key(0)
	all := ascending(700)
	putList(t, env, k, all, 700)
	var got []index.Posting
	bound := index.Newest
	for i := 0; ; i++ {
		done := false
		read(t, env, func(x *lmdbx.Txn) error {
			l := x.List(postings, k)
			ok, err := l.Seek(bound)
			for n := 0; ok && err == nil && n < 1+i%7; n++ {
				got = append(got, l.Posting())
				bound = l.Posting().Prev()
				ok, err = l.Next()
			}
			done = !ok
			return err
		})
		if done {
			break
		}
		update(t, env, func(x *lmdbx.Txn) error {
			if err := x.PutPostings(postings, k, stored([]index.Posting{posting(1000 + i)})); err != nil {
				return err
			}
			_, err := x.Delete(postings, k, stored(got[len(got)-1:])) // the one it stood on
			return err
		})
	}
	if !slices.Equal(got, descending(all)) {
		t.Errorf("walked %d postings of %d", len(got), len(all))
	}
}

// TestListWork pins what a walk costs.
func TestListWork(t *testing.T) {
	env := open(t, lmdbx.Options{})
	const long = 10 * pagePostings
	for _, n := range []int{1, 100, pagePostings, long} {
		putList(t, env, key(n), ascending(n), n)
	}
	other := []byte("other")
	putList(t, env, other, ascending(long), long)
	tests := []struct {
		name string
		do   func(x *lmdbx.Txn)
		want lmdbx.Work
	}{
		{"length", func(x *lmdbx.Txn) { x.Length(postings, key(long)) }, lmdbx.Work{Seeks: 1}},
		{"missing", func(x *lmdbx.Txn) { l := x.List(postings, []byte("no")); l.Next() }, lmdbx.Work{Seeks: 1}},
		{"all of 1", func(x *lmdbx.Txn) { l := x.List(postings, key(1)); walk(&l) }, lmdbx.Work{Seeks: 1, Pages: 1}},
		{"all of 100", func(x *lmdbx.Txn) { l := x.List(postings, key(100)); walk(&l) }, lmdbx.Work{Seeks: 1, Pages: 1}},
		{"all of a page", func(x *lmdbx.Txn) { l := x.List(postings, key(pagePostings)); walk(&l) }, lmdbx.Work{Seeks: 1, Pages: 1}},
		{"all of ten pages", func(x *lmdbx.Txn) { l := x.List(postings, key(long)); walk(&l) }, lmdbx.Work{Seeks: 2, Pages: 10}},
		{"to the middle", func(x *lmdbx.Txn) { l := x.List(postings, key(long)); l.Seek(posting(long / 2)) }, lmdbx.Work{Seeks: 2, Pages: 1}},
		{"within a page", func(x *lmdbx.Txn) {
			l := x.List(postings, key(long))
			for i := range 200 {
				l.Seek(posting(long - 1 - i))
			}
		}, lmdbx.Work{Seeks: 2, Pages: 1}},
		{"to a gap between pages", func(x *lmdbx.Txn) {
			l := x.List(postings, key(long))
			l.Seek(posting(pagePostings).Prev())
		}, lmdbx.Work{Seeks: 2, Pages: 2}},
		{"below the end", func(x *lmdbx.Txn) {
			l := x.List(postings, key(long))
			l.Seek(index.Oldest)
		}, lmdbx.Work{Seeks: 2, Pages: 1}},
		{"two in turn", func(x *lmdbx.Txn) {
			a, b := x.List(postings, key(long)), x.List(postings, other)
			for {
				okA, _ := a.Next()
				okB, _ := b.Next()
				if !okA && !okB {
					return
				}
			}
			// A list that comes back to the cursor finds its page again, once a
			// page: the old one and the one below.
		}, lmdbx.Work{Seeks: 2*2 + 2*10, Pages: 2*10 + 2*10}},
	}
	for _, test := range tests {
		read(t, env, func(x *lmdbx.Txn) error {
			test.do(x)
			if x.Work != test.want {
				t.Errorf("%s: work %+v, want %+v", test.name, x.Work, test.want)
			}
			return nil
		})
	}
}

// TestPutPostings puts lists together in random order and cuts, twice over, and
// expects them whole.
func TestPutPostings(t *testing.T) {
	for seed := range uint64(30) {
		env := open(t, lmdbx.Options{})
		rng := rand.New(rand.NewPCG(seed, 3))
		want := ascending(1 + rng.IntN(3000))
		ps := append(slices.Clone(want), want[:rng.IntN(len(want))]...)
		disorder := 1 + rng.IntN(len(ps)) // how far a posting lies from its place
		for i := range ps {
			j := min(len(ps)-1, i+rng.IntN(disorder))
			ps[i], ps[j] = ps[j], ps[i]
		}
		for len(ps) > 0 {
			n := 1 + rng.IntN(min(len(ps), 200))
			part := slices.Clone(ps[:n])
			ps = ps[n:]
			slices.SortFunc(part, index.Posting.Compare)
			putList(t, env, key(0), slices.Compact(part), n)
		}
		read(t, env, func(x *lmdbx.Txn) error {
			l := x.List(postings, key(0))
			got, err := walk(&l)
			n, _ := x.Length(postings, key(0))
			if entries, _ := x.Entries(postings); err != nil || !slices.Equal(got, descending(want)) || n != uint64(len(want)) || entries != n {
				t.Errorf("seed %d: walked %d of %d, length %d, entries %d (%v)", seed, len(got), len(want), n, entries, err)
			}
			return nil
		})
	}
}

// TestPagesFill: what comes in order, or nearly so, fills pages to the end.
func TestPagesFill(t *testing.T) {
	env := open(t, lmdbx.Options{})
	const n = 40 * pagePostings
	all := ascending(n)
	for i := 0; i+20 < n; i += 10 { // each ten change places with the next
		for j := range 10 {
			if i/10%2 == 0 {
				all[i+j], all[i+10+j] = all[i+10+j], all[i+j]
			}
		}
	}
	for part := range slices.Chunk(all, 10) {
		putList(t, env, key(n), part, 10)
	}
	pages := uint64(0)
	read(t, env, func(x *lmdbx.Txn) error {
		return x.EachKeyInfo(postings, func(_ []byte, info lmdbx.KeyInfo) error {
			pages += info.Pages
			if info.Postings != n {
				t.Errorf("%d postings of %d", info.Postings, n)
			}
			return nil
		})
	})
	if pages > 46 {
		t.Errorf("%d postings, %d to a page, take %d pages", n, pagePostings, pages)
	}
}

func BenchmarkWalk(b *testing.B) {
	env := open(b, lmdbx.Options{})
	const n = 300_000
	putList(b, env, key(n), ascending(n), 1000)
	b.ReportAllocs()
	for b.Loop() {
		read(b, env, func(x *lmdbx.Txn) error {
			l := x.List(postings, key(n))
			for {
				if ok, err := l.Next(); !ok {
					return err
				}
			}
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/posting")
}

func BenchmarkSeek(b *testing.B) {
	env := open(b, lmdbx.Options{})
	const n = 300_000
	putList(b, env, key(n), ascending(n), 1000)
	b.ReportAllocs()
	for b.Loop() {
		read(b, env, func(x *lmdbx.Txn) error {
			l := x.List(postings, key(n))
			for i := n - 1; i > 0; i -= 1000 {
				if _, err := l.Seek(posting(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n/1000), "ns/seek")
}

// EachPosting goes up from any posting, in short lists as in long ones.
func TestEachPosting(t *testing.T) {
	env := open(t, lmdbx.Options{})
	for _, n := range []int{1, 2, 1000} {
		putList(t, env, key(n), ascending(n), n)
	}
	read(t, env, func(x *lmdbx.Txn) error {
		for _, n := range []int{1, 2, 3, 1000} {
			all := ascending(n)
			if n == 3 { // there is no such list
				all = nil
			}
			for _, skip := range []int{0, 1, 500, 999, 1000} {
				from := index.Newest
				if skip < len(all) {
					from = all[skip]
				}
				var got []index.Posting
				err := x.EachPosting(postings, key(n), from, func(p index.Posting) error { got = append(got, p); return nil })
				if want := all[min(skip, len(all)):]; err != nil || !slices.Equal(got, want) {
					t.Errorf("list of %d from %d on: %d postings, want %d (%v)", n, skip, len(got), len(want), err)
				}
			}
			got := 0
			if err := x.EachPosting(postings, key(n), index.Oldest, func(index.Posting) error { got++; return lmdbx.ErrStop }); err != nil || got != min(1, len(all)) {
				t.Errorf("%d postings after the stop (%v)", got, err)
			}
		}
		err := x.EachPosting(postings, key(2), index.Oldest, func(index.Posting) error { _, err := x.Length(postings, key(1)); return err })
		if err == nil {
			t.Error("an iteration went on from another place")
		}
		return nil
	})
}
