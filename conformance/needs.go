package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Need is what a relay must offer for a case to apply.
type Need struct {
	NIP    int    // advertised in supported_nips, or 0
	Option string // or an option it was started with, such as pow=8
}

// parseNeed reads what stands after the word needs: "nip 42" or "pow=8".
func parseNeed(text string) (Need, error) {
	if number, ok := strings.CutPrefix(text, "nip "); ok {
		nip, err := strconv.Atoi(number)
		return Need{NIP: nip}, err
	}
	if text == "" || strings.Contains(text, " ") {
		return Need{}, fmt.Errorf("needs %q: a nip, or name=value", text)
	}
	return Need{Option: text}, nil
}

// options returns the options among needs, sorted.
func options(needs []Need) (names []string) {
	for _, n := range needs {
		if n.Option != "" {
			names = append(names, n.Option)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lacks says which of the needs the relay does not advertise, "" for none.
func (t *Target) lacks(needs []Need) string {
	for _, n := range needs {
		if n.NIP != 0 && !slices.Contains(t.NIPs, n.NIP) {
			return fmt.Sprintf("NIP-%02d is not advertised", n.NIP)
		}
	}
	return ""
}
