package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wok/index"
	"wok/internal/lmdbx"
	"wok/internal/testdb"
)

// ok runs a command that must succeed, and returns its stdout.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	var out, talk bytes.Buffer
	if code := execute(t.Context(), args, stdio{out: &out, err: &talk}); code != exitOK {
		t.Fatalf("%v: exit code %d\n%s%s", args, code, &out, &talk)
	}
	return out.String()
}

// TestBackupLoad takes a full backup and increments, plain, compacted and through
// a pipe, while clients publish, replace and delete at a real relay, and then the
// last one when it has been killed. Each chain restores: the hash of the state
// agrees, and check finds nothing. The last is the source.
func TestBackupLoad(t *testing.T) {
	root := t.TempDir()
	dir, backups := filepath.Join(root, "db"), filepath.Join(root, "backups")
	relay, url := startRelay(t, "--db", dir, "--set", "relay.logging.invalidEvents=false")
	l := newLedger()
	var publishers sync.WaitGroup
	for i := range crashClients {
		p := newPublisher(t, url, l, i, uint64(i))
		publishers.Go(p.write)
		publishers.Go(p.read)
	}
	for i, args := range [][]string{
		{"backup", backups},
		{"backup", "--incremental", backups},
		{"backup", "--incremental", "--plain", backups},
		{"backup", "--compact", backups},
		{"backup", "--incremental", backups},
	} {
		<-l.after(150)
		p := start(t, append([]string{"--db", dir}, args...)...)
		if code := p.wait(); code != exitOK {
			t.Fatalf("backup %d: exit code %d\n%s", i, code, p.stderr())
		}
	}
	piped, err := exec.Command("wok", "--db", dir, "backup", "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	relay.kill()
	publishers.Wait()
	ok(t, "--db", dir, "backup", "--incremental", backups)

	for until := 1; until <= 6; until++ {
		to := filepath.Join(root, fmt.Sprint("until ", until))
		ok(t, "--db", to, "restore", "--until", fmt.Sprint(until), backups)
		ok(t, "--db", to, "check")
	}
	if got, want := ok(t, "--db", filepath.Join(root, "until 6"), "export"), ok(t, "--db", dir, "export"); got != want {
		t.Errorf("%d bytes of events are restored, of %d", len(got), len(want))
	}
	cmd := exec.Command("wok", "--db", filepath.Join(root, "piped"), "restore", "-")
	cmd.Stdin = bytes.NewReader(piped)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	// A restored database goes on as a relay.
	again, _ := startRelay(t, "--db", filepath.Join(root, "piped"))
	again.signal(syscall.SIGTERM)
	if code := again.wait(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, again.stderr())
	}
}

// TestCompactRunning: while a relay runs, or only reads, its database is not
// exchanged; a copy is made all the same.
func TestCompactRunning(t *testing.T) {
	db, _ := stored(t, 500)
	dir := db.Dir()
	db.Close()
	before := ok(t, "--db", dir, "export")
	relay, _ := startRelay(t, "--db", dir)
	p := start(t, "--db", dir, "compact", "--in-place")
	if code := p.wait(); code != exitFailed || !strings.Contains(p.stderr(), fmt.Sprintf("process %d has it open; stop the relay", relay.cmd.Process.Pid)) {
		t.Errorf("exit code %d\n%s", code, p.stderr())
	}
	copied := filepath.Join(t.TempDir(), "data.mdb")
	if p := start(t, "--db", dir, "compact", copied); p.wait() != exitOK {
		t.Error(p.stderr())
	}
	if got := ok(t, "--db", filepath.Dir(copied), "export"); got != before {
		t.Error("the copy differs")
	}
	relay.signal(syscall.SIGTERM)
	relay.wait()
	if p := start(t, "--db", dir, "compact", "--in-place"); p.wait() != exitOK {
		t.Error(p.stderr())
	}
	ok(t, "--db", dir, "check")
	if got := ok(t, "--db", dir, "export"); got != before {
		t.Error("what is left in place differs")
	}
}

