package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"wok/nostr"
	"wok/store"
)

// Options say how a pipeline works. A field left zero has the default named.
type Options struct {
	Rules Rules // the first; [Pipeline.Apply] changes them

	Workers        int // goroutines that parse and verify; default GOMAXPROCS
	QueueEvents    int // submitted and not yet answered; default 4096
	QueueBytes     int // the same, as submitted; default 32 MiB
	MaxBatchEvents int // of one transaction; default 1000
	MaxBatchBytes  int // the same, JSON; default 8 MiB

	// SkipVerify takes signatures on trust. Ids are still checked.
	SkipVerify bool

	// Inspect is asked about every event that was parsed, before the rules:
	// raw is its text as submitted, and an error refuses it as one of
	// Rules would. It is called by several goroutines at once. Default: none.
	Inspect func(raw []byte, ev *nostr.Event) error

	// Ephemeral is handed every accepted event of an ephemeral kind, which may
	// be kept and must not be changed. It is called by several goroutines at
	// once, must not wait for clients, and returns before the submitter is told. Default:
	// none, the events are dropped.
	Ephemeral func(*nostr.Event)

	Now func() time.Time // default time.Now
	Log *slog.Logger     // default slog.Default()
}

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.QueueEvents = cmp.Or(o.QueueEvents, 4096)
	o.QueueBytes = cmp.Or(o.QueueBytes, 32<<20)
	o.MaxBatchEvents = cmp.Or(o.MaxBatchEvents, 1000)
	o.MaxBatchBytes = cmp.Or(o.MaxBatchBytes, 8<<20)
	if o.Inspect == nil {
		o.Inspect = func([]byte, *nostr.Event) error { return nil }
	}
	if o.Ephemeral == nil {
		o.Ephemeral = func(*nostr.Event) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// ErrClosed is returned by Submit once the pipeline is being closed.
var ErrClosed = errors.New("the pipeline is closed")

// A Pipeline takes events in and commits them. It is safe for use by many
// goroutines.
type Pipeline struct {
	db    *store.DB
	opts  Options
	rules atomic.Pointer[Rules]
	stats counters

	slots    chan *job           // those not in use: what bounds the events
	bytes    *semaphore.Weighted // what is left of QueueBytes
	intake   *intake             // submitted, waiting for a worker
	verdicts *verdicts           // on signatures
	lobby    *gatherer           // admitted, waiting for the writer
	ended    chan struct{}       // closed when all goroutines have ended

	submitters atomic.Uint64 // so far
}

// A job is a slot: one event on its way.
type job struct {
	Submission
	from  *Submitter
	next  *job   // of the same submitter, in the intake
	bytes int64  // taken of QueueBytes
	seq   uint64 // the order in which workers took them
	turn  int    // see gatherer.takeTurns

	ev      *nostr.Event // once parsed
	payload []byte       // once verified; nil for plain
	status  store.Status // once committed
	result  Result       // once ended
	ended   bool
}

// end ends the way of j.
func (j *job) end(res Result) { j.result, j.ended = res, true }

// New returns a running pipeline into db.
func New(db *store.DB, opts Options) *Pipeline {
	opts = opts.withDefaults()
	lobby := newGatherer(opts.MaxBatchEvents, opts.MaxBatchBytes)
	p := &Pipeline{
		db:       db,
		opts:     opts,
		slots:    make(chan *job, opts.QueueEvents),
		bytes:    semaphore.NewWeighted(int64(opts.QueueBytes)),
		intake:   newIntake(opts.Workers, lobby),
		verdicts: new(verdicts),
		lobby:    lobby,
		ended:    make(chan struct{}),
	}
	p.rules.Store(&opts.Rules)
	jobs := make([]job, opts.QueueEvents)
	for i := range jobs {
		p.slots <- &jobs[i]
	}
	p.start()
	return p
}

// start starts the goroutines; the last one to end closes p.ended.
func (p *Pipeline) start() {
	var workers, all sync.WaitGroup
	for range p.opts.Workers {
		workers.Go(func() { newWorker(p).run() })
	}
	all.Go(func() {
		workers.Wait()
		p.lobby.close()
	})
	all.Go(func() { newWriter(p).run() })
	go func() {
		all.Wait()
		close(p.ended)
	}()
}

// Apply makes rules hold for all events parsed from now on.
func (p *Pipeline) Apply(rules Rules) { p.rules.Store(&rules) }

// release frees the slots of jobs.
func (p *Pipeline) release(jobs ...*job) {
	size := int64(0)
	for _, j := range jobs {
		size += j.bytes
		*j = job{}
		p.slots <- j
	}
	p.bytes.Release(size)
}

// caught notes a panic that is being contained and returns it as an error. It
// is to be called where it was recovered, so that the log has its stack.
func (p *Pipeline) caught(v any) error {
	n := p.stats.panics.Add(1)
	p.opts.Log.Error("panic contained", "panic", v, "count", n, "stack", string(debug.Stack()))
	return fmt.Errorf("panic: %v", v)
}

// Close ends the pipeline: Submit refuses from now on, and what has been
// accepted is committed and answered. It returns when all goroutines have
// ended, or with the error of ctx when that ends first; they go on to their end
// nevertheless. Close may be called again.
func (p *Pipeline) Close(ctx context.Context) error {
	p.intake.close()
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
