package conformance

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestWok plays the whole suite with relays as an operator would start them.
func TestWok(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wok")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "wok/cmd/wok").CombinedOutput(); err != nil {
		t.Fatalf("build wok: %v\n%s", err, out)
	}
	program := NewProgram(path, t.TempDir())
	defer func() {
		if err := program.Close(); err != nil {
			t.Error(err)
		}
	}()
	report, err := loaded(t).Run(t.Context(), program.Relay, Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Outcome != Held {
			t.Error("not held:")
			r.Print(t.Output(), false)
		}
	}
}
