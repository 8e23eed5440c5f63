package nostr

import "github.com/btcsuite/btcd/btcec/v2/schnorr"

// The two implementations of BIP-340 that a binary can have.
const (
	backendC  = "libsecp256k1"
	backendGo = "pure Go"
)

// SignatureBackend names what checks signatures in this binary: "libsecp256k1"
// or, at a fifth of its speed, "pure Go". The build tag libsecp256k1 asks for
// the first, which needs cgo and Linux.
func SignatureBackend() string {
	if linkedC() {
		return backendC
	}
	return backendGo
}

// verify reports whether sig is pubkey's signature over msg (BIP-340). Any
// bytes may be given; their lengths are in the types, as C would read past
// shorter ones.
func verify(pubkey, msg *[32]byte, sig *[64]byte) bool {
	if linkedC() {
		return verifyC(pubkey, msg, sig)
	}
	return verifyGo(pubkey, msg, sig)
}

func verifyGo(pubkey, msg *[32]byte, sig *[64]byte) bool {
	key, err := schnorr.ParsePubKey(pubkey[:])
	if err != nil {
		return false
	}
	s, err := schnorr.ParseSignature(sig[:])
	return err == nil && s.Verify(msg[:], key)
}
