package invariants_test

import (
	"bytes"
	"testing"

	"wok/internal/invariants"
)

func TestMangle(t *testing.T) {
	b := []byte("borrowed")
	invariants.Mangle(b)
	if changed := !bytes.Equal(b, []byte("borrowed")); changed != invariants.Enabled {
		t.Errorf("Mangle left %q, with Enabled %v", b, invariants.Enabled)
	}
}
