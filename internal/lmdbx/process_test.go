package lmdbx_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wok/internal/lmdbx"
)

// roleVar names what a process started by a test is to do in place of testing.
const roleVar = "LMDBX_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](os.Args[len(os.Args)-1]); err != nil {
		fmt.Println("error:", err)
	}
}

// roles are told the directory of a database.
var roles = map[string]func(dir string) error{
	"serve":  serve,
	"hold":   hold,
	"size":   size,
	"narrow": narrow,
	"heap":   heap,
}

// A process is another one on the same database, told what to do line by line.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts this test binary in a role, under a shell that first runs setup.
func start(t *testing.T, role, dir, setup string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command("bash", "-c", setup+`exec "$0" "$1"`, self, dir)}
	p.cmd.Env = append(os.Environ(), roleVar+"="+role)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.in, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	t.Cleanup(func() {
		p.in.Close()
		p.cmd.Wait()
	})
	return p
}

// ask sends a line, unless it is empty, and returns the answer.
func (p *process) ask(line string) string {
	p.t.Helper()
	if line != "" {
		if _, err := fmt.Fprintln(p.in, line); err != nil {
			p.t.Fatal(err)
		}
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%q is answered by %q (%v)", line, answer, err)
	}
	return strings.TrimSuffix(answer, "\n")
}

const tinyMap = 1 << 20

// serve counts blocks, or fills in a number of them, as often as it is asked.
func serve(dir string) error {
	env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables, MapSize: tinyMap}, accept, create)
	if err != nil {
		return err
	}
	defer env.Close()
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			fmt.Println("filled", fill(env, n, 100))
			continue
		}
		n, err := blocks(context.Background(), env)
		fmt.Println(n, err)
	}
	return nil
}

// TestGrowTogether: what one process writes past the end of another's map is
// read there all the same, and written past.
func TestGrowTogether(t *testing.T) {
	dir := t.TempDir()
	env := open(t, lmdbx.Options{Dir: dir, MapSize: tinyMap})
	other := start(t, "serve", dir, "")
	if got := other.ask(""); got != "ready" {
		t.Fatal(got)
	}
	if got := other.ask("count"); got != "0 <nil>" {
		t.Fatal(got)
	}
	for n := 0; n < 2000; n += 500 {
		for i := 0; i < 400; i += 100 { // grows by itself
			if err := fill(env, n+i, 100); err != nil {
				t.Fatal(err)
			}
		}
		if n%1000 == 0 { // the other's next look is a read, or a write
			if got := other.ask("count"); got != fmt.Sprint(n+400, " <nil>") {
				t.Fatal(got)
			}
		}
		if got := other.ask(fmt.Sprint(n + 400)); got != "filled <nil>" {
			t.Fatal(got)
		}
		if got, err := blocks(t.Context(), env); got != n+500 || err != nil {
			t.Fatalf("%d blocks of %d (%v)", got, n+500, err)
		}
	}
}

// hold keeps a reader on its snapshot until it is killed.
func hold(dir string) error {
	env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables}, accept, create)
	if err != nil {
		return err
	}
	return env.Read(context.Background(), func(*lmdbx.Txn) error {
		fmt.Println("ready")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	})
}

// TestStaleReader: a reader that was killed keeps no pages, once the database
// is opened again.
func TestStaleReader(t *testing.T) {
	dir := t.TempDir()
	env := open(t, lmdbx.Options{Dir: dir})
	if err := fill(env, 0, 100); err != nil {
		t.Fatal(err)
	}
	other := start(t, "hold", dir, "")
	if got := other.ask(""); got != "ready" {
		t.Fatal(got)
	}
	grows := func(env *lmdbx.Env) bool {
		before, err := env.Info()
		for i := 0; i < 30 && err == nil; i++ {
			err = fill(env, 0, 50)
		}
		after, err2 := env.Info()
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		return after.FileSize > 2*before.FileSize
	}
	if !grows(env) {
		t.Fatal("a reader keeps no pages: the test shows nothing")
	}
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	other.cmd.Wait()
	if err := env.Close(); err != nil {
		t.Fatal(err)
	}
	if grows(open(t, lmdbx.Options{Dir: dir})) {
		t.Error("pages are kept for a reader that is dead")
	}
}

