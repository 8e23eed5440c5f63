// Wok is the command: a nostr relay and the tools around its database.
//
// Each subcommand is one file: its usage first, then a type whose fields are
// the flags and whose run does the work, with everything it reads and writes as
// arguments. What several of them need stands beside them: the configuration
// (globals.go), what it means to the packages (options.go), the database
// (database.go), filters (filters.go), queries as lines (stream.go), files that
// may be compressed (infile.go, outfile.go), progress (progress.go).
//
// This is the only package that reads the configuration and the environment,
// handles signals and exits; and there main alone exits. It decides nothing
// about events: what is stored, found and sent is the business of the packages
// it wires together.
//
// Goroutines: one waits for signals, and under relay one serves, one sweeps, one
// compresses, one applies the rules of retention and one gives back memory when
// it is quiet. All others belong to the packages used.
package main
