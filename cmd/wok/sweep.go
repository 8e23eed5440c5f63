package main

import (
	"context"
	"log/slog"
	"time"

	"wok/store"
)

// sweepInterval is how long hidden events stay on disk at most, but for what one
// sweep takes. A sweep that finds nothing costs some microseconds.
const sweepInterval = time.Second

// keepSwept removes hidden events from db in the background and returns what
// ends that.
func keepSwept(ctx context.Context, db *store.DB, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		db.KeepSwept(ctx, sweepInterval, reportSwept(log))
	}()
	return func() {
		cancel()
		<-ended
	}
}

// reportSwept logs what people may want to see: vanished events, since somebody
// has asked for that, and an error, once.
func reportSwept(log *slog.Logger) func(store.Swept, error) {
	last := ""
	return func(s store.Swept, err error) {
		if s.Vanished > 0 {
			log.Info("removed events at request to vanish", "events", s.Vanished)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != last {
			log.Error("sweep ended early", "error", err)
		}
		last = text
	}
}
