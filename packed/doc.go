// Package packed defines the binary form of an event: what a filter can ask
// about, in a layout that is read in place.
//
// A packed event is an 88-byte header and the event's single-letter tags. A
// [View] is those bytes themselves: reading a field slices or loads, copies
// nothing and allocates nothing, so a view over the memory map costs nothing
// and dies with its transaction.
//
// The package does not know JSON, signatures, indexes or LMDB. The signature,
// the content and all other tags live in the event's JSON, which is stored
// beside the packed form. Everything above uses this package: nostr builds
// packed events, index derives postings and terms from them, filters match
// them, store keeps them. It starts no goroutines and keeps no state.
//
// The layout is drawn in docs/formats/packed.md.
package packed
