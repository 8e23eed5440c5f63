package nostr

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

const smallEvent = `{"id":"x","tags":[["e","]"],[]],"content":"[{\"\\"}`

// goodMessages are one of each verb and some odd spellings.
var goodMessages = []string{
	`["EVENT",` + smallEvent + `]`,
	` [ "EVENT" , ` + smallEvent + ` ]`,
	`["\u0045VENT",{}]`,
	`["REQ","sub",{}]`,
	`["REQ","s\u00fcb \ud83d\ude00\n\"\\",{"kinds":[1]},{"#t":["a"],"limit":0}]`,
	`["CLOSE","sub"]`,
	`["COUNT","sub",{"ids":[]}]`,
	`["COUNT","sub",{},{}]`,
	`["AUTH",` + smallEvent + `]`,
	`["NEG-OPEN","n",{"kinds":[1]},"6100000200"]`,
	`["NEG-MSG","n","61AB"]`,
	`["NEG-MSG","n",""]`,
	`["NEG-CLOSE","n"]`,
}

func TestParseMessage(t *testing.T) {
	read := func(raw string) Message {
		t.Helper()
		m, err := ParseMessage([]byte(raw), MessageLimits{})
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		return m
	}
	for _, i := range []int{0, 1} {
		if m := read(goodMessages[i]); m.Verb != VerbEvent || string(m.Event) != smallEvent {
			t.Errorf("%s: %+v", goodMessages[i], m)
		}
	}
	if m := read(goodMessages[2]); m.Verb != VerbEvent || string(m.Event) != `{}` {
		t.Errorf("%+v", m)
	}
	if m := read(goodMessages[4]); m.Verb != VerbReq || m.SubID != "süb 😀\n\"\\" || len(m.Filters) != 2 ||
		m.Filters[0].String() != `{"kinds":[1]}` || m.Filters[1].String() != `{"#t":["a"],"limit":0}` {
		t.Errorf("%+v", m)
	}
	if m := read(goodMessages[5]); m.Verb != VerbClose || m.SubID != "sub" {
		t.Errorf("%+v", m)
	}
	if m := read(goodMessages[7]); m.Verb != VerbCount || len(m.Filters) != 2 {
		t.Errorf("%+v", m)
	}
	if m := read(goodMessages[8]); m.Verb != VerbAuth || string(m.Event) != smallEvent {
		t.Errorf("%+v", m)
	}
	if m := read(goodMessages[9]); m.Verb != VerbNegOpen || m.SubID != "n" || len(m.Filters) != 1 || string(m.Payload) != "a\x00\x00\x02\x00" {
		t.Errorf("%+v", m)
	}
	if m := read(goodMessages[10]); m.Verb != VerbNegMsg || m.SubID != "n" || string(m.Payload) != "\x61\xab" {
		t.Errorf("%+v", m)
	}
	if m := read(goodMessages[12]); m.Verb != VerbNegClose || m.SubID != "n" {
		t.Errorf("%+v", m)
	}
}

// Every prefix of a message is an error and no panic, and so is anything behind it.
func TestMessagePrefixes(t *testing.T) {
	for _, raw := range goodMessages {
		if _, err := ParseMessage([]byte(raw+" \n"), MessageLimits{}); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		for n := range len(raw) {
			checkAnswered(t, raw[:n])
		}
		for _, more := range []string{"]", ",", "x", "[]", "\x00"} {
			checkAnswered(t, raw+more)
		}
	}
}

// checkAnswered checks that raw is refused with an answer that a client can read.
func checkAnswered(t *testing.T, raw string) *MessageError {
	t.Helper()
	_, err := ParseMessage([]byte(raw), MessageLimits{})
	var e *MessageError
	if !errors.As(err, &e) {
		t.Fatalf("%.100s: error %v is no MessageError", raw, err)
	}
	if reply := e.AppendReply(nil); !json.Valid(reply) || len(reply) > 3000 || peerMessage(string(reply)) == nil && !bytes.HasPrefix(reply, []byte(`["NEG-ERR",`)) {
		t.Fatalf("%.100s: answer %s", raw, reply)
	}
	return e
}

