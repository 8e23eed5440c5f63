package testdb

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// DefaultMix returns the kinds of a public relay and their weights, which sum
// up to 1000.
func DefaultMix() []Share {
	return []Share{
		{0, 25},     // profile
		{1, 398},    // note
		{3, 22},     // follow list
		{4, 25},     // message, NIP-04
		{5, 20},     // deletion
		{6, 55},     // repost
		{7, 260},    // reaction
		{16, 10},    // repost of another kind
		{1059, 45},  // gift wrap
		{1111, 25},  // comment
		{1984, 6},   // report
		{9735, 55},  // zap
		{10000, 9},  // mute list
		{10002, 20}, // relay list
		{30023, 10}, // long-form text
		{30078, 15}, // application data
	}
}

// makers fill in a draft of their kind.
var makers = map[int]func(*generator, *draft){
	0:     (*generator).profile,
	1:     (*generator).note,
	3:     (*generator).followList,
	4:     (*generator).message,
	5:     (*generator).deletion,
	6:     (*generator).repost,
	7:     (*generator).reaction,
	16:    (*generator).genericRepost,
	1059:  (*generator).giftWrap,
	1111:  (*generator).comment,
	1984:  (*generator).report,
	9735:  (*generator).zap,
	10000: (*generator).muteList,
	10002: (*generator).relayList,
	20001: (*generator).presence,
	30023: (*generator).article,
	30078: (*generator).appData,
}

func (d *draft) tag(elements ...string) { d.Tags = append(d.Tags, elements) }

// someone picks another author, the busy ones more often.
func (g *generator) someone() *author { return &g.authors[g.active.pick(g.rng)] }

// parent picks the note that d is about, or invents one as from another relay.
func (g *generator) parent(d *draft) *ref {
	r := g.past.note(g.rng)
	if r == nil {
		r = &ref{id: g.text.hex(32), pubkey: g.someone().pubkey, kind: 1}
	}
	d.after = max(d.after, r.createdAt)
	return r
}

// addressed picks the replaceable event that d is about, or nil.
func (g *generator) addressed(d *draft) *ref {
	r := g.past.addresses.pick(g.rng, recent)
	if r != nil {
		d.after = max(d.after, r.createdAt)
	}
	return r
}

func (g *generator) profile(d *draft) {
	name := g.text.word()
	b := appendString([]byte(`{"name":`), name)
	b = appendString(append(b, `,"display_name":`...), name+" "+g.text.word())
	b = appendString(append(b, `,"about":`...), g.text.text(skewed(g.rng, 1, 60)))
	b = appendString(append(b, `,"picture":`...), g.text.image())
	b = appendString(append(b, `,"banner":`...), g.text.image())
	b = appendString(append(b, `,"nip05":`...), name+"@"+g.text.oneOf(domains))
	b = appendString(append(b, `,"lud16":`...), name+"@pay.example")
	d.Content = string(append(b, '}'))
	d.Tags = [][]string{}
}

func (g *generator) note(d *draft) {
	d.Content = g.text.text(skewed(g.rng, 3, 100))
	if g.past.any() && !oneIn(g.rng, 3) {
		g.answer(d, g.parent(d))
	}
	if oneIn(g.rng, 500) {
		for range between(g.rng, 30, 100) { // a thread that nobody gets out of
			d.tag("p", g.someone().pubkey)
		}
	}
	g.decorate(d)
}

// answer marks d as an answer to r in the manner of NIP-10.
func (g *generator) answer(d *draft, r *ref) {
	root := r.thread()
	d.root = root
	d.tag("e", root.id, g.text.relay(), "root", root.pubkey)
	if root != r {
		d.tag("e", r.id, g.text.relay(), "reply", r.pubkey)
	}
	d.tag("p", root.pubkey)
	for range skewed(g.rng, 0, 8) {
		d.tag("p", g.someone().pubkey)
	}
	if r.pubkey != root.pubkey {
		d.tag("p", r.pubkey)
	}
}

