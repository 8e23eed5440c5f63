// Package invariants tells whether checks are built in that cost too much for
// a relay and little for a test. They are under the build tag invariants:
//
//	go test -tags libsecp256k1,invariants ./...
//
// Without the tag [Enabled] is a false constant, and the compiler leaves out
// what depends on it. The checks themselves stand where they belong, mainly in
// internal/lmdbx and store. The package starts no goroutines and keeps no
// state.
package invariants
