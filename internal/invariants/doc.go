// Package invariants holds checks that are built in only under the build tag
// invariants: they cost too much for a relay and little for a test.
package invariants
