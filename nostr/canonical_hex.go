package nostr

import "wok/packed"

// decodeHex is packed.DecodeHex.
func decodeHex(dst, src []byte) bool { return packed.DecodeHex(dst, src) }
