package testdb

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A Random is a world so small that everything collides: five authors, one
// kind or two of every class, ten seconds, few tag values. Filters from it hit
// often, events tie and replace and delete one another. What it draws is meant
// to be where implementations err:
//
//   - two of the authors agree in the first two bytes of their pubkey, and
//     some events of one second agree in the first bytes of their id;
//   - tag values are prefixes of one another, empty, missing, longer than 255
//     bytes and equal up to there, 64 hex digits (also upper case), or the
//     hash of another value;
//   - addresses are spelled with a d of their own, an empty one and none;
//   - deletions name own events and foreign ones, other deletions, and events
//     that do not exist.
//
// A Random belongs to one goroutine.
type Random struct {
	Each bool // filters ask for each of several tags as well (NIP-91)

	rng     *rand.Rand
	keys    []KeyPair
	nonces  *walk
	events  []Event // so far
	strange string  // an id and a pubkey that nobody has
}

const (
	randomStart   = 1_700_000_000
	randomSeconds = 10
	maxTagText    = 255 // bytes of a tag value that a store keeps as it is
)

// randomKinds has kinds of every class (01-R11 to 01-R15). Kinds on which a
// relay acts by rules of its own (gift wraps, vanish requests) are left out.
var randomKinds = []int{0, 1, 1, 1, 3, 5, 5, 7, 41, 1111, 10002, 20001, 30023, 30023, 30078, 65535}

// NewRandom returns the world of a seed.
func NewRandom(seed uint64) *Random {
	strange := sha256.Sum256([]byte("nobody"))
	a, b := neighbours()
	return &Random{
		rng:     rand.New(rand.NewPCG(seed, 4)),
		keys:    []KeyPair{Key(0), Key(1), Key(2), a, b},
		nonces:  newWalk(nonceSecret(seed)),
		strange: fmt.Sprintf("%x", strange),
	}
}

// neighbours returns the first two keys that agree in two bytes.
func neighbours() (KeyPair, KeyPair) {
	first := map[[2]byte]KeyPair{}
	w := newWalk(keySecret(0))
	for {
		k := w.next()
		prefix := [2]byte(k.x[:2])
		if other, ok := first[prefix]; ok {
			return other, k
		}
		first[prefix] = k
	}
}

// Event returns one more signed event, as [Lines] does.
func (r *Random) Event() []byte {
	key := pick(r.rng, r.keys)
	e := Event{
		Kind:      randomKinds[r.rng.IntN(len(randomKinds))],
		CreatedAt: randomStart + int64(r.rng.IntN(randomSeconds)),
		Tags:      [][]string{},
		Content:   "event " + strconv.Itoa(len(r.events)),
	}
	if e.Kind == 5 {
		e.Tags = r.deletes(key.Pubkey())
	} else {
		for range r.rng.IntN(5) {
			e.Tags = append(e.Tags, r.tag())
		}
	}
	if e.Kind/10000 == 3 && !oneIn(r.rng, 6) {
		e.Tags = append(e.Tags, []string{"d", pick(r.rng, tagValues['d'])})
	}
	if oneIn(r.rng, 24) {
		r.grind(&e, key)
	}
	nonce := r.nonces.next()
	seal(&e, key, &nonce)
	r.events = append(r.events, e)
	return e.appendJSON(nil)
}

// grind lengthens the content until the id begins with 12 bits of zero, so
// that one in 16 pairs of ground events agrees in two bytes.
func (r *Random) grind(e *Event, key KeyPair) {
	e.Pubkey = key.Pubkey()
	b := bytes.TrimSuffix(e.hashed(), []byte(`"]`))
	for i := 0; ; i++ {
		try := " try " + strconv.Itoa(i)
		if id := sha256.Sum256(append(append(b, try...), `"]`...)); id[0] == 0 && id[1] < 16 {
			e.Content += try
			return
		}
	}
}

