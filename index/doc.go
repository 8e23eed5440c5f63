// Package index says which postings an event has and in which lists they
// stand. It is pure: it knows bytes and order, not LMDB.
//
// An index is a set of lists. A list is named by its key, a term such as a
// pubkey, a kind or a packed tag, and holds one [Posting] for each event that
// has the term. The posting of an event is the same 16 bytes in every list, so
// all lists share one order (newest first, read downwards) and the
// intersection of lists needs no look at the events themselves.
//
// Which indexes exist, and the parts their keys are made of, is declared in
// golpe.yaml and generated into [All]. An event's rows follow from that table
// alone, and so do the lists that a filter may use.
//
// Callers are store (to write and check rows) and planner (to choose and join
// lists). The package starts no goroutines and keeps no state. Layouts are
// drawn in docs/formats/index.md.
package index
