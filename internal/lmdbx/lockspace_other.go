//go:build !linux

package lmdbx

// reserveLock does nothing: there is no portable way to fill the holes of a file.
func reserveLock(string, int) error { return nil }