// TestCompactKilled kills a compaction in place at any moment: each time the
// database is whole.
func TestCompactKilled(t *testing.T) {
	db, _ := stored(t, 2000)
	dir := db.Dir()
	db.Close()
	before := ok(t, "--db", dir, "export")
	// How long a whole one takes, from start to end.
	began := time.Now()
	if p := start(t, "--db", dir, "compact", "--in-place"); p.wait() != exitOK {
		t.Fatal(p.stderr())
	}
	whole := time.Since(began)
	ended := 0
	for i := range 30 {
		p := start(t, "--db", dir, "compact", "--in-place")
		timer := time.NewTimer(time.Duration(rand.Int64N(int64(whole) * 5 / 4)))
		<-timer.C
		p.kill()
		if p.cmd.ProcessState.Success() {
			ended++
		}
		if got := ok(t, "--db", dir, "export"); got != before {
			t.Fatalf("after kill %d there are %d bytes of events, of %d", i, len(got), len(before))
		}
	}
	t.Logf("%d of 30 came to their end", ended)
	ok(t, "--db", dir, "check")
}

// TestBackupFullDisk: where a file cannot be written to its end, there is none,
// and what was there stays.
func TestBackupFullDisk(t *testing.T) {
	db, _ := stored(t, 3000)
	dir := db.Dir()
	db.Close()
	small := t.TempDir()
	for name, script := range map[string]string{
		"a small file system": `mount -t tmpfs -o size=1m none "$1" && exec unlimited`,
		"a limit on files":    `ulimit -f 600 && exec unlimited`,
	} {
		for _, args := range []string{`backup "$1"`, `backup "$1"/a.tar`, `backup --since-levid 0 "$1"/a.tar`, `compact "$1"/a.mdb`} {
			t.Run(name+", "+args, func(t *testing.T) {
				unshare := []string{"--mount", "--map-root-user", "bash", "-c"}
				if exec.Command("unshare", append(unshare, "mount -t tmpfs none /mnt")...).Run() != nil {
					t.Skip("no file system can be mounted here")
				}
				command := strings.Replace(script, "exec unlimited", `{ wok --db "$0" `+args+`; echo "exit $?"; ls -A "$1"; }`, 1)
				out, err := exec.Command("unshare", append(unshare, "trap '' XFSZ; "+command, dir, small)...).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if !regexp.MustCompile(`(no space left on device|file too large)\nexit 1\n$`).Match(out) {
					t.Errorf("it said:\n%s", out)
				}
			})
		}
	}
}

// TestRestoreFullDisk: no database appears where it does not fit.
func TestRestoreFullDisk(t *testing.T) {
	db, _ := stored(t, 3000)
	dir, file := db.Dir(), filepath.Join(t.TempDir(), "a.tar.zst")
	db.Close()
	ok(t, "--db", dir, "backup", file)
	cmd := exec.Command("unshare", "--mount", "--map-root-user", "bash", "-c",
		`mount -t tmpfs -o size=2m none "$0" && { wok --db "$0" restore "$1"; echo "exit $?"; ls -A "$0"; }`, t.TempDir(), file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skip("no file system can be mounted here:", err)
	}
	if !strings.HasSuffix(string(out), "no space left on device\nexit 1\n") {
		t.Errorf("it said:\n%s", out)
	}
}

