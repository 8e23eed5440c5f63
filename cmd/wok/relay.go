package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"wok/ingest"
	"wok/nostr"
	"wok/relay"
	"wok/store"
)

const relayUsage = `Serve nostr clients, at ws://127.0.0.1:7777 unless told otherwise. The database
is made where there is none. The log goes to stderr.

SIGTERM or Ctrl-C stops the relay: it takes nothing new, answers and commits what
it has taken, and says goodbye to its clients, for at most
relay.shutdownDeadlineSeconds; then it exits with 0. A second signal ends it at
once, which loses no event that was answered with OK.

  wok relay --bind 0.0.0.0 --port 7777
  wok relay --set relay.info.name=mine`

// relayCmd are the flags of relay.
type relayCmd struct {
	*globals
	bind string
	port string
}

func newRelay(g *globals) *cobra.Command {
	c := relayCmd{globals: g}
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Serve nostr clients",
		Long:  relayUsage,
		Args:  cobra.NoArgs,
		RunE:  g.begin(c.run),
	}
	fs := cmd.Flags()
	fs.StringVar(&c.bind, "bind", "", "listen on `ADDR`; short for --set relay.bind=ADDR")
	fs.StringVar(&c.port, "port", "", "listen on port `N`, 0 for any that is free; short for --set relay.port=N")
	return cmd
}

// settings are the keys that the flags set.
func (c *relayCmd) settings() []string {
	var sets []string
	if c.bind != "" {
		sets = append(sets, "relay.bind="+c.bind)
	}
	if c.port != "" {
		sets = append(sets, "relay.port="+c.port)
	}
	return sets
}

func (c *relayCmd) run(ctx context.Context, _ []string, io stdio) (err error) {
	cfg, err := c.load(io.err, c.settings()...)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(io.err, nil))
	if err := limitFiles(cfg.Relay.NoFiles); err != nil {
		log.Warn("the limit of open files stays as it is", "error", err)
	}
	db, err := openOrCreate(&cfg, io.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	defer keepSwept(ctx, db, log)()
	defer keepRetained(ctx, &cfg, db, log)()
	defer keepCompressed(ctx, &cfg, db, log)()
	keepSettled(ctx)
	ln, err := listen(cfg.Relay.Bind, cfg.Relay.Port)
	if err != nil {
		return err
	}
	server := relay.New(db, relayOptions(&cfg, log))
	pipe := ingest.New(db, ingest.Options{Rules: clientRules(&cfg), Ephemeral: server.Broadcast, Log: log})
	if err := announce(ctx, log, db, ln); err != nil {
		return errors.Join(err, ln.Close(), pipe.Close(ctx))
	}
	if a := cfg.Relay.Auth; a.Enabled && a.ServiceURL == "" {
		log.Warn("relay.auth.serviceUrl is not set: clients can authenticate over loopback only, and nobody else can read private messages")
	}
	deadline := time.Duration(cfg.Relay.ShutdownDeadlineSeconds) * time.Second
	return serve(ctx, log, server, ln, pipe, deadline)
}

// announce logs what is about to be served.
func announce(ctx context.Context, log *slog.Logger, db *store.DB, ln net.Listener) error {
	n, err := events(ctx, db)
	if err != nil {
		return err
	}
	if slow := slowly(); slow != "" {
		log.Warn("signatures are checked in pure Go" + slow)
	}
	log.Info("listening", "url", "ws://"+ln.Addr().String(), "database", db.Dir(), "events", n,
		"signatures", nostr.SignatureBackend(), "version", buildVersion())
	return nil
}

// serve runs the relay until ctx ends or it fails, and then lets clients and
// events in flight come to their end, the clients within the deadline.
func serve(ctx context.Context, log *slog.Logger, server *relay.Server, ln net.Listener, pipe *ingest.Pipeline, deadline time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln, pipe) }()
	var err error
	running := true
	select {
	case err = <-served:
		running = false
	case <-ctx.Done():
		log.Info("stopping", "cause", context.Cause(ctx), "deadline", deadline)
	}
	base := context.WithoutCancel(ctx)
	drain, cancel := context.WithTimeout(base, deadline)
	defer cancel()
	if e := server.Shutdown(drain); e != nil {
		log.Warn("some clients did not leave in time", "error", e)
	}
	if running {
		err = <-served
	}
	if errors.Is(err, http.ErrServerClosed) { // stopped before it had begun
		err = nil
	}
	err = errors.Join(err, pipe.Close(base))
	log.Info("stopped")
	return err
}

// listen opens the address, and says of an error what to change.
func listen(bind string, port int) (net.Listener, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(bind, strconv.Itoa(port)))
	switch {
	case err == nil:
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%w (set --port or relay.port)", err)
	}
	return nil, fmt.Errorf("%w (set --bind or relay.bind)", err)
}

// limitFiles asks the system for n open files and sockets, or as many as it
// grants; 0 asks for nothing.
func limitFiles(n int) error {
	if n == 0 {
		return nil
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("get limit of open files: %w", err)
	}
	limit.Cur = min(uint64(n), limit.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("set limit of open files to %d: %w", limit.Cur, err)
	}
	return nil
}
