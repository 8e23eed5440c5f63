package main

import (
	"context"
	"errors"
	"time"
)

const mixedConns = 2 // that ask while others publish

// mixed asks queries of several shapes in turn while events are published at full
// speed.
func (b *bench) mixed(ctx context.Context, p *process, r *report) error {
	conns, err := dialAll(ctx, p.url, mixedConns, bigBuffer)
	if err != nil {
		return err
	}
	defer closeAll(conns)
	var frames [][]byte
	ofShapes := make([][][]byte, 0, len(shapes))
	for _, s := range shapes[1:] { // the newest 500 are no query of a client in a hurry
		ofShapes = append(ofShapes, s.frames(b.corpus))
	}
	for i := range variants {
		for _, frame := range ofShapes {
			frames = append(frames, frame[i])
		}
	}
	if _, err := once(conns[0], frames); err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, b.seconds)
	defer cancel()
	var o *outcome
	var publishing error
	done := make(chan struct{})
	go func() {
		defer close(done)
		o, publishing = publishAll(ctx, p.url, b.toMix)
		cancel()
	}()
	start := time.Now()
	h, err := askWhile(ctx, conns, frames)
	elapsed := time.Since(start)
	cancel()
	<-done
	if err := errors.Join(err, publishing); err != nil {
		return err
	}
	r.less("mixed load: queries, p50", "ms", ms(h.quantile(0.5)))
	r.less("mixed load: queries, p99", "ms", ms(h.quantile(0.99)))
	r.more("mixed load: queries", "/s", float64(h.n)/elapsed.Seconds())
	r.more("mixed load: publish", "OK/s", o.rate())
	return nil
}
