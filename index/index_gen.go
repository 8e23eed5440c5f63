// Code generated from golpe.yaml by internal/golpegen. DO NOT EDIT.

package index

// The indexes, in the order of All.
const (
	CreatedAt    ID = iota // all events
	ByPubkey               // events of an author
	ByKind                 // events of a kind
	ByPubkeyKind           // events of an author and kind
	ByTag                  // events with a single-letter tag
)

// All declares every index.
var All = [...]Def{
	{ID: CreatedAt, Name: "created_at", Table: TableCreatedAt, Parts: []Part{Every}, Help: "all events"},
	{ID: ByPubkey, Name: "pubkey", Table: TableByPubkey, Parts: []Part{Pubkey}, Help: "events of an author"},
	{ID: ByKind, Name: "kind", Table: TableByKind, Parts: []Part{Kind}, Help: "events of a kind"},
	{ID: ByPubkeyKind, Name: "pubkeyKind", Table: TableByPubkeyKind, Parts: []Part{Pubkey, Kind}, Help: "events of an author and kind"},
	{ID: ByTag, Name: "tag", Table: TableByTag, Parts: []Part{Tag}, Help: "events with a single-letter tag"},
}