// Authors returns the public keys of all authors.
func (r *Random) Authors() []string {
	list := make([]string, len(r.keys))
	for i, k := range r.keys {
		list[i] = k.Pubkey()
	}
	return list
}

// long are two values that agree in the first 300 bytes, and one that is just
// short enough to be kept as it is.
var long = []string{
	"https://example.com/" + strings.Repeat("x", 300) + "1",
	"https://example.com/" + strings.Repeat("x", 300) + "2",
	strings.Repeat("y", maxTagText),
	strings.Repeat("y", maxTagText+1),
}

// tagValues has the values of tags that are not ids, keys or addresses.
var tagValues = map[byte][]string{
	'd': {"", "x", "x:y", "xy", "é", long[0], long[1]},
	't': {
		"", "a", "ab", "A", "b", "a\x7f", "nostr\n", "😀", long[2], long[3],
		strings.Repeat("0", 64), strings.Repeat("a", 64), strings.Repeat("A", 64), strings.Repeat("0", 32),
		fmt.Sprintf("%x", sha256.Sum256([]byte(long[0]))),
	},
	'r': {long[0], long[1], "https://example.com/", "https://example.com", "wss://example.com/"},
	'T': {"a", "ab", ""},
	'x': {"a", "1"},
}

var tagLetters = []byte("dttttrrTx")

// tag returns a tag of any kind of event.
func (r *Random) tag() []string {
	switch r.rng.IntN(10) {
	case 0, 1:
		return []string{"e", r.id(), "wss://example.com/"}
	case 2, 3:
		return []string{"p", r.author()}
	case 4:
		return []string{"E", r.id()}
	case 5:
		return []string{"a", r.address()}
	case 6:
		return pick(r.rng, [][]string{
			{}, {"t"}, {"d"}, {"e"}, {"e", "not an id"}, {"p", "ABC"}, {"tt", "a"}, {"", "a"}, {"é", "a"}, {"-x", "a"}, {"1", "a"},
			{"expiration", "4000000000"}, {"t", "a", "b"}, {"emoji", "a", "https://example.com/a.png"},
		})
	}
	letter := pick(r.rng, tagLetters)
	return []string{string(letter), pick(r.rng, tagValues[letter])}
}

// deletes returns the tags of a deletion by pubkey.
func (r *Random) deletes(pubkey string) [][]string {
	tags := [][]string{}
	for range between(r.rng, 1, 3) {
		switch own := r.ofAuthor(pubkey); {
		case oneIn(r.rng, 3):
			tags = append(tags, []string{"a", r.address()})
		case own == nil || oneIn(r.rng, 3):
			tags = append(tags, []string{"e", r.id()})
		case Address(*own) != "" && oneIn(r.rng, 2):
			tags = append(tags, []string{"a", Address(*own)})
		default:
			tags = append(tags, []string{"e", own.ID})
		}
	}
	return tags
}

// ofAuthor returns an earlier event of the author, or nil where a few draws
// find none.
func (r *Random) ofAuthor(pubkey string) *Event {
	if len(r.events) == 0 {
		return nil
	}
	for range 20 {
		if e := &r.events[r.rng.IntN(len(r.events))]; e.Pubkey == pubkey {
			return e
		}
	}
	return nil
}

// id returns the id of an earlier event, or one that no event has.
func (r *Random) id() string {
	if len(r.events) == 0 || oneIn(r.rng, 16) {
		return r.strange
	}
	return pick(r.rng, r.events).ID
}

func (r *Random) author() string {
	if oneIn(r.rng, 16) {
		return r.strange
	}
	return pick(r.rng, r.keys).Pubkey()
}

// address returns an address that an event may have.
func (r *Random) address() string {
	kind, d := pick(r.rng, []int{0, 3, 10002, 30023, 30078}), ""
	if kind >= 30000 {
		d = pick(r.rng, tagValues['d'])
	}
	return fmt.Sprintf("%d:%s:%s", kind, r.author(), d)
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
