// Package config reads wok's configuration: a file in strfry's syntax,
// environment variables and command-line settings, in this order, over the
// defaults of golpe.yaml.
//
// The keys, their types, bounds and defaults are generated ([Config], [Keys]);
// this package knows how to read and check them, not what they mean. [Parse]
// alone reads the syntax and also serves other files that use it.
//
// It opens the one file it is told to, and nothing else: the environment comes
// in as an argument, nothing is logged, and what is doubtful is returned as a
// [Warning]. Only the command imports it; packages take their own Options.
// It starts no goroutines and keeps no state.
package config
