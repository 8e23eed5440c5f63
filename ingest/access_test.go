package ingest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wok/internal/testdb"
	"wok/nostr"
)

// authed returns a client that has authenticated as these test keys.
func authed(t testing.TB, keys ...int) Source {
	t.Helper()
	src := Source{Kind: SourceIP4, Info: "127.0.0.1"}
	for _, n := range keys {
		b, err := hex.DecodeString(testdb.Key(n).Pubkey())
		if err != nil {
			t.Fatal(err)
		}
		src.Authed = append(src.Authed, [32]byte(b))
	}
	return src
}

// 70-R1, 70-R2, 70-R4; 42-R3: every key of the connection counts. The events are
// those of key 1.
func TestProtected(t *testing.T) {
	p := newPipeline(t, Options{})
	for i, c := range []struct {
		name   string
		src    Source
		want   Outcome
		reason string
	}{
		{"nobody", Source{}, Blocked, "auth-required: "},
		{"another", authed(t, 2), Blocked, "restricted: "},
		{"its author", authed(t, 1), Stored, ""},
		{"several, its author among them", authed(t, 2, 3, 1), Stored, ""},
		{"a stream", Source{Kind: SourceStream}, Blocked, "restricted: "},
		{"a stream with keys", Source{Kind: SourceStream, Authed: authed(t, 1).Authed}, Blocked, "restricted: "},
		{"a sync", Source{Kind: SourceSync}, Blocked, "restricted: "},
		{"a file", Source{Kind: SourceImport}, Stored, ""},
		{"our own", Source{Kind: SourceStored}, Stored, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := sign(1, 100+i, "", tag("t", "x"), tag("-"))
			expect(t, awaitSource(t, p, raw, c.src), c.want, c.reason)
		})
	}
	expect(t, await(t, p, sign(20001, 0, "", tag("-"))), Blocked, "auth-required: ")
	// The tag has one item: with more it is another, which means nothing.
	for i, other := range [][]string{{"-", "x"}, {"-", ""}, {"x", "-"}, {""}, {}, {"--"}} {
		expect(t, await(t, p, sign(1, 200+i, `["-"]`, other)), Stored, "")
	}
}

// 70-R3: a repost carries no protected event, however that is spelled, also from
// the author of the one or the other.
func TestRepostOfProtected(t *testing.T) {
	p := newPipeline(t, Options{})
	protected, plain := string(sign(1, 30, "mine", tag("-"))), string(sign(1, 31, "all's", tag("-", "x"), tag("p", "-")))
	respell := func(from, to string) string { return strings.Replace(protected, from, to, 1) }
	for i, c := range []struct {
		name, content string
		want          Outcome
	}{
		{"as it is", protected, Blocked},
		{"with white space", respell(`["-"]`, "\t[ \n\"-\"\r ] "), Blocked},
		{"with an escape", respell(`["-"]`, `["\u002d"]`), Blocked},
		{"with another escape", respell(`["-"]`, `["\u002D"]`), Blocked},
		{"with an escaped key", respell(`"tags"`, `"t\u0061gs"`), Blocked},
		{"with a key more", respell(`{`, `{"x":[{"y":"\\\""}],`), Blocked},
		{"with a key twice", respell(`{`, `{"tags":[],`), Blocked},
		{"with half a pair", respell(`{`, `{"x":"\ud800",`), Blocked},
		{"with a number of no size", respell(`"created_at":`, `"created_at":1e999,"created_at":`), Blocked},
		{"with text behind", protected + " and so on", Blocked},
		{"with another id", respell(`"id":"`, `"id":"x`), Blocked},
		{"among other tags", respell(`["-"]`, `["e","x"],[],["-"],["-","y"]`), Blocked},
		{"in a list", "[" + protected + "]", Blocked},
		{"plain", plain, Stored},
		{"nothing", "", Stored},
		{"the tag alone", `["-"]`, Stored},
		{"the tag in the content", string(sign(1, 32, `{"tags":[["-"]]}`)), Stored},
		{"an open string", `{"tags":[["-"`, Stored},
		{"an open escape", `{"tags":[["\`, Stored},
		{"the dash as a key", `{"tags":[{"-":1}]}`, Stored},
		{"closed too often", `]]]][[["-"]]]`, Stored},
	} {
		for _, kind := range []int{kindRepost, kindGenericRepost} {
			t.Run(fmt.Sprint(c.name, kind), func(t *testing.T) {
				reason := ""
				if c.want == Blocked {
					reason = "restricted: "
				}
				expect(t, awaitSource(t, p, sign(kind, 100+i, c.content), authed(t, 1)), c.want, reason)
			})
		}
	}
	// Other kinds may quote what they like.
	expect(t, await(t, p, sign(1, 100, protected)), Stored, "")
	expect(t, awaitFrom(t, p, sign(6, 99, protected), SourceImport), Stored, "")
}

// FuzzEmbedsProtected compares with a reader that is less strict than ours and
// takes the last of several keys.
func FuzzEmbedsProtected(f *testing.F) {
	f.Add(`{"tags":[["-"]]}`)
	f.Add(` { "a" : "\"[" , "tags" : [ [ "t" , "-" ] , [ "\u002D" ] ] } `)
	f.Add(`{"tags":[["-","x"],[]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var event struct{ Tags [][]string }
		if json.Unmarshal([]byte(text), &event) != nil {
			embedsProtected([]byte(text)) // only must end
			return
		}
		for _, tag := range event.Tags {
			if len(tag) == 1 && tag[0] == "-" && !embedsProtected([]byte(text)) {
				t.Errorf("%q has the tag", text)
			}
		}
	})
}

