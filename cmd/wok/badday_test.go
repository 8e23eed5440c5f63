package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wok/internal/testdb"
)

// isolated is a command in a shell that may mount file systems, or skips.
func isolated(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	run := func(script string, args ...string) *exec.Cmd {
		return exec.Command("unshare", append([]string{"--mount", "--map-root-user", "sh", "-c", script}, args...)...)
	}
	if err := run(`mount -t tmpfs -o size=1m none "$0"`, t.TempDir()).Run(); err != nil {
		t.Skip("no file system can be mounted here:", err)
	}
	return run(script, args...)
}

// TestRelayFullDisk: while the disk is full the relay answers OK false with
// error: and goes on serving reads; when there is room it takes events again,
// without a restart.
func TestRelayFullDisk(t *testing.T) {
	dir := t.TempDir()
	cmd := isolated(t, `mount -t tmpfs -o size=40m none "$0" && head -c 36000000 /dev/zero > "$0/filler" || exit 9
		exec 3<&0
		(read line <&3 && rm "$0/filler" && echo removed >&2) &
		exec wok --db "$0/db" --set dbParams.minFreeBytes=16777216 relay --port 0`, dir)
	p := startCommand(t, cmd)
	c := dial(t, p.await(`msg=listening url=(\S+)`)[1])
	ev := testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: 1_700_000_000, Content: "hello"})
	c.publish(ev)
	if m := c.expect(`"OK"`); m[2] != "false" || !strings.HasPrefix(unquote(m[3]), "error: ") {
		t.Errorf("on a full disk: %s", m)
	}
	c.send(`["REQ","a",{"kinds":[1]}]`)
	c.expect(`"EOSE"`)
	c.send(`["CLOSE","a"]`)
	fmt.Fprintln(p.stdin)
	p.await("^removed$")
	c.publish(ev)
	if m := c.expect(`"OK"`); m[2] != "true" {
		t.Errorf("when there is room again: %s", m)
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, p.stderr())
	}
}

// TestReadOnlyMedia: what only reads works on a file system that cannot be
// written, and what writes says why it does not.
func TestReadOnlyMedia(t *testing.T) {
	var events bytes.Buffer
	for line := range testdb.Lines(testdb.Options{Events: 50}) {
		fmt.Fprintf(&events, "%s\n", line)
	}
	cmd := isolated(t, `mount -t tmpfs -o size=20m none "$0" && wok --db "$0" --set dbParams.minFreeBytes=0 import >/dev/null 2>&1 && mount -o remount,ro "$0" || exit 9
		for command in check info export "scan {}"; do
			wok --db "$0" $command >/dev/null || echo "$command: $?"
		done
		wok --db "$0" check --repair --into "$1" >/dev/null 2>&1 || echo "repair: $?"
		echo | wok --db "$0" import; echo "import: $?"`, t.TempDir(), filepath.Join(t.TempDir(), "new"))
	cmd.Stdin = &events
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if stdout.String() != "import: 1\n" || !strings.Contains(stderr.String(), "read-only file system") {
		t.Errorf("%s%s", &stdout, &stderr)
	}
}

// TestAnotherUsersFiles: who may not read the database, or only read it, is told
// so by its name.
func TestAnotherUsersFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	const nobody = 65534
	wok := publicCopy(t)
	db, _ := stored(t, 20)
	dir := db.Dir()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(filepath.Dir(wok), "db")
	if err := os.CopyFS(public, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		cmd := exec.Command(wok, append([]string{"--db", public}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Dir = "/"
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	modes := func(dirMode, fileMode os.FileMode) {
		t.Helper()
		err := errors.Join(os.Chmod(public, dirMode), os.Chmod(filepath.Join(public, "data.mdb"), fileMode), os.Chmod(filepath.Join(public, "lock.mdb"), fileMode))
		if err != nil {
			t.Fatal(err)
		}
	}
	modes(0o700, 0o600)
	for _, command := range []string{"info", "check", "import"} {
		if code, text := run(command); code != exitFailed || !strings.Contains(text, "permission denied") {
			t.Errorf("%s of a closed directory: exit code %d, %s", command, code, text)
		}
	}
	modes(0o755, 0o640)
	for _, command := range []string{"info", "check", "import"} {
		if code, text := run(command); code != exitFailed || !strings.Contains(text, "permission denied") {
			t.Errorf("%s of closed files: exit code %d, %s", command, code, text)
		}
	}
}

// publicCopy copies the program to where anybody may run it.
func publicCopy(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("wok")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "wok"), os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close(), os.Chmod(dir, 0o755), os.Chmod(to.Name(), 0o755)); err != nil {
		t.Fatal(err)
	}
	return to.Name()
}
