package main

import (
	"context"
	"log/slog"
	"time"

	"wok/internal/config"
	"wok/store"
)

// compressInterval is how often events are looked for that have come without
// being compressed, from a wok import that was told otherwise.
const compressInterval = time.Minute

// followCompression makes db compress new events as the configuration says.
func followCompression(cfg *config.Config, db *store.DB) {
	c, _ := store.ParseCompression(cfg.DBParams.Compression) // checked when it was loaded
	db.SetCompression(c)
}

// keepCompressed compresses events that are stored already in the background,
// unless that is off, and returns what ends it.
func keepCompressed(ctx context.Context, cfg *config.Config, db *store.DB, log *slog.Logger) (stop func()) {
	if c, _ := store.ParseCompression(cfg.DBParams.Compression); c.Off() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		db.KeepCompressed(ctx, compressInterval, reportCompressed(log))
	}()
	return func() {
		cancel()
		<-ended
	}
}

// reportCompressed logs what was compressed, and an error once.
func reportCompressed(log *slog.Logger) func(store.Compressed, error) {
	last := ""
	return func(done store.Compressed, err error) {
		if done.Changed > 0 {
			log.Info("compressed stored events", "events", done.Changed, "before", size(int64(done.Before)), "after", size(int64(done.After)))
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != last {
			log.Error("stored events are not compressed", "error", err)
		}
		last = text
	}
}
