package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process is a relay that runs, one that was started or one that runs
// elsewhere. Of the latter nothing is known but the URL.
type process struct {
	url string
	cmd *exec.Cmd // nil elsewhere
	log *os.File
}

const startTimeout = 30 * time.Second

// launch starts a relay and returns when it takes connections.
func (r *relay) launch(ctx context.Context) (*process, error) {
	if r.url != "" {
		return &process{url: r.url}, nil
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(r.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p := &process{url: fmt.Sprintf("ws://127.0.0.1:%d", port), log: log}
	p.cmd, err = r.command(ctx, r.start, port)
	if err == nil {
		p.cmd.Stdout, p.cmd.Stderr = log, log
		err = p.cmd.Start()
	}
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", r.name, err)
	}
	if err := p.listening(ctx, port); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s, see %s: %w", r.name, log.Name(), err), p.stop())
	}
	return p, nil
}

// freePort returns a port that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// listening waits until the relay takes connections.
func (p *process) listening(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		c, err := dial(ctx, p.url, 4<<10, false)
		if err == nil {
			return c.Close()
		}
		if state, _ := os.ReadFile(p.proc("stat")); bytes.Contains(state, []byte(") Z ")) {
			return errors.New("ended at once")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not listening: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the process, gently at first.
func (p *process) stop() error {
	if p.cmd == nil {
		return nil
	}
	defer p.log.Close()
	p.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return nil // it knows no better than to die of the signal
	}
	return err
}

func (p *process) proc(file string) string {
	return fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, file)
}

// cpu returns the time that the process has computed so far, in steps of 10 ms;
// 0 of one that runs elsewhere.
func (p *process) cpu() time.Duration {
	if p.cmd == nil {
		return 0
	}
	stat, err := os.ReadFile(p.proc("stat"))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// ownCPU returns the time that the generator has computed so far.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A meter reads the CPU time that relay and generator take from now on.
type meter struct {
	relay    *process
	cpu, own time.Duration // at the start
}

func (p *process) meter() meter { return meter{p, p.cpu(), ownCPU()} }

// report adds what each of n things took, to the table that of the relay.
func (m meter) report(r *report, row, thing string, n int) {
	if m.relay.cmd != nil {
		r.less(row+", server CPU", "us/"+thing, us(m.relay.cpu()-m.cpu)/float64(n))
	}
	r.detail(row+", generator CPU", "us/"+thing, us(ownCPU()-m.own)/float64(n))
}

// anonymous returns the bytes of memory that the process has written and no file
// stands behind; 0 of one that runs elsewhere.
func (p *process) anonymous() int {
	if p.cmd == nil {
		return 0
	}
	status, _ := os.ReadFile(p.proc("status"))
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
			kib, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"))
			return kib << 10
		}
	}
	return 0
}
