package ingest

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"
	"testing"

	"wok/nostr"
)

// checks returns how many signatures were checked, and how many not for being
// known.
func checks(p *Pipeline) [2]uint64 {
	s := p.Stats()
	return [2]uint64{s.Verified, s.Remembered}
}

// resign returns raw with a signature of one digit repeated.
func resign(raw []byte, digit string) []byte {
	at := bytes.Index(raw, []byte(`"sig":"`)) + len(`"sig":"`)
	out := bytes.Clone(raw)
	copy(out[at:], strings.Repeat(digit, 128))
	return out
}

func TestSameForgeryIsCheckedOnce(t *testing.T) {
	p := newPipeline(t, Options{})
	bad := resign(note(1, 0), "1")
	for range 10 {
		expect(t, await(t, p, bad), Invalid, "invalid: bad signature")
	}
	if got := checks(p); got != [2]uint64{1, 9} {
		t.Errorf("checked and remembered: %v", got)
	}
}

// The same id with another signature is another event, right or wrong
// (01-R4), whichever of them came first.
func TestSignatureIsPartOfTheEvent(t *testing.T) {
	p := newPipeline(t, Options{})
	raw := sign(20001, 0, "never stored, so always verified")
	for range 2 {
		expect(t, await(t, p, resign(raw, "1")), Invalid, "invalid: bad signature")
		expect(t, await(t, p, raw), Ephemeral, "")
		expect(t, await(t, p, resign(raw, "2")), Invalid, "invalid: bad signature")
	}
	if got := checks(p); got != [2]uint64{3, 3} {
		t.Errorf("checked and remembered: %v", got)
	}
}

// The id is part of the key too: a right signature of one event is none of
// another.
func TestVerdictIsOfOneID(t *testing.T) {
	p := newPipeline(t, Options{})
	a, b := note(1, 0), note(2, 0)
	expect(t, await(t, p, a), Stored, "")
	at := bytes.Index(a, []byte(`"sig":"`))
	mixed := append(bytes.Clone(b[:bytes.Index(b, []byte(`"sig":"`))]), a[at:]...)
	expect(t, await(t, p, mixed), Invalid, "invalid: bad signature")
	expect(t, await(t, p, bytes.Replace(a, []byte(`"x"`), []byte(`"y"`), 1)), Invalid, "invalid: id does not match")
	if got := checks(p); got != [2]uint64{2, 0} {
		t.Errorf("checked and remembered: %v", got)
	}
}

// What is refused after its signature was found right costs no second one when
// it comes again, and is refused again.
func TestRefusedAgainIsCheckedOnce(t *testing.T) {
	p := newPipeline(t, Options{Workers: 1})
	gone := sign(1, 20, "gone")
	for _, raw := range [][]byte{sign(0, 10, "new"), sign(5, 5, "", tag("e", idOf(gone)))} {
		expect(t, await(t, p, raw), Stored, "")
	}
	before := checks(p)
	for range 5 {
		expect(t, await(t, p, sign(0, 20, "old")), Superseded, "duplicate: ")
		expect(t, await(t, p, gone), Deleted, "blocked: ")
	}
	if got := checks(p); got != [2]uint64{before[0] + 2, before[1] + 8} {
		t.Errorf("checked and remembered: %v, before: %v", got, before)
	}
}

// Whatever comes, a set holds its number of verdicts, and forgets the oldest.
func TestVerdictsAreBounded(t *testing.T) {
	var v verdicts
	events := make([]*nostr.Event, verdictWays+1)
	for i := range events {
		ev, err := nostr.ParseEvent(resign(note(i+1, 0), "1"), nostr.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		binary.LittleEndian.PutUint64(ev.Packed, 7) // into one set, all with one signature
		events[i] = ev
	}
	verify := func(i int) (remembered bool) {
		t.Helper()
		err, remembered := v.verify(events[i])
		if err != nostr.BadSignature {
			t.Errorf("event %d: %v", i, err)
		}
		return remembered
	}
	for i := range events {
		if verify(i) {
			t.Errorf("event %d is known before it came", i)
		}
	}
	for i := len(events) - 1; i > 0; i-- {
		if !verify(i) {
			t.Errorf("event %d is forgotten", i)
		}
	}
	if verify(0) {
		t.Error("the oldest is not forgotten")
	}
}

// Many submit the same few events at once, each right, forged once and forged
// otherwise: nobody is told what another's signature deserves.
func TestVerdictsAtOnce(t *testing.T) {
	p := startPipeline(t, openStore(t), Options{Workers: 4})
	var wg sync.WaitGroup
	for i := range 3 {
		raw := sign(20001, i, "many")
		for range 4 {
			wg.Go(func() {
				for range 8 {
					for digit, want := range map[string]Outcome{"": Ephemeral, "1": Invalid, "2": Invalid} {
						sent := raw
						if digit != "" {
							sent = resign(raw, digit)
						}
						if res := await(t, p, sent); res.Outcome != want {
							t.Errorf("signature %q: %v", digit, res.Outcome)
						}
					}
				}
			})
		}
	}
	wg.Wait()
	// Nine verdicts; workers that check the same at once all do it.
	if got := checks(p); got[0] < 9 || got[0] > 9*4 || got[0]+got[1] != 3*4*8*3 {
		t.Errorf("checked and remembered: %v", got)
	}
}

func BenchmarkVerdicts(b *testing.B) {
	var v verdicts
	ev, err := nostr.ParseEvent(note(1, 0), nostr.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		v.verify(ev)
	}
}
