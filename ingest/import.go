package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"wok/nostr"
	"wok/store"
)

// ImportOptions say how a file of events is read. A field left zero has the
// default named. The two functions are never called at once.
type ImportOptions struct {
	Source Source // default SourceImport without info

	// MaxLineBytes bounds a line; longer ones are rejected without being held
	// in memory. Default: 4 MiB, or what the largest event within the limits
	// may take when all of it is escaped.
	MaxLineBytes int

	// Progress is called after each line, in order, with what has been read.
	Progress func(bytes int64, lines int)

	// Rejected is called with each line that is not stored and was not before:
	// one at a time, not quite in order. text is valid until it returns, and
	// empty for a line over MaxLineBytes.
	Rejected func(line int, text []byte, res Result)
}

// errLineTooLong is what a line over ImportOptions.MaxLineBytes is rejected for.
var errLineTooLong = nostr.Refuse(nostr.PrefixInvalid, "the line is too long")

// Import reads events from r, one JSON object a line, through p, and returns
// when all that was read is settled. Blank lines are passed over, and no line
// costs its neighbours. The Summary holds also where there is an error: that of
// reading, with the line; that of ctx; or store.ErrNoSpace, which ends an
// import early.
//
// Where r does not return from Read when ctx ends, Import returns without it;
// what r yields later is dropped.
func Import(ctx context.Context, r io.Reader, p *Pipeline, opts ImportOptions) (Summary, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	im := newImporter(p, opts, stop)
	read := make(chan error, 1)
	go func() { read <- im.feed(ctx, r) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	sum, failure := im.finish()
	if err == nil {
		err = failure
	}
	return sum, err
}

// An importer is one Import under way.
type importer struct {
	from *Submitter
	opts ImportOptions
	stop context.CancelCauseFunc // ends reading
	pool sync.Pool               // of *line

	mu       sync.Mutex
	landed   *sync.Cond // flying has come to zero
	flying   int        // lines begun and not settled
	finished bool
	failure  error // what ends the import early
	sum      Summary
}

// A line is a line of the file on its way through the pipeline.
type line struct {
	number int
	text   []byte
}

func newImporter(p *Pipeline, opts ImportOptions, stop context.CancelCauseFunc) *importer {
	if opts.Source.Kind == 0 && opts.Source.Info == "" {
		opts.Source.Kind = SourceImport
	}
	const escaped = len(`\u0000`) // the longest spelling of a byte
	longest := escaped * p.rules.Load().Limits.MaxBytes
	opts.MaxLineBytes = cmp.Or(opts.MaxLineBytes, max(4<<20, longest))
	im := &importer{opts: opts, stop: stop}
	im.from = p.Submitter(im.settle)
	im.landed = sync.NewCond(&im.mu)
	im.pool.New = func() any { return new(line) }
	return im
}

// feed submits line after line.
func (im *importer) feed(ctx context.Context, r io.Reader) error {
	lines := newLineReader(r, im.opts.MaxLineBytes)
	for {
		l := im.pool.Get().(*line)
		long, err := l.read(lines)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read line %d: %w", lines.number+1, err)
		}
		if !im.begin(lines) {
			return nil // nobody waits any more
		}
		if err := im.submit(ctx, l, long); err != nil {
			im.end(l)
			return err
		}
	}
}

func (l *line) read(lines *lineReader) (long bool, err error) {
	l.text, long, err = lines.next(l.text[:0])
	l.number = lines.number
	return long, err
}

// begin notes that a line was read, unless the import is over by now.
func (im *importer) begin(lines *lineReader) bool {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.finished {
		return false
	}
	im.flying++
	im.sum.Bytes, im.sum.Lines = lines.read, lines.number
	if im.opts.Progress != nil {
		im.opts.Progress(lines.read, lines.number)
	}
	return true
}

// submit hands a line to the pipeline, or settles it at once. On an error the
// line is not counted.
func (im *importer) submit(ctx context.Context, l *line, long bool) error {
	switch {
	case long:
		res := refused("", errLineTooLong)
		res.Ref = l
		im.settle([]Result{res})
	case len(l.text) == 0:
		im.end(l)
	default:
		err := im.from.Submit(ctx, Submission{Raw: l.text, Source: im.opts.Source, Ref: l})
		if errors.Is(err, ErrClosed) {
			return fmt.Errorf("line %d: %w", l.number, err)
		}
		return err
	}
	return nil
}

// settle takes the answers to lines.
func (im *importer) settle(results []Result) {
	defer func() {
		for _, res := range results {
			im.free(res.Ref.(*line))
		}
	}()
	im.mu.Lock()
	defer im.mu.Unlock()
	defer im.land(len(results))
	for _, res := range results {
		im.count(res.Ref.(*line), res)
	}
}

// count takes the answer to a line. The caller holds im.mu.
func (im *importer) count(l *line, res Result) {
	im.sum.count(l.number, res)
	if im.failure == nil && errors.Is(res.Err, store.ErrNoSpace) {
		im.failure = fmt.Errorf("line %d: %w", l.number, res.Err)
		im.stop(im.failure)
	}
	if !res.OK && im.opts.Rejected != nil {
		im.opts.Rejected(l.number, l.text, res)
	}
}

// maxKept is the largest line, in bytes, whose memory is used again: among
// thousands in flight, rare long ones must not add up.
const maxKept = 16 << 10

// end notes that a line is settled without an answer.
func (im *importer) end(l *line) {
	im.free(l)
	im.mu.Lock()
	defer im.mu.Unlock()
	im.land(1)
}

// free gives the memory of a line back.
func (im *importer) free(l *line) {
	if cap(l.text) > maxKept {
		l.text = nil
	}
	im.pool.Put(l)
}

// land notes that n lines are settled. The caller holds im.mu.
func (im *importer) land(n int) {
	im.flying -= n
	if im.flying == 0 {
		im.landed.Broadcast()
	}
}

// finish waits for the lines in flight, and lets no more begin.
func (im *importer) finish() (Summary, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.finished = true
	for im.flying > 0 {
		im.landed.Wait()
	}
	im.sum.sort()
	return im.sum, im.failure
}
