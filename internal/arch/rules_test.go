package arch

// core is what everything above the store may use.
var core = []string{"packed", "index", "nostr", "store", "planner", "ingest"}

// anything stands for all packages.
const anything = "*"

// allowed lists, for each package of the module, the packages of the module it
// may import. Subpackages follow the rules of their parent and may import it
// and each other. A package that is missing here breaks a rule by itself.
var allowed = map[string][]string{
	"packed":  {},
	"index":   {"packed"},
	"nostr":   {"packed", "index"},
	"store":   {"packed", "index", "nostr", "internal/lmdbx", "internal/invariants"},
	"planner": {"packed", "index", "nostr", "store"},
	"ingest":  {"packed", "index", "nostr", "store"},

	// The three sides of a relay know nothing of each other.
	"relay":   append([]string{"internal/negentropy"}, core...),
	"mesh":    append([]string{"internal/negentropy"}, core...),
	"cluster": core,

	"cmd/wok": {anything},

	// Looks at relays from outside, any relay: a second opinion on everything.
	"conformance": {},

	// The same for speed: a module of its own, which knows relays by their sockets.
	"bench": {},

	"internal/arch":       {},
	"internal/config":     {},
	"internal/golpegen":   {},
	"internal/invariants": {},
	"internal/lmdbx":      {"packed", "index", "internal/invariants"},
	"internal/negentropy": {"packed", "index"},
	"internal/strfry":     {"packed", "nostr"},
	"internal/testdb":     {"packed", "index", "nostr", "store", "planner", "ingest"},
}

// forTests are packages that every test file may import beside those of its
// package.
var forTests = []string{"internal/testdb"}

// only lists who may import a module or package of others, tests included. A
// path covers what lies below it.
var only = map[string][]string{
	"github.com/PowerDNS/lmdb-go": {"internal/lmdbx"},
	"unsafe":                      {"internal/lmdbx"},
	"C":                           {"nostr"},
	"github.com/spf13/cobra":      {"cmd/wok"},
}
