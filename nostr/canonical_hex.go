package nostr

// hexDigits holds the value of each lowercase hex digit, 0xff for other bytes.
var hexDigits = func() (table [256]byte) {
	for i := range table {
		table[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		table[c] = byte(i)
	}
	return table
}()

// decodeHex fills dst from src and reports whether src is exactly twice as many
// lowercase hex digits (01-R5). encoding/hex takes upper case as well.
func decodeHex(dst, src []byte) bool {
	if len(src) != 2*len(dst) {
		return false
	}
	bad := byte(0)
	for i := range dst {
		hi, lo := hexDigits[src[2*i]], hexDigits[src[2*i+1]]
		bad |= hi | lo
		dst[i] = hi<<4 | lo
	}
	return bad <= 0x0f
}
