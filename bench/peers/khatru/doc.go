// Khatru is a relay made of khatru and the LMDB backend of eventstore, for wok to
// be measured against. It is durable as wok is: each event is synced to disk
// before its OK. It offers no COUNT, since that of the backend does not end.
//
//	khatru -db DIR -port N          serves ws://127.0.0.1:N
//	khatru -db DIR load < events    brings events in, one a line, on trust
package main