// TestInfoReaders: info names who reads an old snapshot, and those that a killed
// process has left.
func TestInfoReaders(t *testing.T) {
	db, _ := stored(t, 2000)
	dir := db.Dir()
	db.Close()
	startRelay(t, "--db", dir) // the first to open a database begins with no readers
	in, out, err := os.Pipe()  // that nobody reads
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p := &process{t: t, cmd: exec.Command("wok", "--db", dir, "backup", "-")}
	p.cmd.Stdout = out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	if _, err := in.Read(make([]byte, 512)); err != nil { // it is at work
		t.Fatal(err)
	}
	var events strings.Builder
	for i := range 20 {
		fmt.Fprintf(&events, "%s\n", testdb.Sign(1, testdb.Event{Kind: 1, CreatedAt: int64(1000 + i)}))
	}
	imp := start(t, "--db", dir, "import", "--write-batch=1")
	fmt.Fprint(imp.stdin, events.String())
	imp.stdin.Close()
	if code := imp.wait(); code != exitOK {
		t.Fatal(imp.stderr())
	}
	pattern := regexp.MustCompile(`(?m)^readers .* 1 in use, the oldest by process (\d+), (\d+) transactions back: .* of free pages wait$`)
	m := pattern.FindStringSubmatch(ok(t, "--db", dir, "info"))
	if m == nil || m[1] != strconv.Itoa(p.cmd.Process.Pid) || m[2] == "0" {
		t.Errorf("info said %q of process %d", m, p.cmd.Process.Pid)
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	var talk bytes.Buffer
	code := execute(t.Context(), []string{"--db", dir, "info"}, stdio{out: &bytes.Buffer{}, err: &talk})
	if code != exitOK || !strings.Contains(talk.String(), "reader slots were left by processes that have ended") {
		t.Errorf("exit code %d, %q", code, talk.String())
	}
}

// TestBackupOlder: a database from before there were identities gets one.
func TestBackupOlder(t *testing.T) {
	db, _ := stored(t, 10)
	dir := db.Dir()
	db.Close()
	forgetIdentity(t, dir)
	backups := filepath.Join(t.TempDir(), "backups")
	ok(t, "--db", dir, "backup", backups)
	ok(t, "--db", dir, "backup", "--incremental", backups)
	ok(t, "--db", filepath.Join(t.TempDir(), "db"), "restore", backups)
	if _, err := os.Stat(filepath.Join(backups, "wok-0002-incremental.tar.zst")); errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// forgetIdentity takes its identity from a database.
func forgetIdentity(t *testing.T, dir string) {
	t.Helper()
	var tables []lmdbx.Table
	for _, d := range index.Tables {
		tables = append(tables, lmdbx.Table{Name: d.Name, IntegerKey: d.IntegerKey, DupSort: d.DupSort, DupFixed: d.DupFixed})
	}
	env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables}, func(*lmdbx.Peek) error { return nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = env.Update(func(tx *lmdbx.Txn) error {
		found, err := tx.Delete(int(index.TableMeta), []byte("identity"), nil)
		if !found {
			err = errors.Join(err, errors.New("it had none"))
		}
		return err
	})
	if err := errors.Join(err, env.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestBackupDamaged: a damaged database can be backed up, whole, and the restore
// says what it is.
func TestBackupDamaged(t *testing.T) {
	dir, _ := damaged(t)
	file, to := filepath.Join(t.TempDir(), "a.tar"), filepath.Join(t.TempDir(), "db")
	ok(t, "--db", dir, "backup", file)
	var talk bytes.Buffer
	code := execute(t.Context(), []string{"--db", to, "restore", file}, stdio{out: &bytes.Buffer{}, err: &talk})
	if code != exitFailed || !strings.Contains(talk.String(), "was damaged already; with --no-check") {
		t.Errorf("exit code %d, %q", code, talk.String())
	}
	ok(t, "--db", to, "restore", "--no-check", file)
	ok(t, "--db", to, "info")
}

// TestBackupInterrupted: one that is told to end leaves nothing.
func TestBackupInterrupted(t *testing.T) {
	db, _ := stored(t, 3000)
	dir := db.Dir()
	db.Close()
	backups := t.TempDir()
	pipe := filepath.Join(backups, "a.tar.part") // nobody reads it, so the backup waits
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	p := start(t, "--db", dir, "backup", filepath.Join(backups, "a.tar"))
	r, err := os.Open(pipe) // it has begun to write
	if err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGINT)
	io.Copy(io.Discard, r)
	r.Close()
	if code := p.wait(); code == exitOK {
		t.Errorf("exit code %d\n%s", code, p.stderr())
	}
	if names, _ := filepath.Glob(filepath.Join(backups, "*")); len(names) > 0 {
		t.Errorf("left are %q", names)
	}
}