// TestTooManyReaders: who finds no slot for a reader is told why, and finds one
// when another process has gone, killed or not.
func TestTooManyReaders(t *testing.T) {
	dir := t.TempDir()
	const slots = 4
	env := open(t, lmdbx.Options{Dir: dir, MaxReaders: slots})
	if err := fill(env, 0, 10); err != nil {
		t.Fatal(err)
	}
	var others []*process
	for range slots {
		p := start(t, "hold", dir, "")
		if got := p.ask(""); got != "ready" {
			t.Fatal(got)
		}
		others = append(others, p)
	}
	look := func() error { return env.Read(t.Context(), func(*lmdbx.Txn) error { return nil }) }
	if err := look(); err == nil || !strings.Contains(err.Error(), "raise dbParams.maxreaders") {
		t.Errorf("with no slot left: %v", err)
	}
	if err := fill(env, 0, 10); err != nil {
		t.Errorf("a write needs no slot: %v", err)
	}
	others[0].in.Close()
	others[0].cmd.Wait()
	if err := look(); err != nil {
		t.Errorf("with a slot given back: %v", err)
	}
	others[1].cmd.Process.Kill()
	others[1].cmd.Wait()
	if err := env.Close(); err != nil {
		t.Fatal(err)
	}
	env = open(t, lmdbx.Options{Dir: dir, MaxReaders: slots})
	if err := look(); err != nil {
		t.Errorf("with a slot left behind by a kill: %v", err)
	}
}

// size opens a database by its defaults and uses it.
func size(dir string) error {
	env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables}, accept, create)
	if err != nil {
		return err
	}
	defer env.Close()
	if err := fill(env, 0, 100); err != nil {
		return err
	}
	n, err := blocks(context.Background(), env)
	if err != nil {
		return err
	}
	info, err := env.Info()
	fmt.Println(n, info.MapSize)
	return err
}

// TestLimitedAddresses: where the address space is limited, the map takes less.
func TestLimitedAddresses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ulimit -v is not enforced here")
	}
	answer := start(t, "size", t.TempDir(), "ulimit -v 4000000; ").ask("")
	var n, mapSize int64
	if _, err := fmt.Sscan(answer, &n, &mapSize); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	if n != 100 || mapSize < 64<<20 || mapSize > 4_000_000<<10 {
		t.Errorf("%d blocks, map of %d bytes", n, mapSize)
	}
}

// limitAddresses lets the process have no more than that many bytes of address
// space beside what it has.
func limitAddresses(more uint64) error {
	var pages uint64
	if statm, err := os.ReadFile("/proc/self/statm"); err != nil {
		return err
	} else if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return err
	}
	limit := pages*uint64(os.Getpagesize()) + more
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit})
}

// narrow fills a database until the address space is at its end.
func narrow(dir string) error {
	env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables, MapSize: 32 << 20}, accept, create)
	if err != nil {
		return err
	}
	defer env.Close()
	// Enough for the test itself, and not for a larger map and what it must leave.
	if err := limitAddresses(384 << 20); err != nil {
		return err
	}
	full := 0
	for ; err == nil; full += 500 {
		err = fill(env, full, 500)
	}
	fmt.Println(err)
	n, err := blocks(context.Background(), env)
	fmt.Println(n == full-500, err)
	return nil
}

// TestNoAddresses: where the map cannot grow, a write fails and says why, and
// the database can be used further.
func TestNoAddresses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("RLIMIT_AS is not enforced here")
	}
	p := start(t, "narrow", t.TempDir(), "")
	if got := p.ask(""); !strings.Contains(got, "raise ulimit -v") {
		t.Error(got)
	}
	if got := p.ask(""); got != "true <nil>" {
		t.Error(got)
	}
}

// heap opens a database within the addresses it has and as many MiB more as it
// is told, and then wants memory for something else.
func heap(dir string) error {
	var more uint64
	if _, err := fmt.Scan(&more); err != nil {
		return err
	}
	if err := limitAddresses(more << 20); err != nil {
		return err
	}
	env, err := lmdbx.Open(lmdbx.Options{Dir: dir, Tables: tables}, accept, create)
	if err != nil {
		return err
	}
	defer env.Close()
	b := make([]byte, 200<<20)
	b[len(b)/2] = 1
	fmt.Println("ready")
	runtime.KeepAlive(b)
	return nil
}

// TestHeadroom: however little address space there is, a database that opens
// leaves the process enough to live on; else it says why it does not open.
func TestHeadroom(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("RLIMIT_AS is not enforced here")
	}
	if raced {
		t.Skip("the race detector takes addresses by the half gigabyte")
	}
	for _, more := range []int{100, 300, 550, 700, 1100, 1600} {
		answer := start(t, "heap", t.TempDir(), "").ask(fmt.Sprint(more))
		if opened := answer == "ready"; opened != (more > 600) || !opened && !strings.Contains(answer, "raise ulimit -v") {
			t.Errorf("%d MiB more: %q", more, answer)
		}
	}
}
