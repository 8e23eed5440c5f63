package planner

import (
	"bytes"
	"context"
	"encoding/binary"
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
		c := &costs{tx: tx, rng: rand.New(rand.NewPCG(1, 1))}
		if err := tx.EachKey(index.ByPubkeyKind, func(key []byte, _ uint64) error {
			c.keys = append(c.keys, bytes.Clone(key))
			return nil
		}); err != nil {
			return err
		}
		b.Run("costSeek", c.seek)
		b.Run("costPage", c.page)
		b.Run("costPosting", c.posting)
		b.Run("costMerge", c.merge)
		b.Run("costLeap", c.leap)
		b.Run("costRead", c.read)
		b.Run("scan", c.scan)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// costs is what the costs are measured on.
type costs struct {
	tx   *store.Txn
	rng  *rand.Rand
	keys [][]byte // of the lists by author and kind
}

// An endless list is that of all events, begun again at its end.
type endless struct {
	b    *testing.B
	tx   *store.Txn
	list store.List
}

func (c *costs) endless(b *testing.B) *endless {
	e := &endless{b: b, tx: c.tx}
	e.check(false, nil)
	return e
}

// check takes what a step has returned.
func (e *endless) check(ok bool, err error) {
	if err == nil && !ok {
		e.list = e.tx.List(index.CreatedAt, []byte{0})
		ok, err = e.list.Seek(index.Newest)
	}
	if err != nil || !ok {
		e.b.Fatal("no posting: ", err)
	}
}

func (c *costs) seek(b *testing.B) {
	for b.Loop() {
		l := c.tx.List(index.ByPubkeyKind, c.keys[c.rng.IntN(len(c.keys))])
		if _, err := l.Seek(index.Newest); err != nil {
			b.Fatal(err)
		}
	}
}

// page walks without looking at the postings.
func (c *costs) page(b *testing.B) {
	e := c.endless(b)
	for b.Loop() {
		for at := c.tx.Work().Pages; c.tx.Work().Pages == at; {
			e.check(e.list.Next())
		}
	}
}

func (c *costs) posting(b *testing.B) {
	test := (&nostr.Filter{Kinds: []uint16{1, 6}, Until: nostr.NoUntil}).PostingTest()
	e := c.endless(b)
	var s interface {
		Next() (bool, error)
		Posting() index.Posting
	} = &e.list
	for b.Loop() {
		test.Match(s.Posting())
		e.check(s.Next())
	}
}

// merge merges 1,024 lists, which is ten halvings.
func (c *costs) merge(b *testing.B) {
	var u source
	for ok := false; b.Loop(); {
		var err error
		if !ok {
			b.StopTimer()
			u = c.union(1024)
			ok, err = u.Seek(index.Newest)
			b.StartTimer()
		} else {
			ok, err = u.Next()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10, "ns/halving")
}

// union merges the notes of n authors that have some.
func (c *costs) union(n int) source {
	t := &Term{def: &index.All[index.ByPubkeyKind], kinds: []uint16{1}, Lists: n}
	for i, notes := 0, c.notes(); i < n; i++ {
		t.authors = append(t.authors, notes[i*len(notes)/n])
	}
	u := t.open()
	u.begin(newRun(c.tx, Budget{}), nil)
	return u
}

// notes returns the authors of notes.
func (c *costs) notes() (authors [][32]byte) {
	for _, k := range c.keys {
		if binary.BigEndian.Uint16(k[32:]) == 1 {
			authors = append(authors, [32]byte(k))
		}
	}
	return authors
}

// leap moves on by some ten postings.
func (c *costs) leap(b *testing.B) {
	e := c.endless(b)
	for b.Loop() {
		p := e.list.Posting()
		p.Hi -= 3000 << 24
		e.check(e.list.Seek(p))
	}
}

func (c *costs) read(b *testing.B) {
	f := filter(b, `{"#t":["x"],"#p":["0000000000000000000000000000000000000000000000000000000000000001"]}`)
	last, err := c.tx.LastLevID()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		v, ok, err := c.tx.Packed(1 + c.rng.Uint64N(last))
		if err != nil {
			b.Fatal(err)
		}
		if ok {
			f.Match(v)
		}
	}
}

// scan measures what a posting costs with all that a scan does around it.
func (c *costs) scan(b *testing.B) {
	f := filter(b, `{"kinds":[65535]}`)
	all := Term{def: &index.All[index.CreatedAt], Lists: 1}
	n := 0
	for b.Loop() {
		q, err := New(c.tx, []*nostr.Filter{f}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		p := q.Plans()[0]
		p.Path, p.Rejected = newPath(f, &all), nil
		q.scans[0] = newScan(p, nostr.NoLimit)
		if _, err := q.Run(c.tx, Budget{}, func(uint64, packed.View) bool { return true }); err != nil {
			b.Fatal(err)
		}
		n += int(q.Work().Postings)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/posting")
}
