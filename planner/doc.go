// Package planner turns filters into scans over the indexes.
//
// A filter has many ways through the indexes. Each is a [Path]: lists whose
// exact lengths are known in O(1), merged and joined, and what is left to test
// on a posting or on the event. The planner prices all paths of a filter, takes
// the cheapest, and keeps the choice as a [Plan] that prints itself: wok explain,
// the log and the tests show the same text. All paths yield one order, so a scan
// that costs more than its price goes on with another at the posting it has
// reached.
//
// A [Query] runs the plans of all filters of a request as one stream: newest
// first, ties by lowest id, each event once, each filter up to its own limit.
// It runs in slices. Between two slices it holds no transaction and no memory
// of the map, only the posting that each filter and each merged list has reached,
// so a client may take as long as it likes, and what was begun is not begun
// again. All slices together answer for one snapshot, the levId at which the
// query began; what was removed in between is left out.
//
// The package reads through store and never writes, starts no goroutines, and
// knows nothing about clients, slices of time, or where events go. Callers are
// relay (REQ, COUNT, live catch-up) and the commands scan, export, explain. A
// Query is used by one goroutine at a time.
package planner
