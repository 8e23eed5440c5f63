package ingest

// A Source says through which door an event came.
type Source struct {
	Kind SourceKind
	Info string // the client's IP address, the other relay's URL, a file's name

	// Authed are the keys that have authenticated on the client's connection when
	// it sent the event (NIP-42). All of them count. They are not changed.
	Authed [][32]byte
}

// A SourceKind is a kind of door. The zero value is one of those that nobody
// vouches for.
type SourceKind uint8

// The doors.
const (
	SourceIP4    SourceKind = iota // a websocket client
	SourceIP6                      // the same
	SourceImport                   // a file, brought in by the operator
	SourceStream                   // another relay, live
	SourceSync                     // another relay, by negentropy
	SourceStored                   // our own database
)

// String returns the word that write-policy plugins know the door by.
func (k SourceKind) String() string {
	return [...]string{"IP4", "IP6", "Import", "Stream", "Sync", "Stored"}[k]
}

// trusted reports whether the operator vouches for what comes through the door,
// so that also events pass which only their author may publish.
func (k SourceKind) trusted() bool { return k == SourceImport || k == SourceStored }

// client reports whether who brings the event is the one to answer for it.
func (k SourceKind) client() bool { return k == SourceIP4 || k == SourceIP6 }
