package store_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/nostr"
	"wok/store"
)

// A story is events put one after another, what became of each, and which of
// them, by number, are left.
type story struct {
	name   string
	events []*nostr.Event
	want   []store.Status
	left   []int
}

// An author of stories signs events.
type author struct {
	t   *testing.T
	key int
}

func (a author) pubkey() string { return testdb.Key(a.key).Pubkey() }

func (a author) event(kind int, at int64, tags ...[]string) *nostr.Event {
	a.t.Helper()
	return parse(a.t, testdb.Sign(a.key, testdb.Event{Kind: kind, CreatedAt: at, Tags: tags}))
}

// tie returns two events of one second, the lower id first.
func (a author) tie(kind int, at int64, tags ...[]string) (low, high *nostr.Event) {
	a.t.Helper()
	low = a.event(kind, at, append(tags, []string{"n", "1"})...)
	high = a.event(kind, at, append(tags, []string{"n", "2"})...)
	if bytes.Compare(low.Packed.ID(), high.Packed.ID()) > 0 {
		low, high = high, low
	}
	return low, high
}

func (a author) address(kind int, d string) string {
	return fmt.Sprintf("%d:%s:%s", kind, a.pubkey(), d)
}

// now is the time in all stories.
const now = 1_000_000

func stories(t *testing.T) []story {
	const (
		stored, duplicate, superseded = store.Stored, store.Duplicate, store.Superseded
		deleted, expired, notKept     = store.Deleted, store.Expired, store.NotKept
		vanished                      = store.Vanished
	)
	type (
		evs = []*nostr.Event
		sts = []store.Status
		tag = []string
	)
	alice, bob := author{t, 1}, author{t, 2}
	note := alice.event(1, 100)
	profile, newer := alice.event(0, 100), alice.event(0, 200)
	low, high := alice.tie(0, 100)
	d := func(v string) tag { return tag{"d", v} }
	lowD, highD := alice.tie(30000, 100, d("x"))
	long1, long2 := strings.Repeat("x", 300)+"1", strings.Repeat("x", 300)+"2"
	colons := alice.event(30000, 100, d("a:b:c"))
	wrap := bob.event(1059, 100, tag{"p", alice.pubkey()}, tag{"p", strings.ToUpper(alice.pubkey())})
	request := alice.event(5, 50, tag{"e", note.ID()})
	e := func(ev *nostr.Event) tag { return tag{"e", ev.ID()} }
	a := func(v string) tag { return tag{"a", v} }
	vanish := func(at int64) *nostr.Event { return alice.event(62, at, tag{"relay", "ALL_RELAYS"}) }
	toAlice := func(at int64) *nostr.Event {
		return bob.event(1059, at, tag{"p", bob.pubkey()}, tag{"p", alice.pubkey()})
	}
	later := alice.event(1, 101)
	follows := make([]tag, 3000)
	for i := range follows {
		follows[i] = tag{"p", fmt.Sprintf("%064x", i)}
	}
	return []story{
		{"regular events stay side by side", evs{alice.event(1, 1), alice.event(1, 2), alice.event(41, 1), alice.event(41, 2), alice.event(44, 1), alice.event(44, 2), alice.event(65535, 1), alice.event(65535, 2)},
			sts{stored, stored, stored, stored, stored, stored, stored, stored}, []int{0, 1, 2, 3, 4, 5, 6, 7}}, // 01-R11, 01-R15
		{"twice is once", evs{note, note}, sts{stored, duplicate}, []int{0}},                                     // 01-R40
		{"ephemeral is not kept", evs{alice.event(20000, 1), alice.event(29999, 1)}, sts{notKept, notKept}, nil}, // 01-R13

		{"newer replaces older", evs{profile, newer}, sts{stored, stored}, []int{1}},             // 01-R12
		{"older does not replace newer", evs{newer, profile}, sts{stored, superseded}, []int{0}}, // 01-R41
		{"replaced is superseded when it comes again", evs{profile, newer, profile, newer}, sts{stored, stored, superseded, duplicate}, []int{1}},
		{"the lower id wins a tie", evs{high, low}, sts{stored, stored}, []int{1}}, // 01-R16
		{"the higher id loses a tie", evs{low, high}, sts{stored, superseded}, []int{0}},
		{"kinds do not replace one another", evs{alice.event(0, 1), alice.event(3, 2), alice.event(10000, 3), alice.event(19999, 4)}, sts{stored, stored, stored, stored}, []int{0, 1, 2, 3}},
		{"authors do not replace one another", evs{alice.event(0, 1), bob.event(0, 2)}, sts{stored, stored}, []int{0, 1}},
		{"d means nothing on a replaceable", evs{alice.event(0, 1, d("x")), alice.event(0, 2, d("y"))}, sts{stored, stored}, []int{1}}, // 01-R18

		{"newer replaces older of one d", evs{alice.event(30000, 1, d("x")), alice.event(30000, 2, d("x")), alice.event(30000, 3, d("y"))}, sts{stored, stored, stored}, []int{1, 2}}, // 01-R14
		{"absent d, bare d and empty d are one", evs{alice.event(30000, 1), alice.event(30000, 2, tag{"d"}), alice.event(30000, 3, d(""))}, sts{stored, stored, stored}, []int{2}},
		{"the first d counts", evs{alice.event(30000, 1, d("x"), d("y")), alice.event(30000, 2, d("y"), d("x")), alice.event(30000, 3, tag{"d"}, d("x")), alice.event(30000, 4)},
			sts{stored, stored, stored, stored}, []int{0, 1, 3}},
		{"d is compared to its end", evs{alice.event(30000, 1, d(long1)), alice.event(30000, 2, d(long2)), alice.event(30000, 3, d(long1))}, sts{stored, stored, stored}, []int{1, 2}},
		{"d may hold colons", evs{colons, alice.event(30000, 200, d("a:b"))}, sts{stored, stored}, []int{0, 1}},
		{"a tie of one d, one way", evs{lowD, highD}, sts{stored, superseded}, []int{0}},
		{"a tie of one d, the other way", evs{highD, lowD}, sts{stored, stored}, []int{1}},

		{"deleted by id", evs{note, request}, sts{stored, stored}, []int{1}},                                // 09-R2, 09-R6: whatever the times
		{"deleted by id before it came", evs{request, note, note}, sts{stored, deleted, deleted}, []int{0}}, // 09-R7
		{"deleted by id and again", evs{note, request, note}, sts{stored, stored, deleted}, []int{1}},
		{"not deleted by another", evs{note, bob.event(5, 200, e(note))}, sts{stored, stored}, []int{0, 1}},
		{"not deleted by another before it came", evs{bob.event(5, 200, e(note)), note}, sts{stored, stored}, []int{0, 1}},
		{"a deletion is not deleted", evs{note, request, alice.event(5, 60, e(request))}, sts{stored, stored, stored}, []int{1, 2}}, // 09-R7
		{"a deletion is not deleted before it came", evs{alice.event(5, 60, e(request)), request, note}, sts{stored, stored, deleted}, []int{0, 1}},
		{"tags that name nothing are passed over", evs{note, alice.event(5, 60,
			tag{}, tag{"e"}, tag{"e", ""}, tag{"e", "abc"}, tag{"e", strings.ToUpper(note.ID())}, tag{"e", note.ID() + "0"}, tag{"p", note.ID()},
			a(""), a(":"), a("::"), a("30000"), a("x:"+alice.pubkey()+":"), a("-1:"+alice.pubkey()+":"), a("99999:"+alice.pubkey()+":"),
			a("1:"+alice.pubkey()+":"), a("0:abc:"), tag{"", ""}, e(note), tag{"e"})}, sts{stored, stored}, []int{1}},

		{"deleted by address", evs{profile, alice.event(5, 100, a(alice.address(0, "")))}, sts{stored, stored}, []int{1}}, // 09-R5
		{"deleted by address without its last colon", evs{profile, alice.event(5, 100, a("0:"+alice.pubkey()))}, sts{stored, stored}, []int{1}},
		{"not deleted by an address with a d that it cannot have", evs{profile, alice.event(5, 100, a(alice.address(0, "x")))}, sts{stored, stored}, []int{0, 1}},
		{"deleted by address up to the second", evs{alice.event(30000, 100, d("x")), alice.event(30000, 101, d("y")), alice.event(5, 100, a(alice.address(30000, "x")), a(alice.address(30000, "y")))},
			sts{stored, stored, stored}, []int{1, 2}},
		{"deleted by address with colons", evs{colons, alice.event(5, 100, a(alice.address(30000, "a:b:c")))}, sts{stored, stored}, []int{1}},
		{"deleted by address with a long d", evs{alice.event(30000, 1, d(long1)), alice.event(30000, 1, d(long2)), alice.event(5, 100, a(alice.address(30000, long1)))}, sts{stored, stored, stored}, []int{1, 2}},
		{"deleted by address before it came", evs{alice.event(5, 100, a(alice.address(0, ""))), profile, newer, profile}, sts{stored, deleted, stored, deleted}, []int{0, 2}},
		{"the later of two deletions counts", evs{alice.event(5, 150, a(alice.address(0, ""))), alice.event(5, 120, a(alice.address(0, ""))), alice.event(0, 130), alice.event(0, 160)},
			sts{stored, stored, deleted, stored}, []int{0, 1, 3}},
		{"not deleted by the address of another", evs{profile, bob.event(5, 200, a(alice.address(0, "")))}, sts{stored, stored}, []int{0, 1}},
		{"nothing older comes back when a version is deleted by id", evs{profile, newer, alice.event(5, 300, e(newer)), profile}, sts{stored, stored, stored, deleted}, []int{2}},
		{"a version deleted before it came takes older ones with it", evs{profile, alice.event(5, 300, e(newer)), newer, profile}, sts{stored, stored, deleted, deleted}, []int{1}},
		{"a superseded version that is deleted changes nothing", evs{profile, newer, alice.event(5, 300, e(profile)), profile}, sts{stored, stored, stored, superseded}, []int{1, 2}},
		{"of a tie the lower is deleted: the higher does not come back", evs{high, low, alice.event(5, 300, e(low)), high}, sts{stored, stored, stored, deleted}, []int{2}},
		{"of a tie the higher is deleted: the lower stays", evs{high, alice.event(5, 300, e(high)), low, high}, sts{stored, stored, stored, deleted}, []int{1, 2}},

		{"a wrap is deleted by who it is for", evs{wrap, alice.event(5, 1, e(wrap)), wrap}, sts{stored, stored, deleted}, []int{1}}, // 59-R3
		{"a wrap is deleted by who it is for, before it came", evs{alice.event(5, 1, e(wrap)), wrap}, sts{stored, deleted}, []int{0}},
		{"a wrap is deleted by its author", evs{wrap, bob.event(5, 1, e(wrap)), wrap}, sts{stored, stored, deleted}, []int{1}},
		{"a wrap is not deleted by others", evs{author{t, 3}.event(5, 1, e(wrap)), wrap, author{t, 4}.event(5, 1, e(wrap))}, sts{stored, stored, stored}, []int{0, 1, 2}},
		{"a note is not deleted by who it is for", evs{bob.event(1, 1, tag{"p", alice.pubkey()}), alice.event(5, 2, e(bob.event(1, 1, tag{"p", alice.pubkey()})))}, sts{stored, stored}, []int{0, 1}},

		{"expired in the second named", evs{alice.event(1, 1, tag{"expiration", fmt.Sprint(now - 1)}), alice.event(1, 1, tag{"expiration", fmt.Sprint(now)}), alice.event(1, 1, tag{"expiration", fmt.Sprint(now + 1)})},
			sts{expired, expired, stored}, []int{2}}, // 40-R2
		{"a request to vanish that has expired is none", evs{note, alice.event(62, 200, tag{"relay", "ALL_RELAYS"}, tag{"expiration", "1"})}, sts{stored, expired}, []int{0}},
		{"an expired version replaces nothing", evs{profile, alice.event(0, 200, tag{"expiration", "1"})}, sts{stored, expired}, []int{0}},
		{"an expiration that is none", evs{alice.event(1, 1, tag{"expiration", "soon"}), alice.event(1, 2, tag{"expiration"})}, sts{stored, stored}, []int{0, 1}},

		{"who asks to vanish is gone up to the second", evs{note, later, profile, lowD, request, vanish(100)},
			sts{stored, stored, stored, stored, stored, stored}, []int{1, 5}}, // 62-R2: deletions too
		{"what has vanished does not come again", evs{note, vanish(100), note, profile, request, later}, sts{stored, stored, vanished, vanished, vanished, stored}, []int{1, 5}}, // 62-R4
		{"others do not vanish", evs{bob.event(1, 50), bob.event(1, 50, tag{"p", alice.pubkey()}), vanish(100), bob.event(0, 50)}, sts{stored, stored, stored, stored}, []int{0, 1, 2, 3}},
		{"wraps for who asks to vanish are gone", evs{toAlice(100), toAlice(101), vanish(100), toAlice(99)}, sts{stored, stored, stored, vanished}, []int{1, 2}}, // 62-R3, 62-R9
		{"wraps by who asks to vanish are gone", evs{alice.event(1059, 100, tag{"p", bob.pubkey()}), vanish(100)}, sts{stored, stored}, []int{1}},
		{"an earlier request changes nothing", evs{vanish(100), vanish(50), note, later}, sts{stored, stored, vanished, stored}, []int{0, 1, 3}}, // 62-R5: requests stay
		{"a later request covers more", evs{note, vanish(50), later, vanish(101), note, later}, sts{stored, stored, stored, stored, vanished, vanished}, []int{1, 3}},
		{"a request to vanish is not deleted", evs{vanish(100), alice.event(5, 200, e(vanish(100))), note}, sts{stored, stored, vanished}, []int{0, 1}}, // 62-R7
		{"a request to vanish is not deleted before it came", evs{alice.event(5, 200, e(vanish(100))), vanish(100), note}, sts{stored, stored, vanished}, []int{0, 1}},
		{"a request to vanish twice is once", evs{vanish(100), vanish(100)}, sts{stored, duplicate}, []int{0}},
		{"what a deletion has deleted stays so when that vanishes", evs{alice.event(5, 50, e(later)), vanish(100), later}, sts{stored, stored, deleted}, []int{1}},
		{"what a deletion deletes is deleted when that has vanished", evs{later, vanish(100), alice.event(5, 50, e(later)), later}, sts{stored, stored, vanished, deleted}, []int{1}},
		{"a version after the request replaces nothing that came back", evs{newer, profile, vanish(100), newer}, sts{stored, superseded, stored, duplicate}, []int{0, 2}},
		{"a new version before what has vanished is removed", evs{profile, vanish(100), newer, profile}, sts{stored, stored, stored, vanished}, []int{1, 2}},

		{"a large list of follows comes and goes", evs{alice.event(3, 1, follows...), alice.event(3, 2, follows[1:]...), alice.event(3, 3, append(follows, follows...)...)}, sts{stored, stored, stored}, []int{2}},
		{"a tag that stands twice", evs{alice.event(1, 1, tag{"t", "x"}, tag{"t", "x"}, tag{"t", "X"}, tag{"T", "x"})}, sts{stored}, []int{0}},
	}
}

