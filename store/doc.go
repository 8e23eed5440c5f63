// Package store keeps events in LMDB and the rules by which they replace and
// delete one another.
//
// A [DB] is one database. Reading goes through [DB.View] and a [Txn], writing
// through [DB.Update] and a [Batch]: put events, remove events, commit. The
// store decides what becomes of each event (stored, duplicate, superseded,
// deleted, vanished, expired: [Status]) so that the final state follows from the
// set of events put, not from their order. It keeps every index in step with the
// events, [DB.Check] proves that it has, and [DB.Repair] makes it so again; what
// is left of a file with broken pages is saved by [Salvage]. Events that nobody
// is to see any more are hidden by [Txn.Hidden] until [DB.Sweep] has removed
// them; what an operator does not want to keep is removed by [DB.Prune] and
// [DB.Retain]. [DB.Backup] writes archives, of which [Restore] makes a database again.
//
// The JSON of an event is kept plain or compressed with a dictionary, see [Form]:
// [DB.Encode] for new events, [DB.Compress] for those that are stored.
//
// It does not verify signatures, apply policy or limits (ingest does), choose
// indexes (planner), or know about clients.
//
// Callers are ingest (writes), planner and relay (reads), and the commands.
// Goroutines: two for each [DB.Watch], ended by its context. A DB may be used
// by many goroutines; a Txn or Batch only inside its callback.
//
// Tables and their bytes are drawn in docs/formats.
package store
