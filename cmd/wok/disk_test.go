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

// TestOpenFullDisk: where the disk is full a new database cannot be begun, and
// one without a lock file not be opened, which is an error and no SIGBUS. One
// whose lock file is there is read.
func TestOpenFullDisk(t *testing.T) {
	const script = `mount -t tmpfs -o size=8m none "$0" && cd "$0" || exit 9
		export WOK_DBPARAMS_MINFREEBYTES=0
		wok --db old import "$1" || exit 9
		truncate -s 0 old/lock.mdb
		wok --db old export - >/dev/null || exit 9
		cat /dev/zero > filler 2>/dev/null
		wok --db old export - >/dev/null; echo "read: $?"
		wok --db new import "$1"; echo "new: $?"
		rm old/lock.mdb; cat /dev/zero > rest 2>/dev/null
		wok --db old export - >/dev/null; echo "no lock: $?"`
	file := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%s\n", testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: 1_700_000_000})), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := isolated(t, script, t.TempDir(), file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if want := "read: 0\nnew: 1\nno lock: 1\n"; err != nil || !strings.HasSuffix(string(out), want) {
		t.Errorf("%v, %s instead of %s\n%s", err, out, want, &stderr)
	}
}

// TestDeleteFullDisk: where the disk has no free byte, and the file only some
// free pages, events can be deleted all the same.
func TestDeleteFullDisk(t *testing.T) {
	const script = `mount -t tmpfs -o size=40m none "$0" && cd "$0" || exit 9
		export WOK_DBPARAMS_MINFREEBYTES=0
		wok import "$1" >/dev/null && wok compact --in-place >/dev/null || exit 9
		for k in 16 1984; do wok delete --filter "{\"kinds\":[$k]}" >/dev/null || exit 9; done
		cat /dev/zero > filler 2>/dev/null
		wok delete --filter '{"kinds":[1]}' && wok check`
	var events bytes.Buffer
	for line := range testdb.Lines(testdb.Options{Events: 5000}) {
		fmt.Fprintf(&events, "%s\n", line)
	}
	file := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(file, events.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := isolated(t, script, t.TempDir(), file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
