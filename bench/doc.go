// Bench drives nostr relays over their sockets, one after another, with the same
// events, and prints one table of what they did:
//
//	bench --events loaded.jsonl --fresh published.jsonl --wok ../bin/wok --khatru ../bin/bench-khatru
//	bench ... --start 'other=other-relay --dir {db} --port {port}' --url 'far=ws://127.0.0.1:7000'
//
// What each scenario does and how to read the table is told in
// docs/benchmarks.md. The generator shares the cores with the relay, so it does
// as little as it can: frames are made beforehand and masked with zeros, many go
// into one write, and of what comes in only the first bytes are looked at. It
// takes no other measure than what the kernel tells about the relay's process.
//
// It is a module of its own, so that what the peers need stays out of wok's.
//
// Goroutines: one or two a connection of the scenario that runs, and one that
// samples memory; a scenario waits for all of them.
package main