// 01-R22, 01-R34, 01-R37, 01-R44, 77-R2: what is refused gets its answer.
func TestMessageErrors(t *testing.T) {
	id64 := strings.Repeat("ü", 64)
	tests := []struct{ in, want string }{
		{``, `["NOTICE","invalid:`},
		{`{}`, `["NOTICE","invalid:`},
		{`null`, `["NOTICE","invalid:`},
		{`[]`, `["NOTICE","invalid:`},
		{`[1]`, `["NOTICE","invalid:`},
		{`["FOO","x"]`, `["NOTICE","unsupported: message \"FOO\""]`},
		{`["event",{}]`, `["NOTICE","unsupported:`},
		{`["` + strings.Repeat("E", 1000) + `"]`, `["NOTICE","unsupported: message \"EEEE`},
		{strings.Repeat("[", 60000), `["NOTICE","invalid:`},
		{strings.Repeat(`["REQ",`, 9000), `["NOTICE","invalid: the subscription id must be a string`},
		{"\xff\xfe", `["NOTICE","invalid:`},

		{`["EVENT"]`, `["NOTICE","invalid: EVENT has too few elements"]`},
		{`["EVENT",[]]`, `["NOTICE","invalid: EVENT must carry an event"]`},
		{`["EVENT","sub",{"id":"` + hexA + `"}]`, `["NOTICE","invalid: EVENT must carry an event"]`},
		{`["EVENT",{"kind":1}`, `["NOTICE","invalid:`},
		{`["EVENT",{"id":"` + hexA + `"},1]`, `["OK","` + hexA + `",false,"invalid: EVENT has too many elements"]`},
		{`["EVENT",{"id":"` + hexA + `"}`, `["OK","` + hexA + `",false,"invalid:`},
		{`["EVENT",{"id":"` + hexA + `","tags":[[}`, `["OK","` + hexA + `",false,"invalid:`},
		{`["EVENT",{"id":"` + hexA + `"}]x`, `["OK","` + hexA + `",false,"invalid:`},
		{`["EVENT",{"id":"` + hexA + `","x":` + strings.Repeat("[", 60000), `["OK","` + hexA + `",false,"invalid:`},
		{`["AUTH","challenge"]`, `["NOTICE","invalid: AUTH must carry an event"]`},
		{`["AUTH",{"id":"` + hexA + `"},1]`, `["OK","` + hexA + `",false,"invalid:`},

		{`["REQ"]`, `["NOTICE","invalid: REQ has too few elements"]`},
		{`["REQ",1,{}]`, `["NOTICE","invalid: the subscription id must be a string"]`},
		{`["REQ","x"]`, `["CLOSED","x","invalid: REQ has too few elements"]`},
		{`["REQ","",{}]`, `["CLOSED","","invalid:`},
		{`["REQ","` + id64 + `ü",{}]`, `["CLOSED","` + id64 + `ü","invalid:`},
		{`["REQ","` + strings.Repeat("x", 2000) + `",{}]`, `["NOTICE","invalid:`},
		{`["REQ","a\"\n\u0001",[]]`, `["CLOSED","a\"\n\u0001","invalid: filter 1: a filter must be an object"]`},
		{`["REQ","x",{},{"kinds":[-1]}]`, `["CLOSED","x","invalid: filter 2: kinds`},
		{`["REQ","x",{"search":"y"}]`, `["CLOSED","x","unsupported: filter 1: filter key \"search\""]`},
		{`["REQ","x",{}`, `["CLOSED","x","invalid:`},
		{`["REQ","x",{}]]`, `["CLOSED","x","invalid:`},
		{`["REQ","x",` + strings.Repeat("[", 60000), `["CLOSED","x","invalid:`},
		{`["REQ","x",{"y":` + strings.Repeat("[", 60000), `["CLOSED","x","unsupported:`},
		{`["REQ","x` + "\xff" + `",{}]`, `["NOTICE","invalid:`},
		{`["REQ","\ud800",{}]`, `["NOTICE","invalid:`},
		{`["COUNT","x"]`, `["CLOSED","x","invalid:`},
		{`["COUNT","x",{"&t":["a"]}]`, `["CLOSED","x","unsupported:`},
		{`["CLOSE"]`, `["NOTICE","invalid:`},
		{`["CLOSE",""]`, `["NOTICE","invalid:`},
		{`["CLOSE","x","y"]`, `["NOTICE","invalid: CLOSE has too many elements"]`},

		{`["NEG-OPEN","n",{}]`, `["NEG-ERR","n","invalid: NEG-OPEN has too few elements"]`},
		{`["NEG-OPEN","n",{},{},"61"]`, `["NEG-ERR","n","invalid: the payload must be a string"]`},
		{`["NEG-OPEN","n",{},16,"61"]`, `["NEG-ERR","n","invalid: the payload must be a string"]`},
		{`["NEG-OPEN","n",{},"6"]`, `["NEG-ERR","n","invalid: the payload must be hex"]`},
		{`["NEG-OPEN","n",{"search":""},"61"]`, `["NEG-ERR","n","unsupported:`},
		{`["NEG-MSG","n"]`, `["NEG-ERR","n","invalid:`},
		{`["NEG-MSG","n","zz"]`, `["NEG-ERR","n","invalid:`},
		{`["NEG-MSG",7,"61"]`, `["NOTICE","invalid:`},
		{`["NEG-CLOSE","n",1]`, `["NEG-ERR","n","invalid:`},
	}
	for _, tt := range tests {
		e := checkAnswered(t, tt.in)
		if reply := string(e.AppendReply(nil)); !strings.HasPrefix(reply, tt.want) {
			t.Errorf("%.100s\n got %s\nwant %s", tt.in, reply, tt.want)
		}
	}
	if m, err := ParseMessage([]byte(`["REQ","`+id64+`",{}]`), MessageLimits{}); err != nil || m.SubID != id64 {
		t.Errorf("64 characters of two bytes: %v", err)
	}
}

