package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"
)

// A process is wok at work in a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout bytes.Buffer // to be read after wait

	lines chan string // of stderr, closed at its end

	mu  sync.Mutex
	log bytes.Buffer // stderr so far
}

// start starts wok. What is left of it at the end of the test is killed.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startCommand(t, exec.Command("wok", args...))
}

// startCommand is start of a command that runs wok.
func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, lines: make(chan string, 1000)}
	p.cmd.Stdout = &p.stdout
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go p.follow(stderr)
	return p
}

// follow keeps stderr, and passes its lines on while somebody asks for them.
func (p *process) follow(stderr io.Reader) {
	defer close(p.lines)
	for s := bufio.NewScanner(stderr); s.Scan(); {
		p.mu.Lock()
		p.log.WriteString(s.Text() + "\n")
		p.mu.Unlock()
		select {
		case p.lines <- s.Text():
		default:
		}
	}
}

// stderr returns what the process has said so far.
func (p *process) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// await reads stderr up to a line that matches, and returns its submatches.
func (p *process) await(pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	for line := range p.lines {
		if m := re.FindStringSubmatch(line); m != nil {
			return m
		}
	}
	p.t.Fatalf("%v ended without %q:\n%s", p.cmd.Args, pattern, p.stderr())
	return nil
}

// wait waits for the end of the process and returns its exit code, -1 where a
// signal has killed it.
func (p *process) wait() int {
	for range p.lines { // StderrPipe wants to be read to its end first
	}
	p.cmd.Wait() // the error repeats the exit code
	return p.cmd.ProcessState.ExitCode()
}

// signal sends a signal, which the end of the process may forestall.
func (p *process) signal(s syscall.Signal) { p.cmd.Process.Signal(s) }

// kill kills the process, as a crash does, and waits for its end.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		p.cmd.Process.Kill()
		p.wait()
	}
}

// startRelay starts a relay on a free port and returns its address.
func startRelay(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	p := start(t, append([]string{"relay", "--port", "0"}, args...)...)
	return p, p.await(`msg=listening url=(\S+)`)[1]
}

// A client is a nostr client at the other end of a websocket.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

// dial connects to a relay and takes its challenge.
func dial(t *testing.T, url string) *client {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	c := &client{t, ws}
	c.expect(`"AUTH"`)
	return c
}

func (c *client) send(message string) {
	c.t.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
}

// publish sends an event without waiting for its answer.
func (c *client) publish(event []byte) { c.send(`["EVENT",` + string(event) + `]`) }

// receive returns the next message, whose elements are left as JSON.
func (c *client) receive() []string {
	c.t.Helper()
	_, message, err := c.ws.ReadMessage()
	if err != nil {
		c.t.Fatal(err)
	}
	m, err := elements(message)
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// elements parts a message into the JSON of its elements.
func elements(message []byte) ([]string, error) {
	var raw []json.RawMessage
	err := json.Unmarshal(message, &raw)
	m := make([]string, len(raw))
	for i, r := range raw {
		m[i] = string(r)
	}
	return m, err
}

// expect receives a message with these elements in front.
func (c *client) expect(want ...string) []string {
	c.t.Helper()
	got := c.receive()
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			c.t.Fatalf("received %s, want %s", got, want)
		}
	}
	return got
}
