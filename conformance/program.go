package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A Program starts relays of one executable of wok, one for each set of
// options, in directories of their own. It is not safe for concurrent use.
type Program struct {
	path    string
	dir     string
	targets map[string]*Target // by their options
	running []*exec.Cmd
}

// ownURL is the URL by which the relays of a Program know themselves.
const ownURL = "wss://relay.example.com"

// settings are what a relay is started with for all scripts, by the keys of its
// configuration.
var settings = []string{
	"relay.port=0",
	"relay.shutdownDeadlineSeconds=1",
	"relay.auth.serviceUrl=" + ownURL,
	"relay.eoseHints=true",
}

// optionKeys are the keys of the options that scripts need.
var optionKeys = map[string]string{
	"and-tags":   "relay.andTags",
	"pow":        "events.minPowDifficulty",
	"max-age":    "events.rejectEventsOlderThanSeconds",
	"max-limit":  "relay.maxFilterLimit",
	"max-subs":   "relay.maxSubsPerConnection",
	"max-tags":   "events.maxNumTags",
	"auth-write": "relay.auth.requiredToWrite",
	"auth-wraps": "relay.auth.requiredForGiftWraps",
}

// NewProgram returns the program at path, which keeps all it writes below dir.
func NewProgram(path, dir string) *Program {
	return &Program{path: path, dir: dir, targets: map[string]*Target{}}
}

// Relay is the [Source] of the program's relays.
func (p *Program) Relay(ctx context.Context, options []string) (*Target, error) {
	name := strings.Join(options, " ")
	if t := p.targets[name]; t != nil {
		return t, nil
	}
	args := p.arguments(options)
	if args == nil {
		return nil, nil
	}
	url, err := p.start(ctx, args)
	if err != nil {
		return nil, fmt.Errorf("start wok with %q: %w", name, err)
	}
	p.targets[name] = &Target{URL: url, Own: ownURL}
	return p.targets[name], nil
}

// arguments returns the command line of the next relay, nil if wok has not all
// of the options.
func (p *Program) arguments(options []string) []string {
	args := []string{"--db", filepath.Join(p.dir, fmt.Sprint("db", len(p.targets))), "relay"}
	for _, set := range settings {
		args = append(args, "--set", set)
	}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		key := optionKeys[name]
		if key == "" {
			return nil
		}
		args = append(args, "--set", key+"="+value)
	}
	return args
}

var listening = regexp.MustCompile(`msg=listening url=(ws://\S+)`)

// start starts a relay and returns its URL, which it reads off the log.
func (p *Program) start(ctx context.Context, args []string) (url string, err error) {
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir = p.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	log, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	cmd.Stderr = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		log.Close()
		return "", err
	}
	p.running = append(p.running, cmd)
	var told strings.Builder
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			go func() { // until the relay ends, which Close waits for
				io.Copy(io.Discard, log)
				log.Close()
			}()
			return found[1], nil
		}
		fmt.Fprintln(&told, lines.Text())
	}
	log.Close()
	return "", errors.New(strings.TrimSpace(told.String()))
}

// Close stops the relays. It returns an error where one did not end well, which
// a panic would show as.
func (p *Program) Close() error {
	var errs []error
	for _, cmd := range p.running {
		cmd.Process.Signal(os.Interrupt)
	}
	for _, cmd := range p.running {
		if err := cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("relay: %w", err))
		}
	}
	p.running = nil
	return errors.Join(errs...)
}
