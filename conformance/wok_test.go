package conformance

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// open are rules that wok does not hold yet. A rule that is here and is held
// must go.
var open = []string{
	"01-R34", // a REQ that is refused leaves an open subscription of its id
	"67-R2",  // a limit cuts through the events of one second
}

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
		want := Held
		if slices.Contains(open, r.ID) {
			want = Broken
		}
		if r.Outcome != want {
			t.Errorf("want %s:", want)
			r.Print(t.Output(), false)
		}
	}
}
