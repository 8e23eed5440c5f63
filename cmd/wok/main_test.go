package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"wok/internal/testdb"
)

// TestMain makes the test binary serve as the command too: started as wok, by a
// script or by exec, it is wok.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"wok": main})
}

// TestScripts runs the sessions in testdata/script. Beside the usual commands
// of testscript they have:
//
//	gen FILE N [SEED]              write N invented events
//	event FILE KEY KIND TIME TEXT  append one event, signed by key number KEY;
//	                               TAG=VALUE after it are tags
//	append FILE TEXT               append TEXT; \n and \r in it are those characters
//	status N COMMAND...            run a command that must exit with N
//	cut FILE TO N                  copy the first N bytes
//	damage FILE TO                 copy, but for some bytes in the middle
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gen":    scriptGen,
			"event":  scriptEvent,
			"append": scriptAppend,
			"status": scriptStatus,
			"cut":    scriptCut,
			"damage": scriptDamage,
		},
	})
}

func scriptGen(ts *testscript.TestScript, _ bool, args []string) {
	opts := testdb.Options{Events: number(ts, args[1])}
	if len(args) > 2 {
		opts.Seed = uint64(number(ts, args[2]))
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	w := bufio.NewWriter(f)
	for line := range testdb.Lines(opts) {
		fmt.Fprintf(w, "%s\n", line)
	}
	ts.Check(w.Flush())
}

func scriptEvent(ts *testscript.TestScript, _ bool, args []string) {
	ev := testdb.Event{Kind: number(ts, args[2]), CreatedAt: int64(number(ts, args[3])), Content: args[4]}
	for _, tag := range args[5:] {
		name, value, _ := strings.Cut(tag, "=")
		ev.Tags = append(ev.Tags, []string{name, value})
	}
	appendTo(ts, args[0], string(testdb.Sign(number(ts, args[1]), ev))+"\n")
}

func scriptAppend(ts *testscript.TestScript, _ bool, args []string) {
	appendTo(ts, args[0], strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(args[1]))
}

func scriptStatus(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	code := 0
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if code != number(ts, args[0]) {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func scriptCut(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text[:number(ts, args[2])]), 0o666))
}

func scriptDamage(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(ts.ReadFile(args[0]))
	for i := range 64 {
		text[len(text)/2+i] ^= 0x55
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o666))
}

func appendTo(ts *testscript.TestScript, name, text string) {
	f, err := os.OpenFile(ts.MkAbs(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	ts.Check(err)
	_, err = f.WriteString(text)
	ts.Check(errors.Join(err, f.Close()))
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}
