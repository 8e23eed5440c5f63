package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fiatjaf/eventstore/lmdb"
	"github.com/nbd-wtf/go-nostr"
)

// load stores the events of r as the relay would store them, without a look at
// their signatures. The backend commits each by itself and cannot be told not to
// sync, so this is quick in a directory in memory only.
func load(db *lmdb.LMDBBackend, r io.Reader) error {
	ctx := context.Background()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		e := &nostr.Event{}
		if err := json.Unmarshal(lines.Bytes(), e); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		if err := store(ctx, db, e); err != nil {
			return fmt.Errorf("store event %s: %w", e.ID, err)
		}
	}
	return lines.Err()
}

func store(ctx context.Context, db *lmdb.LMDBBackend, e *nostr.Event) error {
	if e.Kind == nostr.KindDeletion {
		for _, tag := range e.Tags {
			if err := remove(ctx, db, e, tag); err != nil {
				return err
			}
		}
	}
	switch {
	case nostr.IsEphemeralKind(e.Kind):
		return nil
	case nostr.IsRegularKind(e.Kind):
		return db.SaveEvent(ctx, e)
	}
	return db.ReplaceEvent(ctx, e)
}

// remove deletes what a tag of a deletion names.
func remove(ctx context.Context, db *lmdb.LMDBBackend, deletion *nostr.Event, tag nostr.Tag) error {
	f, ok := target(deletion, tag)
	if !ok {
		return nil
	}
	found, err := db.QueryEvents(ctx, f)
	if err != nil {
		return err
	}
	for e := range found {
		if e.PubKey != deletion.PubKey {
			continue
		}
		if err := db.DeleteEvent(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func target(deletion *nostr.Event, tag nostr.Tag) (f nostr.Filter, ok bool) {
	if len(tag) < 2 {
		return f, false
	}
	switch tag[0] {
	case "e":
		return nostr.Filter{IDs: []string{tag[1]}}, true
	case "a":
		parts := strings.SplitN(tag[1], ":", 3)
		kind, err := strconv.Atoi(parts[0])
		if err != nil || len(parts) != 3 {
			return f, false
		}
		f = nostr.Filter{Kinds: []int{kind}, Authors: []string{parts[1]}, Until: &deletion.CreatedAt}
		if nostr.IsAddressableKind(kind) {
			f.Tags = nostr.TagMap{"d": {parts[2]}}
		}
		return f, true
	}
	return f, false
}