// 13-R1: the leading zero bits of an id.
func TestDifficulty(t *testing.T) {
	for text, want := range map[string]int{
		"000000000e9d97a1ab09fc381030b346cdd7a142ad57e6df0b46dc9bef6c7e2d": 36,
		"80" + strings.Repeat("0", 62):                                     0,
		"01" + strings.Repeat("f", 62):                                     7,
		"00" + strings.Repeat("f", 62):                                     8,
		strings.Repeat("0", 64):                                            256,
		strings.Repeat("0", 63) + "1":                                      255,
	} {
		id, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := difficulty(id); got != want {
			t.Errorf("%s has %d, want %d", text, got, want)
		}
	}
}

// mined returns an event of at least that difficulty, or with less than it where
// less is set.
func mined(t *testing.T, bits int, less bool, kind int, tags ...[]string) []byte {
	t.Helper()
	for n := range 100_000 {
		raw := sign(kind, 0, fmt.Sprint(n), tags...)
		id, _ := hex.DecodeString(idOf(raw))
		if difficulty(id) >= bits != less {
			return raw
		}
	}
	t.Fatal("no luck")
	return nil
}

// 13-R2, 13-R3: the id has the difficulty, and the nonce tag says that it was
// meant to. Neither is asked of a file or of a request to vanish.
func TestProofOfWork(t *testing.T) {
	const bits = 6
	p := newPipeline(t, Options{Rules: Rules{MinPoW: bits}})
	nonce := func(more ...string) []string { return append([]string{"nonce"}, more...) }
	for _, c := range []struct {
		name   string
		raw    []byte
		want   Outcome
		reason string
	}{
		{"enough", mined(t, bits, false, 1, nonce("1", "6")), Stored, ""},
		{"more was meant", mined(t, bits, false, 1, nonce("2", "20")), Stored, ""},
		{"not enough", mined(t, bits, true, 1, nonce("3", "6")), Blocked, "pow: difficulty "},
		{"none", mined(t, bits, true, 1), Blocked, "pow: difficulty "},
		{"luck", mined(t, bits, false, 1), Blocked, "pow: the nonce tag"},
		{"less was meant", mined(t, bits, false, 1, nonce("4", "5")), Blocked, "pow: the nonce tag"},
		{"nothing was meant", mined(t, bits, false, 1, nonce("5")), Blocked, "pow: the nonce tag"},
		{"nonsense was meant", mined(t, bits, false, 1, nonce("5", "-6")), Blocked, "pow: the nonce tag"},
		{"too much was meant", mined(t, bits, false, 1, nonce("5", "99999999999999999999")), Blocked, "pow: the nonce tag"},
		{"meant twice", mined(t, bits, false, 1, nonce("6", "1"), nonce("6", "6")), Blocked, "pow: the nonce tag"},
		{"ephemeral", mined(t, bits, true, 20001), Blocked, "pow: difficulty "},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := await(t, p, c.raw)
			expect(t, res, c.want, c.reason)
			class := c.reason
			if class == "pow: difficulty " { // told with the two numbers
				class = errWork.Error()
			}
			if !strings.HasPrefix(res.Class, class) || strings.ContainsAny(res.Class, "0123456789") {
				t.Errorf("counted as %q", res.Class)
			}
		})
	}
	raw := mined(t, bits, true, 1, tag("t", "file"))
	expect(t, awaitFrom(t, p, raw, SourceStream), Blocked, "pow: ")
	expect(t, awaitFrom(t, p, raw, SourceImport), Stored, "")
	expect(t, await(t, p, mined(t, bits, true, 62, tag("relay", "ALL_RELAYS"))), Stored, "") // 62-R6
}

