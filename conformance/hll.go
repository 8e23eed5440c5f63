package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"math/bits"
	"strconv"
	"strings"
)

// hll returns the 256 registers that a COUNT must answer with, as 512 hex
// digits, where the filter's first tag value is value and the authors of what
// it matches are pubkeys (NIP-45).
func hll(value string, pubkeys []string) string {
	registers := make([]byte, 256)
	offset := hllOffset(value)
	for _, pubkey := range pubkeys {
		b, _ := hex.DecodeString(pubkey)
		zeros := 0
		for _, c := range b[offset+1:] {
			zeros += bits.LeadingZeros8(c)
			if c != 0 {
				break
			}
		}
		registers[b[offset]] = max(registers[b[offset]], byte(zeros+1))
	}
	return hex.EncodeToString(registers)
}

// hllOffset returns which byte of a pubkey names the register: 8 to 23.
func hllOffset(value string) int {
	digits := value
	if parts := strings.SplitN(value, ":", 3); len(parts) == 3 && isHex(parts[1], 64) {
		digits = parts[1]
	} else if !isHex(value, 64) {
		sum := sha256.Sum256([]byte(value))
		digits = hex.EncodeToString(sum[:])
	}
	n, _ := strconv.ParseUint(digits[32:33], 16, 8)
	return int(n) + 8
}

// isHex reports whether s is n lowercase hex digits.
func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}
