// Command golpegen writes what follows from golpe.yaml: the tables and indexes
// as Go data, the typed configuration, its documentation and the default
// configuration file.
//
//	go generate ./...        writes the files
//	go test ./internal/...   fails while they are stale
//
// It reads the declaration strictly ([parse], [Spec.check]), then fills one
// template for each file. It generates data, never logic: what is done with a
// table or a key is written by hand in index, store and internal/config. It is
// no part of the wok binary and starts no goroutines.
package main

//go:generate go run . ../..
