// Package relay serves websocket clients: it takes their events to ingest,
// answers their queries from the store and sends them what is new.
//
// A [Server] owns a listener and everything behind it. One file holds one stage
// of a message's way:
//
//	http.go          a request: websocket, NIP-11 document (info.go), landing page
//	conn.go          a connection: the loop that reads it
//	dispatch.go      what each message of a client does
//	auth.go          who the client is (NIP-42), and what it may see
//	narrow.go        what filters of a relay with a narrow purpose must be like
//	subscription.go  a REQ that is open
//	scheduler.go     whose turn it is to query: stored.go (REQ), count.go (COUNT)
//	account.go       what queries cost and could not read, for counts and the log
//	live.go          new events, for all shards
//	live_shard.go    some connections, and what new events they get
//	live_index.go    the filters that wait for new events, by live_terms.go
//	outbox.go        what waits to be sent, and outbound.go the writer of it
//	wire.go          frames: of events, one compression for all who get one
//	socket.go        the socket below, and what is read ahead
//	buffer.go        buffers that are lent, shared by all servers of the process
//	steady.go        how much of what clients cause goes to the log
//
// The package does not verify, decide about or write events (ingest, store),
// nor choose how to search (planner), nor read configuration (cmd/wok). Only
// cmd/wok calls it.
//
// # Goroutines
//
// A connection is one goroutine, which reads, and waits for what comes at a
// depth where its stack is smallest. A second one writes, and lives only while
// there is something to send. An idle connection has no buffer: docs/architecture.md
// counts what it takes. A server has Options.QueryWorkers
// goroutines that query, one that follows new events, one a shard that delivers
// them, the watch of the store that wakes the follower, one for pings, and those
// of net/http until a request is answered or upgraded. All end before
// [Server.Shutdown] returns, but for the watch, which is only told to.
//
// # Locks
//
// conn.mu guards all that a connection shares between its reader, its writer,
// the workers and its shard. shard.mu guards an index of subscriptions; neither
// is taken by who holds the other. The locks of the scheduler, the socket and
// the rates of terms are innermost; nothing is taken while they are held. No
// lock is held while a socket or the database is waited for, but Server.mu once,
// while Serve begins.
//
// # Order
//
// The messages of a connection take effect in the order they came: events are
// handed on without waiting for one another, and a REQ or COUNT waits until all
// earlier events of its connection have been answered. A subscription is in
// the live index before its snapshot is taken; what is missed meanwhile is
// caught up with by levId before the first live event is sent, see stored.go.
package relay
