// Package nostr turns the protocol's nouns from bytes and back: events,
// filters and messages (NIP-01).
//
// An [Event] comes from untrusted JSON in one pass, which yields its packed
// form (what can be asked about it), its canonical JSON (what is stored and
// sent) and its id, computed from that JSON and compared. The signature is a
// call of its own, because most events that reach a relay are ones it has, and
// the id tells so for a hundredth of the price.
//
// The package reads bytes and returns values. It does not decide what a relay
// accepts: policy, storage, replacement and deletion belong to others. It does
// no input or output, starts no goroutines and keeps no state.
//
// Callers are ingest (events), relay and mesh (messages, filters), planner
// (filters) and store (events that it reads back).
package nostr
