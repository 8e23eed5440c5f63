package nostr

import (
	"crypto/sha256"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct {
		name string
		raw  []byte
	}{
		{"note", benchNote()},
		{"follows", benchFollows()},
	} {
		b.Run(c.name, func(b *testing.B) {
			var p Parser
			b.SetBytes(int64(len(c.raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Parse(c.raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkID is the share of Parse that is sha256 over as many bytes.
func BenchmarkID(b *testing.B) {
	for _, c := range []struct {
		name string
		raw  []byte
	}{
		{"note", benchNote()},
		{"follows", benchFollows()},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := parsed(b, c.raw)
			b.SetBytes(int64(len(p.hashed)))
			b.ReportAllocs()
			for b.Loop() {
				sha256.Sum256(p.hashed)
			}
		})
	}
}

func parsed(tb testing.TB, raw []byte) *Parser {
	var p Parser
	if _, err := p.Parse(raw); err != nil {
		tb.Fatal(err)
	}
	return &p
}

func BenchmarkTags(b *testing.B) {
	e := mustParse(b, benchFollows())
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for tag := range e.Tags() {
			n += len(tag)
		}
		if n != 1600 {
			b.Fatal(n)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	v := bip340Vectors(b)[0]
	if !v.valid || len(v.msg) != 32 {
		b.Fatal("the first vector is not a good one")
	}
	pubkey, msg, sig := [32]byte(v.pubkey), [32]byte(v.msg), [64]byte(v.sig)
	for name, f := range map[string]func(pubkey, msg *[32]byte, sig *[64]byte) bool{
		SignatureBackend(): verify,
		backendGo:          verifyGo,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !f(&pubkey, &msg, &sig) {
					b.Fatal("refused")
				}
			}
		})
	}
}
