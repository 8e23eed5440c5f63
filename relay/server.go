package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"wok/ingest"
	"wok/nostr"
	"wok/store"
)

// A Server serves clients on a listener. It is made by [New], runs by
// [Server.Serve] and ends by [Server.Shutdown], each called once.
type Server struct {
	db     *store.DB
	opts   Options
	limits nostr.MessageLimits
	marks  marks
	log    *slog.Logger
	stall  time.Duration // how long a client may take nothing of what is sent
	// messageTime is how long a message may take to come, from its first byte to
	// its last: clients who never end one must not keep buffers.
	messageTime time.Duration
	headerTime  time.Duration // how long a request may take
	sched       *scheduler
	live        *live
	metrics     metrics

	refusals, failures, accepting steady // lines in the log

	handshakes sync.Pool // buffers of the websocket library, which answers handshakes

	pipe  *ingest.Pipeline // set by Serve
	tasks sync.WaitGroup   // goroutines that are no connection's

	mu       sync.Mutex
	conns    map[*conn]struct{}
	count    uint64         // of connections so far
	open     sync.WaitGroup // conns; nobody joins while stopping
	stopping bool
	http     *http.Server       // set by Serve
	cancel   context.CancelFunc // set by Serve
}

// stallTime is how long nothing may go to a client that something is sent to,
// before the connection counts as dead. Slow is not dead: any byte taken counts.
const stallTime = time.Minute

// messageTime is enough for a message of the greatest length over a poor line.
const messageTime = 2 * time.Minute

// New returns a server for db. Its [Server.Broadcast] may be used at once.
func New(db *store.DB, opts Options) *Server {
	opts = opts.withDefaults()
	s := &Server{
		db:     db,
		opts:   opts,
		limits: opts.Limits.messages(),
		marks:  opts.Limits.marks(),
		log:    opts.Log,
		stall:  stallTime,

		messageTime: messageTime,
		headerTime:  headerTime,
		sched:       newScheduler(db, opts.Slice),
		conns:       make(map[*conn]struct{}),
	}
	s.live = newLive(s, db, max(1, runtime.GOMAXPROCS(0)/coresPerShard))
	return s
}

// Bounds on HTTP, which is only the way to a websocket or to a small document.
const (
	headerTime     = 10 * time.Second
	answerTime     = 10 * time.Second
	idleTime       = time.Minute
	maxHeaderBytes = 16 << 10
)

// Serve accepts clients on ln and hands their events to pipe. It returns nil
// once [Server.Shutdown] has begun, else why it can serve no longer. ln is
// closed then.
func (s *Server) Serve(ln net.Listener, pipe *ingest.Pipeline) error {
	ctx, cancel := context.WithCancel(context.Background())
	s.pipe = pipe
	s.mu.Lock()
	if s.stopping || s.http != nil {
		s.mu.Unlock()
		cancel()
		return errors.Join(http.ErrServerClosed, ln.Close())
	}
	s.cancel = cancel
	s.http = &http.Server{
		Handler:        s.handler(ctx),
		ReadTimeout:    s.headerTime, // with the body, which nobody wants
		WriteTimeout:   answerTime,
		IdleTimeout:    idleTime,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // what clients do wrong
	}
	server := s.http
	err := s.start(ctx)
	s.mu.Unlock()
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	if err := server.Serve(listener{ln, s.opts.TCPKeepalive, s.notAccepted}); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	}
	return nil
}

// notAccepted says that a client could not be let in.
func (s *Server) notAccepted(err error) {
	if s.accepting.allow(s.log) {
		s.log.Warn("connection not accepted", "error", err)
	}
}

// start starts the goroutines that no client owns. The caller holds s.mu.
func (s *Server) start(ctx context.Context) error {
	watch, err := s.live.start(ctx)
	if err != nil {
		return fmt.Errorf("follow the database: %w", err)
	}
	s.tasks.Go(func() { s.live.follow(ctx, watch) })
	for range s.opts.QueryWorkers {
		s.tasks.Go(func() { s.sched.work(ctx) })
	}
	if s.opts.Ping > 0 {
		s.tasks.Go(func() { s.pings(ctx) })
	}
	return nil
}

// pingGroups is how many groups of connections are pinged at different times,
// so that not all are woken at once.
const pingGroups = 16

// pings pings all connections, every one once in the interval.
func (s *Server) pings(ctx context.Context) {
	tick := time.NewTicker(max(s.opts.Ping/pingGroups, time.Millisecond))
	defer tick.Stop()
	for group := uint64(0); ; group++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.pingGroup(group % pingGroups)
		}
	}
}

func (s *Server) pingGroup(group uint64) {
	for _, c := range s.openConns() {
		if c.num%pingGroups == group {
			c.ping()
		}
	}
}

// join takes c among the connections, unless the server is stopping.
func (s *Server) join(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.metrics.accepted.Add(1)
	s.count++
	c.num = s.count
	s.conns[c] = struct{}{}
	s.open.Add(1)
	return true
}

// left undoes join.
func (s *Server) left(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.open.Done()
}

// openConns returns the connections that are open.
func (s *Server) openConns() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

// Shutdown ends the server. No connection and no message is accepted any more;
// events that were are answered first, then each client gets what waits for it
// and a close frame, and its connection ends when it has closed its side. When
// ctx ends, what is still open is cut off and the error of ctx returned. All
// goroutines have ended when Shutdown returns; the database and the pipeline
// are the caller's to close after it.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	server, cancel := s.http, s.cancel
	s.mu.Unlock()
	if server == nil {
		return nil
	}
	defer s.tasks.Wait()
	defer s.sched.close()
	defer cancel()

	gone := make(chan error, 1)
	go func() {
		err := server.Shutdown(ctx)
		s.open.Wait()
		gone <- err
	}()
	for _, c := range s.openConns() {
		c.drain()
	}
	select {
	case err := <-gone:
		return err
	case <-ctx.Done():
	}
	cancel()
	server.Close()
	for _, c := range s.openConns() {
		c.abort()
	}
	<-gone
	return fmt.Errorf("connections cut off: %w", context.Cause(ctx))
}

// caught notes a panic that is contained. It is to be called where it was
// recovered, so that the log has its stack; c may be nil.
func (s *Server) caught(p any, c *conn) {
	client := ""
	if c != nil {
		client = c.src.Info
	}
	n := s.metrics.panics.Add(1)
	s.log.Error("panic contained", "client", client, "panic", p, "count", n, "stack", string(debug.Stack()))
}
