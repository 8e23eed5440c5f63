package main

import (
	"wok/internal/strfry"
	"wok/nostr"
	"wok/packed"
	"wok/store"
)

// friedLine is jsonLine with strfry's packed form of the event in the line.
func friedLine(dst []byte, tx *store.Txn, levID uint64, v packed.View) ([]byte, error) {
	line, err := jsonLine(nil, tx, levID, v)
	if err != nil {
		return dst, err
	}
	dst = strfry.AppendFried(dst, &nostr.Event{Packed: v, JSON: line[:len(line)-len("\n")]})
	return append(dst, '\n'), nil
}
