//go:build !race

package lmdbx_test

const raced = false