// 59-R4, 42-R6: any key will do, none will not.
func TestAuthToWrite(t *testing.T) {
	all, wraps := Rules{AuthToWrite: true}, Rules{AuthToWrap: true}
	for i, c := range []struct {
		name   string
		rules  Rules
		kind   int
		src    Source
		want   Outcome
		reason string
	}{
		{"note, nobody", all, 1, Source{}, Blocked, "auth-required: "},
		{"note, somebody", all, 1, authed(t, 7), Stored, ""},
		{"ephemeral, nobody", all, 20001, Source{}, Blocked, "auth-required: "},
		{"note, a file", all, 1, Source{Kind: SourceImport}, Stored, ""},
		{"note, a relay", all, 1, Source{Kind: SourceStream}, Stored, ""},
		{"wrap, nobody", wraps, 1059, Source{}, Blocked, "auth-required: "},
		{"wrap that is not stored, nobody", wraps, 21059, Source{}, Blocked, "auth-required: "},
		{"wrap, somebody", wraps, 1059, authed(t, 7), Stored, ""},
		{"note beside wraps, nobody", wraps, 1, Source{}, Stored, ""},
		{"AUTH, somebody", all, 22242, authed(t, 1), Invalid, "invalid: "}, // 42-R5
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPipeline(t, Options{Rules: c.rules})
			expect(t, awaitSource(t, p, sign(c.kind, i, ""), c.src), c.want, c.reason)
		})
	}
	p := newPipeline(t, Options{Rules: all})
	expect(t, await(t, p, sign(62, 0, "", tag("relay", "ALL_RELAYS"))), Stored, "") // 62-R6
}

// 62-R1: whom a request to vanish is for.
func TestVanishIsForUs(t *testing.T) {
	var urls []nostr.RelayURL
	for _, text := range []string{"wss://relay.example.com", "ws://abc.onion:7777/in"} {
		u, err := nostr.ParseRelayURL(text)
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, u)
	}
	relay := func(v string) []string { return []string{"relay", v} }
	for _, c := range []struct {
		name   string
		tags   [][]string
		want   Outcome
		reason string
	}{
		{"us", [][]string{relay("wss://relay.example.com")}, Stored, ""},
		{"us, otherwise spelled", [][]string{relay("WS://Relay.Example.COM:443/")}, Stored, ""},
		{"us, by the other URL", [][]string{relay("ws://abc.onion:7777/in/")}, Stored, ""},
		{"us among others", [][]string{relay("wss://other.example"), {"p", "x"}, relay("wss://relay.example.com/")}, Stored, ""},
		{"all", [][]string{relay("ALL_RELAYS")}, Stored, ""},
		{"others", [][]string{relay("wss://other.example"), relay("nonsense")}, Blocked, "blocked: "},
		{"another path", [][]string{relay("wss://relay.example.com/in")}, Blocked, "blocked: "},
		{"another host", [][]string{relay("wss://xrelay.example.com")}, Blocked, "blocked: "},
		{"all in lower case", [][]string{relay("all_relays")}, Blocked, "blocked: "},
		{"nobody", nil, Invalid, "invalid: "},
		{"a relay tag of one item", [][]string{{"relay"}, {"r", "ALL_RELAYS"}}, Invalid, "invalid: "},
	} {
		for _, door := range []SourceKind{SourceIP4, SourceImport, SourceSync} {
			t.Run(fmt.Sprint(c.name, " by ", door), func(t *testing.T) {
				p := newPipeline(t, Options{Rules: Rules{URLs: urls}})
				old := sign(1, 1, "old")
				expect(t, await(t, p, old), Stored, "")
				expect(t, awaitFrom(t, p, sign(62, 0, "", c.tags...), door), c.want, c.reason)
				want := Duplicate
				if c.want == Stored {
					want = Vanished
				}
				if res := await(t, p, old); res.Outcome != want {
					t.Errorf("then the old event: %v", res.Outcome)
				}
			})
		}
	}
}

// 62-R4, 62-R9: what has vanished comes in by no door, before and after it is
// removed from disk, nor is it sent on where it would not be stored.
func TestVanishedStaysOut(t *testing.T) {
	p := newPipeline(t, Options{})
	const me, other = 1, 2
	to := func(n int) []string { return tag("p", testdb.Key(n).Pubkey()) }
	wrap := func(age int) []byte {
		return testdb.Sign(other, testdb.Event{Kind: 1059, CreatedAt: int64(noon - age), Tags: [][]string{to(other), to(me)}})
	}
	gone := [][]byte{sign(1, 50, "a"), sign(1, 51, "b"), sign(0, 50, ""), sign(20001, 50, ""), sign(5, 50, ""), wrap(50), wrap(51)}
	for _, raw := range [][]byte{gone[0], gone[2], gone[5]} {
		expect(t, await(t, p, raw), Stored, "")
	}
	request := sign(62, 50, "", tag("relay", "ALL_RELAYS"))
	expect(t, await(t, p, request), Stored, "")
	for _, swept := range []bool{false, true} {
		for _, door := range []SourceKind{SourceIP4, SourceIP6, SourceImport, SourceStream, SourceSync, SourceStored} {
			for _, raw := range gone {
				expect(t, awaitFrom(t, p, raw, door), Vanished, "blocked: its author or recipient has asked to vanish")
			}
		}
		expect(t, await(t, p, request), Duplicate, "duplicate: ")
		if !swept {
			if s, err := p.db.Sweep(t.Context()); err != nil || s.Vanished != 3 {
				t.Errorf("swept %+v, %v", s, err)
			}
		}
	}
	for _, raw := range [][]byte{sign(1, 49, "later"), sign(0, 49, ""), sign(20001, 49, ""), wrap(49)} {
		if res := await(t, p, raw); !res.OK {
			t.Errorf("what came after the request: %v", res)
		}
	}
}
