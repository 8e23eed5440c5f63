// Package lmdbx is the only code that touches LMDB.
//
// It holds what must be known to use LMDB well and keeps it in one place: how
// the environment is opened (size of the map, stale readers, address space),
// how read transactions are pooled and bounded, how the map grows while others
// read, how a list of postings is walked a page at a time, and how a snapshot is
// copied or compacted.
// A [File] reads a snapshot without LMDB, and survives what LMDB does not.
//
// It does not know what the tables mean; that is store, its only caller. It
// starts no goroutines. An [Env] may be used by many goroutines at once, a
// [Txn] by one at a time. An Env must be opened once in a process: LMDB's file
// locks are per process and a second close would drop the first one's.
//
// Locks: Env.gate is held for reading by every transaction from begin to end
// and by every look at the environment, and for writing while the map is
// resized or taken away. It is taken before LMDB's own writer lock and never
// while that is held. A transaction therefore must not begin another one.
package lmdbx
