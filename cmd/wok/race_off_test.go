//go:build !race

package main

// raceDetector says that the detector makes everything ten times slower.
const raceDetector = false
