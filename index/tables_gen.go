// Code generated from golpe.yaml by internal/golpegen. DO NOT EDIT.

package index

// A TableID names one table of the database. The numbers are those of today's
// build and are never stored.
type TableID uint8

// A TableDef declares one table.
type TableDef struct {
	ID         TableID
	Name       string // in the database
	IntegerKey bool   // keys are uint64 in native byte order
	DupSort    bool   // a key holds a sorted list of values
	DupFixed   bool   // and all values of the table have one size
	Help       string
}

// The tables, in the order of Tables.
const (
	TableMeta                  TableID = iota // facts about the database by name (format version, next levId)
	TableEvent                                // levId -> packed event
	TableEventPayload                         // levId -> the event's JSON, plain or compressed
	TableEventID                              // event id -> posting
	TableReplace                              // address (pubkey, kind, d) -> posting of the latest version
	TableDeletion                             // event id and pubkey of the deleter -> tombstone
	TableReplaceDeletion                      // address -> time up to which its versions are deleted
	TableVanish                               // pubkey -> time up to which all of it has vanished
	TableVanishing                            // pubkey and which list -> where the removal of what has vanished goes on
	TableExpiration                           // unix time -> levIds that expire then
	TableCompressionDictionary                // dictionary id -> zstd dictionary
	TableNegentropyFilter                     // tree id -> filter whose events the tree holds
	TableCreatedAt                            // index: all events
	TableByPubkey                             // index: events of an author
	TableByKind                               // index: events of a kind
	TableByPubkeyKind                         // index: events of an author and kind
	TableByTag                                // index: events with a single-letter tag
)

// Tables declares every table of the database, the indexes last.
var Tables = [...]TableDef{
	{ID: TableMeta, Name: "Meta", Help: "facts about the database by name (format version, next levId)"},
	{ID: TableEvent, Name: "Event", IntegerKey: true, Help: "levId -> packed event"},
	{ID: TableEventPayload, Name: "EventPayload", IntegerKey: true, Help: "levId -> the event's JSON, plain or compressed"},
	{ID: TableEventID, Name: "id", Help: "event id -> posting"},
	{ID: TableReplace, Name: "replace", Help: "address (pubkey, kind, d) -> posting of the latest version"},
	{ID: TableDeletion, Name: "deletion", Help: "event id and pubkey of the deleter -> tombstone"},
	{ID: TableReplaceDeletion, Name: "replaceDeletion", Help: "address -> time up to which its versions are deleted"},
	{ID: TableVanish, Name: "vanish", Help: "pubkey -> time up to which all of it has vanished"},
	{ID: TableVanishing, Name: "vanishing", Help: "pubkey and which list -> where the removal of what has vanished goes on"},
	{ID: TableExpiration, Name: "expiration", IntegerKey: true, DupSort: true, DupFixed: true, Help: "unix time -> levIds that expire then"},
	{ID: TableCompressionDictionary, Name: "CompressionDictionary", IntegerKey: true, Help: "dictionary id -> zstd dictionary"},
	{ID: TableNegentropyFilter, Name: "NegentropyFilter", IntegerKey: true, Help: "tree id -> filter whose events the tree holds"},
	{ID: TableCreatedAt, Name: "created_at", DupSort: true, DupFixed: true, Help: "all events"},
	{ID: TableByPubkey, Name: "pubkey", DupSort: true, DupFixed: true, Help: "events of an author"},
	{ID: TableByKind, Name: "kind", DupSort: true, DupFixed: true, Help: "events of a kind"},
	{ID: TableByPubkeyKind, Name: "pubkeyKind", DupSort: true, DupFixed: true, Help: "events of an author and kind"},
	{ID: TableByTag, Name: "tag", DupSort: true, DupFixed: true, Help: "events with a single-letter tag"},
}
