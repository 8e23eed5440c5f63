//go:build race

package lmdbx_test

// raced says that the race detector is watching.
const raced = true
