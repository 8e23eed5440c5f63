// Package strfry reads what another relay, strfry, leaves behind: its database,
// and its exports with packed events in them, called fried.
//
// A [DB] is strfry's database, read while strfry runs or not. [Rows] walks its
// events in batches, each of one snapshot, in the order they were stored.
// [AppendPacked] and [CheckFried] are about the packed form.
//
// The database is an LMDB file, which is read here without LMDB, for two
// reasons. LMDB trusts its file and ends the process where a page is damaged;
// here every number is checked before use, and a page that makes no sense costs
// only what is on it. And LMDB's readers write themselves into strfry's lock
// file, where a killed one stays and keeps pages from being used again; here
// nothing of strfry's is opened for writing. That takes a look at the file's
// head before and after each batch: see [file.read]. (lmdbx.File does without
// LMDB as well, but it maps the file and holds a reader's place.)
//
// What comes out is not to be trusted: whether it is an event at all, with its
// id and signature, is for the caller to find out. The package writes nothing,
// starts no goroutines and keeps no state but open files. Its caller is cmd/wok.
package strfry
