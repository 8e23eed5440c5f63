package testdb

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// The fast walk must give the keys that the plain way gives.
func TestKeyIsPublicKeyOfSecret(t *testing.T) {
	w := newWalk(keySecret(0))
	for i := range 1000 {
		k := w.next()
		if i < 10 && k != Key(i) {
			t.Fatalf("key %d of the walk is not Key(%d)", i, i)
		}
		want, err := nostr.GetPublicKey(k.Secret())
		if err != nil {
			t.Fatal(err)
		}
		if k.Pubkey() != want {
			t.Fatalf("key %d: pubkey %s, want %s", i, k.Pubkey(), want)
		}
	}
}

func TestSign(t *testing.T) {
	tests := []Event{
		{Kind: 1, CreatedAt: 1700000000, Content: "hi"},
		{Kind: 30023, Tags: [][]string{{"d", ""}, {"d"}, {}, {"t", "a", "b"}}},
		{Kind: 65535, CreatedAt: 1<<40 - 1, Content: "\b\t\n\f\r\"\\/<>&\u2028\u007f\U0001f600 é"},
	}
	for i, e := range tests {
		line := Sign(i, e)
		if string(line) != string(Sign(i, e)) {
			t.Errorf("event %d is signed in two ways", i)
		}
		verify(t, line)
	}
}

// verify fails the test unless go-nostr takes line for a valid event that is
// spelled canonically.
func verify(t *testing.T, line []byte) {
	t.Helper()
	var e nostr.Event
	if err := e.UnmarshalJSON(line); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if !e.CheckID() {
		t.Fatalf("%s: wrong id, want %s", line, e.GetID())
	}
	if ok, err := e.CheckSignature(); !ok || err != nil {
		t.Fatalf("%s: wrong signature: %v", line, err)
	}
	d := Decode(line)
	if again := d.appendJSON(nil); string(again) != string(line) {
		t.Fatalf("%s\nis spelled otherwise:\n%s", line, again)
	}
}

func BenchmarkWalk(b *testing.B) {
	w := newWalk(keySecret(0))
	for b.Loop() {
		w.next()
	}
}

func BenchmarkSign(b *testing.B) {
	k, w := Key(0), newWalk(keySecret(1<<20))
	for b.Loop() {
		k.sign(w.next(), [32]byte{1})
	}
}
