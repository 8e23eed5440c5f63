// Gen writes invented nostr events to stdout, one a line, signed. The same
// flags give the same bytes:
//
//	go run ./internal/testdb/gen -n 200000 -seed 1 > corpus.jsonl
package main