// decorate gives a note hashtags, links, mentions, pictures and the rest.
func (g *generator) decorate(d *draft) {
	if oneIn(g.rng, 4) {
		for range skewed(g.rng, 1, 8) {
			t := g.text.hashtag()
			d.Content += " #" + t
			d.tag("t", t)
		}
	}
	if oneIn(g.rng, 8) {
		u := g.text.url()
		d.Content += "\n" + u
		d.tag("r", u)
	}
	if oneIn(g.rng, 10) {
		d.Content += " nostr:npub1" + g.text.chars(bech32, 58)
		d.tag("p", g.someone().pubkey, "", "mention")
	}
	if oneIn(g.rng, 10) {
		u := g.text.image()
		d.Content += "\n" + u
		d.tag("imeta", "url "+u, "m image/jpeg", "dim 1200x800", "x "+g.text.hex(32))
	}
	if oneIn(g.rng, 5) {
		d.tag("client", "client "+g.text.word())
	}
	if oneIn(g.rng, 200) {
		d.tag("expiration", strconv.FormatInt(g.Start+10*365*86400, 10))
	}
	if d.Tags == nil {
		d.Tags = [][]string{}
	}
}

// followList makes the next version of the author's list. What an author
// follows is a sequence of its own, so that a version is the one before with
// a few names more.
func (g *generator) followList(d *draft) {
	rng := rand.New(rand.NewPCG(g.Seed, uint64(d.author)<<8|3))
	a := &g.authors[d.author]
	n := skewed(rng, min(3, g.Follows), g.Follows/2)
	if oneIn(rng, 12) {
		n = between(rng, g.Follows*3/4, g.Follows)
	}
	// More than half of all authors would take many draws to find.
	n = min(n+a.follows, g.Follows, g.Authors/2)
	a.follows++
	has := make(map[int]bool, n)
	d.Tags = make([][]string, 0, n)
	for len(d.Tags) < n {
		if i := g.active.pick(rng); !has[i] {
			has[i] = true
			d.tag("p", g.authors[i].pubkey)
		}
	}
	if oneIn(g.rng, 4) {
		d.Content = `{"` + relays[0] + `":{"read":true,"write":true},"` + relays[1] + `":{"read":true,"write":false}}`
	}
}

func (g *generator) message(d *draft) {
	d.tag("p", g.someone().pubkey)
	d.Content = g.text.base64(16*skewed(g.rng, 2, 60)) + "?iv=" + g.text.base64(16)
}

// giftWrap is signed by a key of its own and dated up to two days back (NIP-59).
func (g *generator) giftWrap(d *draft) {
	key := g.throw.next()
	d.key = &key
	d.CreatedAt -= int64(g.rng.IntN(2 * 86400))
	d.tag("p", g.someone().pubkey)
	d.Content = g.text.base64(between(g.rng, 600, 1500))
}

// deletion deletes something of its author's: what is found decides who that is.
func (g *generator) deletion(d *draft) {
	d.Content = g.text.text(skewed(g.rng, 0, 8))
	if oneIn(g.rng, 3) {
		if r := g.addressed(d); r != nil {
			d.author = r.author
			d.tag("a", r.address)
			d.tag("k", strconv.Itoa(r.kind))
			return
		}
	}
	r := g.past.notes.pick(g.rng, pastLen)
	if r == nil {
		d.tag("e", g.text.hex(32))
		return
	}
	d.after = r.createdAt
	d.author = r.author
	d.tag("e", r.id)
	d.tag("k", strconv.Itoa(r.kind))
}

func (g *generator) repost(d *draft) {
	r := g.parent(d)
	d.tag("e", r.id, g.text.relay())
	d.tag("p", r.pubkey)
	if !oneIn(g.rng, 3) {
		d.Content = string(r.line)
	}
}

func (g *generator) genericRepost(d *draft) {
	r := g.addressed(d)
	if r == nil {
		r = g.parent(d)
	}
	d.tag("e", r.id, g.text.relay())
	d.tag("p", r.pubkey)
	d.tag("k", strconv.Itoa(r.kind))
	if r.address != "" {
		d.tag("a", r.address)
	}
}

func (g *generator) reaction(d *draft) {
	r := g.parent(d)
	if root := r.thread(); root != r && oneIn(g.rng, 4) {
		d.tag("e", root.id)
		d.tag("p", root.pubkey)
	}
	d.tag("e", r.id, g.text.relay(), r.pubkey)
	d.tag("p", r.pubkey, g.text.relay())
	d.tag("k", strconv.Itoa(r.kind))
	switch g.rng.IntN(10) {
	case 0:
		d.Content = "🤙"
	case 1:
		d.Content = "❤️"
	case 2:
		d.Content = ":gm:"
		d.tag("emoji", "gm", g.text.image())
	default:
		d.Content = "+"
	}
}

