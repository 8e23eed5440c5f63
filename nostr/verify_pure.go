//go:build !(libsecp256k1 && linux && cgo)

package nostr

func linkedC() bool { return false }

func verifyC(pubkey, msg *[32]byte, sig *[64]byte) bool {
	panic("nostr: built without libsecp256k1")
}
