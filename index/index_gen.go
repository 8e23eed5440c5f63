package index

// The indexes, in the order of All.
const (
	CreatedAt ID = iota
	ByPubkey
	ByKind
	ByPubkeyKind
	ByTag
)

// All declares every index.
var All = [...]Def{
	{CreatedAt, "created_at", []Part{Every}, "all events"},
	{ByPubkey, "pubkey", []Part{Pubkey}, "events of an author"},
	{ByKind, "kind", []Part{Kind}, "events of a kind"},
	{ByPubkeyKind, "pubkeyKind", []Part{Pubkey, Kind}, "events of an author and kind"},
	{ByTag, "tag", []Part{Tag}, "events with a single-letter tag"},
}
