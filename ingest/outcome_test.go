package ingest

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"wok/internal/testdb"
	"wok/nostr"
)

// sign signs an event of a kind at an age of seconds.
func sign(kind, age int, content string, tags ...[]string) []byte {
	return testdb.Sign(1, testdb.Event{Kind: kind, CreatedAt: int64(noon - age), Content: content, Tags: tags})
}

func tag(elements ...string) []string { return elements }

// A step submits one event and says what must come back.
type step struct {
	name   string
	raw    []byte
	door   SourceKind
	want   Outcome
	reason string
}

func TestOutcomes(t *testing.T) {
	plain, gone := sign(1, 10, "plain"), sign(1, 20, "soon gone")
	protected := sign(1, 30, "mine", tag("-"))
	steps := []step{
		{"new", plain, SourceIP4, Stored, ""},
		{"01-R40 again", plain, SourceIP6, Duplicate, "duplicate: "},
		{"01-R12 new version", sign(0, 10, "b"), SourceIP4, Stored, ""},
		{"01-R41 old version", sign(0, 20, "a"), SourceIP4, Superseded, "duplicate: a newer version is stored"},
		{"to be deleted", gone, SourceIP4, Stored, ""},
		{"deletion", sign(5, 5, "", tag("e", idOf(gone))), SourceIP4, Stored, ""},
		{"09-R6 deleted", gone, SourceIP4, Deleted, "blocked: deleted by author"},
		{"40-R2 expired", sign(1, 10, "", tag("expiration", "1699999999")), SourceIP4, Expired, "invalid: "},
		{"40-R5 not yet", sign(1, 10, "", tag("expiration", "1700000001")), SourceIP4, Stored, ""},
		{"01-R13 ephemeral", sign(20001, 10, "e"), SourceIP4, Ephemeral, ""},
		{"expired ephemeral", sign(20001, 10, "", tag("expiration", "1699999999")), SourceIP4, Expired, "invalid: "},
		{"42-R5 kind 22242", sign(22242, 0, ""), SourceIP4, Invalid, "invalid: "},
		{"70-R1 protected", protected, SourceIP4, Blocked, "auth-required: "},
		{"70-R4 protected, from a relay", protected, SourceStream, Blocked, "restricted: "},
		{"70-R4 protected, from a file", protected, SourceImport, Stored, ""},
		{"tag - with more", sign(1, 31, "", tag("-", "x")), SourceIP4, Stored, ""},
		{"70-R3 repost of protected", sign(6, 10, string(protected)), SourceIP4, Blocked, "restricted: "},
		{"70-R3 generic repost of protected", sign(16, 10, " "+string(protected)), SourceSync, Blocked, "restricted: "},
		{"repost of plain", sign(6, 10, string(plain)), SourceIP4, Stored, ""},
		{"repost of nothing", sign(6, 10, `["-"]`), SourceIP4, Stored, ""},
		{"01-R4 bad signature", forge(sign(1, 40, "")), SourceIP4, Invalid, "invalid: bad signature"},
		{"01-R1 wrong id", bytes.Replace(plain, []byte("plain"), []byte("plane"), 1), SourceIP4, Invalid, "invalid: id does not match"},
		{"01-R44 broken, id readable", plain[:len(plain)-1], SourceIP4, Invalid, "invalid: not valid JSON"},
	}
	p := newPipeline(t, Options{})
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			res := awaitFrom(t, p, s.raw, s.door)
			expect(t, res, s.want, s.reason)
			if id, _ := nostr.FindID(s.raw); res.ID != id {
				t.Errorf("answered for id %q, not %q", res.ID, id)
			}
			// 01-R39: a word of the list, and one to count by.
			if !res.OK && nostr.Prefixed(nostr.PrefixError, res.Reason) != res.Reason {
				t.Errorf("reason %q has no prefix", res.Reason)
			}
			if word, _, _ := strings.Cut(res.Reason, ":"); word != string(res.Prefix) {
				t.Errorf("prefix %q of reason %q", res.Prefix, res.Reason)
			}
			if !strings.HasPrefix(res.Reason, res.Class) {
				t.Errorf("class %q of reason %q", res.Class, res.Reason)
			}
		})
	}
	if has(t, p, sign(20001, 10, "e")) {
		t.Error("an ephemeral event is stored")
	}
}

func TestUnreadable(t *testing.T) {
	p := newPipeline(t, Options{})
	for _, raw := range []string{"", "{", "[]", "null", `{"id":"short"}`, strings.Repeat("[", 60_000), "\x00", `{"id":7`} {
		res := await(t, p, []byte(raw))
		expect(t, res, Invalid, "invalid: ")
		if res.ID != "" {
			t.Errorf("%.20q: id %q", raw, res.ID)
		}
	}
}

func TestTimeBounds(t *testing.T) {
	bounded := Rules{NewerThan: 900 * time.Second, OlderThan: time.Hour, EphemeralOlderThan: time.Minute}
	for _, c := range []struct {
		name  string
		rules Rules
		kind  int
		age   int
		want  Outcome
	}{
		{"as far ahead as may be", bounded, 1, -900, Stored},
		{"too far ahead", bounded, 1, -901, Invalid},
		{"far ahead, unbounded", Rules{}, 1, -1_000_000_000, Stored},
		{"ephemeral too far ahead", bounded, 20001, -901, Invalid},
		{"as old as may be", bounded, 1, 3600, Stored},
		{"too old", bounded, 1, 3601, Invalid},
		{"1970, unbounded", Rules{}, 1, noon, Stored},
		{"ephemeral as old as may be", bounded, 20001, 60, Ephemeral},
		{"ephemeral too old", bounded, 20001, 61, Invalid},
		{"59-R5 gift wrap of two days", bounded, 1059, 48 * 3600, Stored},
		{"59-R5 ephemeral gift wrap of two days", bounded, 21059, 48 * 3600, Ephemeral},
		{"gift wrap of a week", bounded, 1059, 7 * 24 * 3600, Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPipeline(t, Options{Rules: c.rules})
			res := await(t, p, sign(c.kind, c.age, ""))
			if res.Outcome != c.want {
				t.Errorf("got %v %q, want %v", res.Outcome, res.Reason, c.want)
			}
		})
	}
}

func TestApply(t *testing.T) {
	p := newPipeline(t, Options{Rules: Rules{Limits: nostr.Limits{MaxBytes: 100}}})
	raw := note(3, 0)
	expect(t, await(t, p, raw), Invalid, "invalid: the event is too large")
	p.Apply(Rules{})
	expect(t, await(t, p, raw), Stored, "")
}
