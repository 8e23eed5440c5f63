package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wok/internal/testdb"
)

// TestSyncOrder watches the system calls of an import: no meta page is written
// while a page before it has not been synced, and nothing is told of an event
// before its meta page is written, which the file's own flag syncs.
func TestSyncOrder(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace here")
	}
	dir := t.TempDir()
	var in bytes.Buffer
	for line := range testdb.Lines(testdb.Options{Events: 300}) {
		fmt.Fprintf(&in, "%s\n", line)
	}
	wok, err := exec.LookPath("wok")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "calls")
	cmd := exec.Command(strace, "-f", "-y", "-s", "8", "-o", log,
		"-e", "trace=openat,pwrite64,pwritev,write,writev,fdatasync,fsync,msync,sync_file_range",
		wok, "--db", filepath.Join(dir, "db"), "import", "--write-batch", "20")
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") || strings.Contains(string(out), "PTRACE") {
			t.Skip("processes cannot be traced here")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	metas, unsynced := 0, 0
	dsync := map[string]bool{}
	opened := regexp.MustCompile(`openat\(.*data\.mdb", (\S+).*\) = (\d+)`)
	for line := range strings.Lines(string(calls)) {
		if m := opened.FindStringSubmatch(line); m != nil {
			dsync[m[2]] = strings.Contains(m[1], "O_DSYNC")
		}
		if !strings.Contains(line, "data.mdb>") {
			continue
		}
		switch {
		case strings.Contains(line, "sync("):
			unsynced = 0
		case isMetaWrite(line):
			metas++
			if fd := regexp.MustCompile(`pwrite64\((\d+)<`).FindStringSubmatch(line); fd == nil || !dsync[fd[1]] {
				t.Errorf("a meta page is written without a sync: %s", line)
			}
			if unsynced > 0 {
				t.Errorf("%d writes were not synced before %s", unsynced, line)
			}
		case strings.Contains(line, "write"):
			unsynced++
		}
	}
	if metas < 10 {
		t.Errorf("only %d commits were seen", metas)
	}
}

// isMetaWrite reports whether a call writes into the first two pages.
func isMetaWrite(line string) bool {
	m := regexp.MustCompile(`pwrite64\(.*, (\d+), (\d+)\) *(=|<)`).FindStringSubmatch(line)
	if m == nil {
		return false
	}
	var at int
	fmt.Sscan(m[2], &at)
	return at > 0 && at < 8192 && m[1] != "4096"
}