// comment comments on an article or a note: the root in upper case, what is
// answered in lower case (NIP-22).
func (g *generator) comment(d *draft) {
	d.Content = g.text.text(skewed(g.rng, 3, 120))
	r := g.addressed(d)
	if r == nil || oneIn(g.rng, 2) {
		r = g.parent(d)
	}
	root := r.thread()
	d.root = root
	name, value := "E", root.id
	if root.address != "" {
		name, value = "A", root.address
	}
	d.tag(name, value, g.text.relay(), root.pubkey)
	d.tag("K", strconv.Itoa(root.kind))
	d.tag("P", root.pubkey)
	if root.address != "" {
		d.tag("a", root.address, g.text.relay())
	}
	d.tag("e", r.id, g.text.relay(), r.pubkey)
	d.tag("k", strconv.Itoa(r.kind))
	d.tag("p", r.pubkey)
}

func (g *generator) report(d *draft) {
	r := g.parent(d)
	why := g.text.oneOf([]string{"spam", "nudity", "impersonation", "illegal", "other"})
	d.tag("e", r.id, why)
	d.tag("p", r.pubkey, why)
	d.tag("L", "social.example")
	d.tag("l", why, "social.example")
	d.Content = g.text.text(skewed(g.rng, 0, 30))
}

// zap is a receipt of one of few wallets; it carries the request, a signed
// event of its own, as a string (NIP-57).
func (g *generator) zap(d *draft) {
	r := g.parent(d)
	sender := g.someone()
	d.author = g.rng.IntN(min(10, len(g.authors)))
	request := draft{}
	request.Kind = 9734
	request.CreatedAt = max(d.CreatedAt-5, r.createdAt)
	request.Content = g.text.text(skewed(g.rng, 0, 20))
	request.tag("p", r.pubkey)
	request.tag("e", r.id)
	request.tag("relays", g.text.relay(), g.text.relay(), g.text.relay())
	request.tag("amount", strconv.Itoa(1000*skewed(g.rng, 1, 21000)))

	d.tag("p", r.pubkey)
	d.tag("P", sender.pubkey)
	d.tag("e", r.id)
	d.tag("bolt11", "lnbc"+strconv.Itoa(skewed(g.rng, 10, 210000))+"n1p"+g.text.chars(bech32, 280))
	d.tag("description", string(g.seal(&request.Event, sender.key)))
	if oneIn(g.rng, 2) {
		d.tag("preimage", g.text.hex(32))
	}
}

func (g *generator) muteList(d *draft) {
	for range skewed(g.rng, 1, 60) {
		d.tag("p", g.someone().pubkey)
	}
	for range skewed(g.rng, 0, 10) {
		d.tag("t", g.text.hashtag())
	}
	d.Content = g.text.base64(16*skewed(g.rng, 2, 60)) + "?iv=" + g.text.base64(16)
}

func (g *generator) relayList(d *draft) {
	for i := range between(g.rng, 2, 12) {
		u := relays[(d.author+i)%len(relays)]
		if i >= len(relays) {
			u = "wss://" + g.text.word2() + ".example/"
		}
		d.tag("r", u)
		if oneIn(g.rng, 3) {
			d.Tags[i] = append(d.Tags[i], g.text.oneOf([]string{"read", "write"}))
		}
	}
}

// presence is ephemeral: never stored.
func (g *generator) presence(d *draft) {
	d.tag("g", g.text.chars("0123456789bcdefghjkmnpqrstuvwxyz", 5))
	d.tag("n", g.text.word())
	d.Content = g.text.text(skewed(g.rng, 1, 30))
}

// article is one of few of its author's, so most are versions of earlier ones.
func (g *generator) article(d *draft) {
	title := g.text.text(between(g.rng, 3, 9))
	d.tag("d", g.slug(d.author, 5))
	d.tag("title", title)
	d.tag("summary", g.text.text(skewed(g.rng, 5, 60)))
	d.tag("image", g.text.image())
	d.tag("published_at", strconv.FormatInt(d.CreatedAt, 10))
	for range skewed(g.rng, 0, 12) {
		d.tag("t", g.text.hashtag())
	}
	d.Content = "# " + title + "\n\n" + g.text.text(skewed(g.rng, 150, 3000))
}

func (g *generator) appData(d *draft) {
	d.tag("d", "app/"+g.slug(d.author, 3)+"/settings")
	d.Content = fmt.Sprintf(`{"version":%d,"data":"%s"}`, g.rng.IntN(9), g.text.base64(skewed(g.rng, 30, 2500)))
}

// slug returns one of the author's n names for things.
func (g *generator) slug(author, n int) string {
	i := author*7 + g.rng.IntN(n)
	words := g.text.words
	return strings.ToLower(words[i%vocabulary] + "-" + words[(i*31+author)%vocabulary])
}
