package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wok/internal/testdb"
)

// TestImportFullDisk: where the disk is full an import ends, and says so once,
// and what it has stored can be read. The disk is a small one, in memory.
func TestImportFullDisk(t *testing.T) {
	const mount = `mount -t tmpfs -o size=4m none "$0" && `
	isolated := func(script string, args ...string) *exec.Cmd {
		return exec.Command("unshare", append([]string{"--mount", "--map-root-user", "sh", "-c", script}, args...)...)
	}
	dir := t.TempDir()
	if err := isolated(mount+"true", dir).Run(); err != nil {
		t.Skip("no file system can be mounted here:", err)
	}
	var events bytes.Buffer
	for line := range testdb.Lines(testdb.Options{Events: 5000}) {
		fmt.Fprintf(&events, "%s\n", line)
	}
	file := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(file, events.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := isolated(mount+`wok --db "$0" --set dbParams.minFreeBytes=0 import --write-batch 500 "$1"
		status=$?
		wok --db "$0" check && exit $status`, dir, file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("ended with %v", err)
	}
	if n := strings.Count(stderr.String(), "ERROR"); n != 1 || !strings.Contains(stderr.String(), "no space left for writing") {
		t.Errorf("%d errors are logged:\n%s", n, &stderr)
	}
}
