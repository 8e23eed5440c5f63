// Package testdb makes test data and databases for tests.
//
// Three things are here. [Lines] invents a corpus: signed events as a public
// relay sees them, for benchmarks and for tests of size. [Random] invents a
// world so small that everything collides, with filters to go with it, for
// model tests. The oracle ([Query], [Visible]) says naively what the answers
// must be; it shares no code with the relay. [Sign] and [Key] make single
// events. All of it is deterministic: a seed gives the same bytes everywhere.
//
// The keys are numbered and the nonces consecutive, so nothing made here is
// secret. The package does not know packed events or wire messages.
//
// Callers are tests, benchmarks and internal/testdb/gen, the command that
// writes a corpus to a file. It starts no goroutines and keeps no state.
package testdb
