package nostr

import (
	"encoding/csv"
	"encoding/hex"
	"os"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

type bip340Vector struct {
	index, comment   string
	pubkey, msg, sig []byte
	valid            bool
}

// bip340Vectors reads the vectors that BIP-340 publishes.
func bip340Vectors(tb testing.TB) []bip340Vector {
	tb.Helper()
	f, err := os.Open("testdata/event_bip340.csv")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	var vectors []bip340Vector
	for _, row := range rows[1:] {
		v := bip340Vector{index: row[0], comment: row[7], valid: row[6] == "TRUE"}
		for field, dst := range map[int]*[]byte{2: &v.pubkey, 4: &v.msg, 5: &v.sig} {
			if *dst, err = hex.DecodeString(row[field]); err != nil {
				tb.Fatal(err)
			}
		}
		vectors = append(vectors, v)
	}
	return vectors
}

// 01-R4, on both implementations. The vectors with messages of another length
// than 32 bytes are left out: what nostr signs is always an id.
func TestBIP340(t *testing.T) {
	tried := 0
	for _, v := range bip340Vectors(t) {
		if len(v.msg) != 32 {
			continue
		}
		tried++
		pubkey, msg, sig := [32]byte(v.pubkey), [32]byte(v.msg), [64]byte(v.sig)
		for name, f := range map[string]func(pubkey, msg *[32]byte, sig *[64]byte) bool{
			SignatureBackend(): verify, backendGo: verifyGo,
		} {
			if got := f(&pubkey, &msg, &sig); got != v.valid {
				t.Errorf("vector %s (%s), %s: %v", v.index, v.comment, name, got)
			}
		}
	}
	if tried != 15 {
		t.Errorf("%d vectors, want 15", tried)
	}
}

func TestVerify(t *testing.T) {
	secret, pub := btcec.PrivKeyFromBytes([]byte{1, 2, 3})
	d := draft{pubkey: hex.EncodeToString(schnorr.SerializePubKey(pub))}
	e := mustParse(t, []byte(d.json()))
	if err := e.Verify(); err != BadSignature {
		t.Errorf("signature of nothing: %v", err)
	}
	sig, err := schnorr.Sign(secret, e.Packed.ID())
	if err != nil {
		t.Fatal(err)
	}
	at := len(e.JSON) - len(afterSig) - hexSig
	hex.Encode(e.JSON[at:], sig.Serialize())
	if err := e.Verify(); err != nil {
		t.Error(err)
	}
	for i := range 3 { // id, pubkey, signature
		bad := Event{Packed: e.Packed.Clone(), JSON: append([]byte(nil), e.JSON...)}
		if i < 2 {
			bad.Packed[32*i] ^= 1
		} else {
			bad.JSON[at] = e.JSON[at+1]
			bad.JSON[at+1] = e.JSON[at]
		}
		if err := bad.Verify(); err != BadSignature {
			t.Errorf("change %d: %v", i, err)
		}
	}
	if n := testing.AllocsPerRun(10, func() { e.Verify() }); SignatureBackend() == backendC && n > 0 {
		t.Errorf("%v allocations", n)
	}
}
