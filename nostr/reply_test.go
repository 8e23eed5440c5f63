package nostr

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	gonostr "github.com/nbd-wtf/go-nostr"
)

// peerMessage reads a message with go-nostr; nil is what it cannot read.
func peerMessage(raw string) gonostr.Envelope {
	envelope, err := gonostr.NewMessageParser().ParseMessage(raw)
	if err != nil {
		return nil
	}
	return envelope
}

func TestReplies(t *testing.T) {
	tests := []struct{ got, want string }{
		{string(AppendEvent(nil, "s", []byte(`{"kind":1}`))), `["EVENT","s",{"kind":1}]`},
		{string(AppendOK(nil, hexA, true, "")), `["OK","` + hexA + `",true,""]`},
		{string(AppendOK(nil, hexA, false, PrefixInvalid.Reason("bad \"id\""))), `["OK","` + hexA + `",false,"invalid: bad \"id\""]`},
		{string(AppendEOSE(nil, "s", HintNone)), `["EOSE","s"]`},
		{string(AppendEOSE(nil, "s", HintFinish)), `["EOSE","s",["finish"]]`}, // 67-R1
		{string(AppendEOSE(nil, "s", HintMore)), `["EOSE","s",["more"]]`},
		{string(AppendClosed(nil, "s", "error: x")), `["CLOSED","s","error: x"]`},
		{string(AppendNotice(nil, "x")), `["NOTICE","x"]`},
		{string(AppendCount(nil, "s", Count{N: 18446744073709551615})), `["COUNT","s",{"count":18446744073709551615}]`},
		{string(AppendCount(nil, "s", Count{N: 1, Approximate: true, HLL: []byte{0, 255}})), `["COUNT","s",{"count":1,"approximate":true,"hll":"00ff"}]`},
		{string(AppendAuth(nil, "c")), `["AUTH","c"]`},
		{string(AppendNegMsg(nil, "s", []byte("a\x00"))), `["NEG-MSG","s","6100"]`},
		{string(AppendNegErr(nil, "s", "closed: x", 0)), `["NEG-ERR","s","closed: x"]`},
		{string(AppendNegErr(nil, "s", "blocked: x", 5)), `["NEG-ERR","s","blocked: x",5]`}, // 77-R2
		{string(AppendNotice([]byte("before"), "x")), `before["NOTICE","x"]`},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

// 01-R22: whatever a string holds, the message is valid, and the string comes
// back unless it is no text.
func TestReplyStrings(t *testing.T) {
	all := []string{"", "\x00\x01\x1f\x7f", "\b\f\n\r\t\"\\/", "\u2028\u2029\ufeff", "😀", "\xff", "a\xc3", "\xed\xa0\x80b", strings.Repeat("\xff", 3)}
	for c := range rune(0x120) {
		all = append(all, string(c), "a"+string(c)+"b")
	}
	for _, s := range all {
		got := appendString(nil, s)
		if !utf8.Valid(got) || !json.Valid(got) {
			t.Errorf("%q becomes %s", s, got)
		}
		want := s
		if !utf8.ValidString(s) {
			want = string([]rune(s)) // each bad byte is one U+FFFD
		}
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != want {
			t.Errorf("%q comes back as %q, %v", s, back, err)
		}
		own := lexer{data: got}
		if back, err := own.str(nil); err != nil || string(back) != want {
			t.Errorf("%q is read as %q, %v", s, back, err)
		}
	}
}

// Another library reads what we write, naughty strings and all.
func TestRepliesAreRead(t *testing.T) {
	for _, s := range naughtyStrings(t) {
		if !utf8.ValidString(s) {
			t.Fatalf("%q", s)
		}
		ok, _ := peerMessage(string(AppendOK(nil, hexA, true, s))).(*gonostr.OKEnvelope)
		if ok == nil || ok.EventID != hexA || !ok.OK || ok.Reason != s {
			t.Errorf("OK %q: %v", s, ok)
		}
		closed, _ := peerMessage(string(AppendClosed(nil, s, s))).(*gonostr.ClosedEnvelope)
		if closed == nil || closed.SubscriptionID != s || closed.Reason != s {
			t.Errorf("CLOSED %q: %v", s, closed)
		}
		eose, _ := peerMessage(string(AppendEOSE(nil, s, HintMore))).(*gonostr.EOSEEnvelope)
		if eose == nil || string(*eose) != s {
			t.Errorf("EOSE %q: %v", s, eose)
		}
		notice, _ := peerMessage(string(AppendNotice(nil, s))).(*gonostr.NoticeEnvelope)
		if notice == nil || string(*notice) != s {
			t.Errorf("NOTICE %q: %v", s, notice)
		}
		auth, _ := peerMessage(string(AppendAuth(nil, s))).(*gonostr.AuthEnvelope)
		if auth == nil || auth.Challenge == nil || *auth.Challenge != s {
			t.Errorf("AUTH %q: %v", s, auth)
		}
		count, _ := peerMessage(string(AppendCount(nil, s, Count{N: 7, HLL: make([]byte, 256)}))).(*gonostr.CountEnvelope)
		if count == nil || count.SubscriptionID != s || count.Count == nil || *count.Count != 7 || len(count.HyperLogLog) != 256 {
			t.Errorf("COUNT %q: %v", s, count)
		}
	}
}

// Real events sent on are read by another library as the same events.
func TestReplyRecordedEvents(t *testing.T) {
	recordedEvents(t, func(line, event []byte) {
		want, _ := peerMessage(string(line)).(*gonostr.EventEnvelope)
		got, _ := peerMessage(string(AppendEvent(nil, "a\"b", event))).(*gonostr.EventEnvelope)
		if want == nil || got == nil || *got.SubscriptionID != "a\"b" || got.Event.String() != want.Event.String() {
			t.Errorf("%s is read as %v", line, got)
		}
	})
}

func TestReplyAllocs(t *testing.T) {
	dst := make([]byte, 0, 4096)
	event := []byte(smallEvent)
	hll := make([]byte, 256)
	n := testing.AllocsPerRun(100, func() {
		AppendEvent(dst, "sub\n", event)
		AppendOK(dst, hexA, false, "invalid: \"x\" \xff\x01")
		AppendEOSE(dst, "sub", HintFinish)
		AppendClosed(dst, "sub", "error: x")
		AppendNotice(dst, "x")
		AppendCount(dst, "sub", Count{N: 12345, Approximate: true, HLL: hll})
		AppendAuth(dst, "challenge")
		AppendNegMsg(dst, "sub", event)
		AppendNegErr(dst, "sub", "blocked: x", 500)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPrefixed(t *testing.T) {
	for in, want := range map[string]string{
		"blocked: spam":        "blocked: spam",
		"rate-limited: slow":   "rate-limited: slow",
		"spam":                 "error: spam",
		"":                     "error: ",
		"blocked":              "error: blocked",
		" blocked: x":          "error:  blocked: x",
		"Blocked: x":           "error: Blocked: x",
		"http://example.com/":  "error: http://example.com/",
		"auth-required: first": "auth-required: first",
	} {
		if got := Prefixed(PrefixError, in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	event := []byte(smallEvent + strings.Repeat("x", 1000))
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		AppendEvent(dst, "subscription", event)
	}
}
