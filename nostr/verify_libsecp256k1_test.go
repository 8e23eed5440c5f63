//go:build libsecp256k1 && linux && cgo

package nostr

import "testing"

// The weak declarations must have found the library: a binary that was asked
// for it must not fall back to a fifth of the speed unseen.
func TestLibraryIsLinked(t *testing.T) {
	if got := SignatureBackend(); got != backendC {
		t.Fatalf("signatures are checked by %s", got)
	}
}