// TestStories puts each story three times: an event a batch, all in one batch,
// and an event a batch with the database closed in between.
func TestStories(t *testing.T) {
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			want := ids(s.events, s.left)
			for _, way := range []string{"apart", "together", "reopened"} {
				dir := t.TempDir()
				db := openStory(t, nil, dir)
				var got []store.Status
				switch way {
				case "together":
					got = put(t, db, s.events...)
				default:
					for _, ev := range s.events {
						got = append(got, put(t, db, ev)...)
						if way == "reopened" {
							db = openStory(t, db, dir)
						}
					}
				}
				if !slices.Equal(got, s.want) {
					t.Errorf("%s: got %v, want %v", way, got, s.want)
				}
				if ids := left(t, db); !slices.Equal(ids, want) {
					t.Errorf("%s: left are %v of %v", way, ids, want)
				}
				if ids := swept(t, db); !slices.Equal(ids, want) {
					t.Errorf("%s: after a sweep left are %v of %v", way, ids, want)
				}
			}
		})
	}
}

// TestStoriesShuffled: the end of a story does not depend on its order.
func TestStoriesShuffled(t *testing.T) {
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			db := openStory(t, nil, t.TempDir())
			events := slices.Clone(s.events)
			slices.Reverse(events)
			for range 2 {
				put(t, db, events...)
			}
			if got, want := left(t, db), ids(s.events, s.left); !slices.Equal(got, want) {
				t.Errorf("left are %v of %v", got, want)
			}
		})
	}
}

// openStory closes db, unless it is nil, and opens the database in dir at the
// time of the stories.
func openStory(t *testing.T, db *store.DB, dir string) *store.DB {
	t.Helper()
	if db != nil {
		testdb.Check(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return testdb.Open(t, func(o *store.Options) {
		o.Dir = dir
		o.Now = func() time.Time { return time.Unix(now, 0) }
	})
}

// ids returns the sorted ids of the events with these numbers, each once.
func ids(events []*nostr.Event, numbers []int) (ids []string) {
	for _, i := range numbers {
		ids = append(ids, hex.EncodeToString(events[i].Packed.ID()))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
