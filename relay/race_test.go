//go:build race

package relay

// raced says that the race detector is watching.
const raced = true
