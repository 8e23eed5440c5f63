// Package ingest takes events from untrusted bytes to the committed database.
//
// One [Pipeline] serves every door: websocket, import, other relays. An event
// passes these stages, and the first that objects ends its way:
//
//	Submit   waits while the pipeline is full, by events or by bytes
//	intake   submitters take turns from here on; a worker takes a few events
//	parse    JSON to an event, once, within the limits; the id must fit
//	rules    what needs no signature: kinds, times, who may publish what
//	known    is the id stored already? most traffic ends here
//	verify   the signature, by far the dearest step, unless the very same event
//	         was checked lately
//	(policy) the place of rules that may take their time and need an event that
//	         is what it says: the write-policy plugin
//	encode   compression, where the database is told to
//	gather   admitted events wait for the writer; ephemeral ones are handed on
//	         and end here
//	commit   one transaction for all that has gathered, synced to disk
//
// Whatever happens, the [Submitter] is told once by a [Result], and of a stored
// event only when it would survive a loss of power. Events that are decided
// together are answered together.
//
// The package does not decide how events replace and delete one another (store
// does), does not speak to clients, and does not read configuration.
//
// Callers are relay and the commands. Goroutines, all owned by the Pipeline and
// ended by [Pipeline.Close]: Options.Workers of them parse and verify, one
// writes. [Import] has one that reads.
//
// Locks: intake.mu, gatherer.mu, and one of each set of verdicts; none is held
// while another is taken.
package ingest
