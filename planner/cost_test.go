package planner

import (
	"context"
	"math/rand/v2"
	"testing"

	"wok/index"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// BenchmarkCosts measures what the constants of cost.go stand for, in
// nanoseconds each. Its figures, rounded, are what they should be; only ratios
// matter, so the whole set is renewed or none.
func BenchmarkCosts(b *testing.B) {
	db := generated(b, planEvents)
	err := db.View(context.Background(), func(tx *store.Txn) error {
		w, err := explore(tx)
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(1, 1))
		levID := func() uint64 { return 1 + rng.Uint64N(w.events) }
		var keys [][]byte
		if err := tx.EachKey(index.ByPubkeyKind, func(key []byte, _ uint64) error {
			keys = append(keys, append([]byte(nil), key...))
			return nil
		}); err != nil {
			return err
		}
		all := []byte{0}
		b.Run("costSeek", func(b *testing.B) {
			for b.Loop() {
				l := tx.List(index.ByPubkeyKind, keys[rng.IntN(len(keys))])
				if _, err := l.Seek(index.Newest); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("costPage", func(b *testing.B) {
			// The walk of a long list without looking at the postings.
			l := tx.List(index.CreatedAt, all)
			ok, err := l.Seek(index.Newest)
			pages, from := 0, tx.Work().Pages
			for b.Loop() {
				if err != nil {
					b.Fatal(err)
				}
				if !ok {
					l = tx.List(index.CreatedAt, all)
					ok, err = l.Seek(index.Newest)
					continue
				}
				at := tx.Work().Pages
				for ok && err == nil && tx.Work().Pages == at {
					ok, err = l.Next()
				}
				pages++
			}
			b.ReportMetric(float64(tx.Work().Pages-from)/float64(pages), "pages/op")
		})
		b.Run("costPosting", func(b *testing.B) {
			test := (&nostr.Filter{Kinds: []uint16{1, 6}, Until: nostr.NoUntil}).PostingTest()
			l := tx.List(index.CreatedAt, all)
			var s source = &l
			ok, err := s.Seek(index.Newest)
			hits := 0
			for b.Loop() {
				if err != nil {
					b.Fatal(err)
				}
				if !ok {
					l = tx.List(index.CreatedAt, all)
					ok, err = s.Seek(index.Newest)
				}
				if test.Match(s.Posting()) {
					hits++
				}
				ok, err = s.Next()
			}
		})
		b.Run("costMerge", func(b *testing.B) {
			// 1,024 lists: ten halvings.
			open := func() (source, bool) {
				sources := make([]source, 1024)
				for i := range sources {
					l := tx.List(index.ByPubkeyKind, keys[i*len(keys)/len(sources)])
					sources[i] = &l
				}
				u := newUnion(sources)
				ok, err := u.Seek(index.Newest)
				if err != nil {
					b.Fatal(err)
				}
				return u, ok
			}
			u, ok := open()
			for b.Loop() {
				if !ok {
					b.StopTimer()
					u, ok = open()
					b.StartTimer()
				}
				var err error
				if ok, err = u.Next(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10, "ns/halving")
		})
		b.Run("costLeap", func(b *testing.B) {
			l := tx.List(index.CreatedAt, all)
			ok, err := l.Seek(index.Newest)
			for b.Loop() {
				if err != nil {
					b.Fatal(err)
				}
				if !ok {
					l = tx.List(index.CreatedAt, all)
					ok, err = l.Seek(index.Newest)
				}
				p := l.Posting()
				p.Hi -= 3000 << 24 // some ten postings on
				ok, err = l.Seek(p)
			}
		})
		b.Run("costRead", func(b *testing.B) {
			f := filter(b, `{"#t":["x"],"#p":["`+w.authors[0]+`"]}`)
			for b.Loop() {
				v, ok, err := tx.Packed(levID())
				if err != nil {
					b.Fatal(err)
				}
				if ok {
					f.Match(v)
				}
			}
		})
		b.Run("scan", func(b *testing.B) {
			// What a posting costs with all that a scan does around it.
			f := filter(b, `{"kinds":[65535]}`)
			n := 0
			for b.Loop() {
				q, err := New(tx, []*nostr.Filter{f}, Options{})
				if err != nil {
					b.Fatal(err)
				}
				p := q.Plans()[0]
				p.Path, p.Rejected = newPath(f, Term{Name: "created_at", def: &index.All[index.CreatedAt], Lists: 1, authors: [][32]byte{{}}, kinds: []uint16{0}, tags: []packed.Tag{nil}}), nil
				q.scans[0] = newScan(p, nostr.NoLimit)
				if _, err := q.Run(tx, Budget{}, func(uint64, packed.View) bool { return true }); err != nil {
					b.Fatal(err)
				}
				n += int(q.Work().Postings)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/posting")
		})
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