func TestMessageLimits(t *testing.T) {
	lim := MessageLimits{MaxBytes: 100, MaxFilters: 2}
	tests := []struct {
		in      string
		blocked bool
	}{
		{`["REQ","x",{},{}]`, false},
		{`["REQ","x",{},{},{}]`, true},
		{`["REQ","x",{},{},` + strings.Repeat(" ", 50) + `broken`, true}, // not even looked at
		{`["COUNT","x",{},{},{}]`, true},
		{`["REQ","x",{}` + strings.Repeat(" ", 100) + `]`, true},
	}
	for _, tt := range tests {
		_, err := ParseMessage([]byte(tt.in), lim)
		if !tt.blocked && err != nil {
			t.Errorf("%s: %v", tt.in, err)
		}
		if tt.blocked {
			checkRefusal(t, err, PrefixBlocked)
		}
	}
}

// 01-R22: any string of 1 to 64 characters is a subscription id and comes back.
func TestMessageNaughtySubIDs(t *testing.T) {
	for _, s := range naughtyStrings(t) {
		raw := append(appendString([]byte(`["REQ",`), s), `,{}]`...)
		m, err := ParseMessage(raw, MessageLimits{})
		if n := len([]rune(s)); n < 1 || n > MaxSubID {
			checkRefusal(t, err, PrefixInvalid)
			continue
		}
		if err != nil || m.SubID != s {
			t.Errorf("%q: %q, %v", s, m.SubID, err)
		}
		checkEcho(t, AppendEOSE(nil, m.SubID, HintNone), 1, s)
	}
}

// checkEcho checks that raw is an array whose i-th element is the string want.
func checkEcho(t *testing.T, raw []byte, i int, want string) {
	t.Helper()
	var list []any
	if err := json.Unmarshal(raw, &list); err != nil || len(list) <= i || list[i] != want {
		t.Errorf("%s: element %d is not %q (%v)", raw, i, want, err)
	}
}

// recordedEvents calls f for each good EVENT line of what relays have sent.
func recordedEvents(t testing.TB, f func(line, event []byte)) {
	const path = "../../shared/data/vectors/messages/go-nostr.messages.jsonl"
	file, err := os.Open(path)
	if err != nil {
		t.Skipf("the recorded messages are not here: %v", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var parts []json.RawMessage
		if json.Unmarshal(lines.Bytes(), &parts) == nil && len(parts) == 3 && string(parts[0]) == `"EVENT"` {
			f(lines.Bytes(), parts[2])
			n++
		}
	}
	if lines.Err() != nil || n < 400 {
		t.Errorf("%d recorded events, %v", n, lines.Err())
	}
}

// What relays have sent is read when a client sends it.
func TestMessageRecordedEvents(t *testing.T) {
	recordedEvents(t, func(_, event []byte) {
		raw := append(append([]byte(`["EVENT",`), event...), ']')
		m, err := ParseMessage(raw, MessageLimits{})
		if err != nil || !bytes.Equal(m.Event, event) {
			t.Errorf("%s: %s, %v", raw, m.Event, err)
		}
	})
}

// Of everything that was recorded, whole messages and pieces of some, what is no
// message of a client is refused, and the good events are what they say.
func TestRecordedMessages(t *testing.T) {
	whole, pieces := 0, 0
	eachLine(t, "vectors/messages/go-nostr.messages.jsonl", func(line []byte) {
		var refused *MessageError
		if _, err := ParseMessage(line, MessageLimits{}); !errors.As(err, &refused) {
			t.Fatalf("%s: %v", line, err)
		}
		checkEcho(t, refused.AppendReply(nil), 0, "NOTICE")
		if !json.Valid(line) {
			pieces++
			return
		}
		whole++
		var parts []json.RawMessage
		if json.Unmarshal(line, &parts); len(parts) != 3 {
			return // EOSE
		}
		e, err := ParseEvent(parts[2], Limits{})
		if err == nil {
			err = e.Verify()
		}
		if err != nil {
			t.Errorf("%s: %v", parts[2], err)
		}
	})
	if whole != 533 || pieces != 5 {
		t.Errorf("%d messages and %d pieces", whole, pieces)
	}
}

func TestMessageEventAllocs(t *testing.T) {
	raw := []byte(goodMessages[0])
	n := testing.AllocsPerRun(100, func() {
		if _, err := ParseMessage(raw, MessageLimits{}); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParseMessage(b *testing.B) {
	event := `{"id":"` + hexA + `","pubkey":"` + hexB + `","created_at":1700000000,"kind":1,"tags":[["e","` + hexA + `","wss://relay.example","reply"],["p","` + hexB + `"],["t","nostr"]],"content":"` +
		strings.Repeat("What is said in a note, line after line.\\n", 12) + `","sig":"` + hexA + hexB + `"}`
	for _, bb := range []struct{ name, raw string }{
		{"event", `["EVENT",` + event + `]`},
		{"req", `["REQ","home",{"kinds":[1,6],"#t":["nostr"],"limit":50}]`},
		{"feed500", `["REQ","home",{"kinds":[1,6],"authors":[` + wideKeys(500) + `],"limit":50}]`},
		{"close", `["CLOSE","home"]`},
	} {
		raw := []byte(bb.raw)
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := ParseMessage(raw, MessageLimits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
