package testdb

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
)

// Options say which events to make. A field left zero has the default named.
type Options struct {
	Seed      uint64
	Events    int           // how many; default 1000
	Authors   int           // default Events/20, at least 20
	Hashtags  int           // different t values; default Events/40, at least 20
	Start     int64         // unix time of the first event; default 1700000000
	Span      time.Duration // from the first event to the last; default 30 days
	Jitter    time.Duration // how far events lie out of order; default 1 minute, under 1s none
	Follows   int           // p tags of the longest follow lists; default 800
	Ephemeral int           // chance of an ephemeral event (20001), in 1000; default 0
	Mix       []Share       // default DefaultMix()
	Shuffle   bool          // in random order; keeps all events in memory
}

// A Share is a kind and its weight against the others.
type Share struct {
	Kind   int
	Weight uint64
}

func (o Options) withDefaults() Options {
	setDefault(&o.Events, 1000)
	setDefault(&o.Authors, max(20, o.Events/20))
	setDefault(&o.Hashtags, max(20, o.Events/40))
	setDefault(&o.Start, 1_700_000_000)
	setDefault(&o.Span, 30*24*time.Hour)
	setDefault(&o.Jitter, time.Minute)
	setDefault(&o.Follows, 800)
	if o.Mix == nil {
		o.Mix = DefaultMix()
	}
	if o.Ephemeral > 0 {
		total := uint64(0)
		for _, s := range o.Mix {
			total += s.Weight
		}
		o.Mix = append(slices.Clone(o.Mix), Share{20001, max(1, total*uint64(o.Ephemeral)/1000)})
	}
	return o
}

func setDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Lines yields signed events, each as one line of JSON without its newline, in
// the canonical order of fields. The same options yield the same bytes. Lines
// may be kept. It panics on a kind in Options.Mix that it cannot make.
func Lines(o Options) iter.Seq[[]byte] {
	if o.Shuffle {
		return shuffled(o)
	}
	o = o.withDefaults()
	return func(yield func([]byte) bool) {
		g := newGenerator(o)
		for range o.Events {
			if !yield(g.next()) {
				return
			}
		}
	}
}

func shuffled(o Options) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		o.Shuffle = false
		lines := slices.Collect(Lines(o))
		rng := rand.New(rand.NewPCG(o.Seed, 2))
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		for _, line := range lines {
			if !yield(line) {
				return
			}
		}
	}
}

// A generator invents events one after another. It lives in one goroutine: at
// some 15 us an event there is nothing to gain from more.
type generator struct {
	Options
	rng     *rand.Rand
	text    *writer
	authors []author
	active  chooser // of authors
	kinds   chooser // of Mix
	past    *past
	nonces  *walk
	throw   *walk // keys used once, as gift wraps have
	clock   clock
}

type author struct {
	key     KeyPair
	pubkey  string
	follows int // versions of the follow list so far
}

func newGenerator(o Options) *generator {
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	g := &generator{
		Options: o,
		rng:     rng,
		text:    newWriter(rng, o.Hashtags),
		authors: make([]author, o.Authors),
		active:  newZipf(o.Authors, 10),
		past:    newPast(),
		nonces:  newWalk(nonceSecret(o.Seed)),
		throw:   newWalk(keySecret(1 << 30)),
		clock: clock{
			rng:    rng,
			start:  o.Start,
			span:   int64(o.Span / time.Second),
			jitter: int64(o.Jitter / time.Second),
			events: int64(o.Events),
		},
	}
	keys := newWalk(keySecret(0))
	for i := range g.authors {
		key := keys.next()
		g.authors[i] = author{key: key, pubkey: key.Pubkey()}
	}
	weights := make([]uint64, len(o.Mix))
	for i, s := range o.Mix {
		if makers[s.Kind] == nil {
			panic(fmt.Sprintf("testdb: kind %d cannot be made", s.Kind))
		}
		weights[i] = s.Weight
	}
	g.kinds = newChooser(weights)
	return g
}

// nonceSecret parts the nonces of different seeds; the keys are the same.
func nonceSecret(seed uint64) btcec.ModNScalar {
	return scalarOf(sha256.Sum256(fmt.Appendf(nil, "nonces of seed %d", seed)))
}

// A draft is an event in the making. Makers fill in what their kind needs.
type draft struct {
	Event
	author int      // number of the author
	key    *KeyPair // if not the author's
	after  int64    // created later than this, as an answer is
	root   *ref     // the thread it belongs to
}

// next makes the next event and returns its line.
func (g *generator) next() []byte {
	kind := g.Mix[g.kinds.pick(g.rng)].Kind
	d := draft{author: g.active.pick(g.rng)}
	d.Kind = kind
	d.CreatedAt = g.clock.next()
	makers[kind](g, &d)
	d.CreatedAt = max(d.CreatedAt, d.after+1)

	key := d.key
	if key == nil {
		key = &g.authors[d.author].key
	}
	line := g.seal(&d.Event, *key)
	g.remember(&d, line)
	return line
}

func (g *generator) seal(e *Event, key KeyPair) []byte {
	nonce := g.nonces.next()
	seal(e, key, &nonce)
	return e.appendJSON(make([]byte, 0, 512+len(e.Content)*5/4+80*len(e.Tags)))
}

// remember keeps what can be answered, replaced or deleted later.
func (g *generator) remember(d *draft, line []byte) {
	r := &ref{id: d.ID, pubkey: d.Pubkey, author: d.author, createdAt: d.CreatedAt, kind: d.Kind, root: d.root}
	switch {
	case d.Kind == 1 || d.Kind == 1111:
		r.line = line
		g.past.addNote(g.rng, r)
	case d.Kind/10000 == 3:
		r.address = fmt.Sprintf("%d:%s:%s", d.Kind, d.Pubkey, d.Tags[0][1])
		g.past.addresses.add(r)
	case d.Kind/10000 == 1:
		r.address = fmt.Sprintf("%d:%s:", d.Kind, d.Pubkey)
		g.past.addresses.add(r)
	}
}

// A clock hands out times that rise from start to start+span over all events,
// most a little late, some all in one second.
type clock struct {
	rng                 *rand.Rand
	start, span, jitter int64 // seconds
	now, events         int64 // events so far, and in all
	burst               int   // events left of a burst
	second              int64 // what the clock showed last
}

func (c *clock) next() int64 {
	now := c.start + c.span*c.now/c.events
	c.now++
	switch {
	case c.burst > 0:
		c.burst--
	case oneIn(c.rng, 400):
		c.burst = skewed(c.rng, 2, 100)
		c.second = now
	default:
		c.second = now - int64(skewed(c.rng, 0, int(c.jitter)))
	}
	return c.second
}
