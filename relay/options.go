package relay

import (
	"log/slog"
	"runtime"
	"time"

	"wok/nostr"
	"wok/planner"
)

// Options are what a server is told. A field left zero has the default named,
// or else none of what it offers.
type Options struct {
	Info   Info
	Limits Limits
	Auth   Auth

	Compression  bool          // offer permessage-deflate
	Hints        bool          // say at EOSE whether there is more (NIP-67)
	TCPKeepalive bool          // let TCP probe idle connections
	Ping         time.Duration // between pings to an idle client; 0 for none
	QueryWorkers int           // queries that run at once; default one a CPU
	Slice        time.Duration // how long a query runs before others do; default 10 ms
	SlowQuery    time.Duration // log queries that run longer; 0 for none
	HLL          bool          // count authors as well where a COUNT is eligible (NIP-45)

	// RealIPHeader is the header in which a trusted proxy names the client's
	// address. Whoever may connect past the proxy can claim any.
	RealIPHeader string

	Trace   Trace
	Version string           // of the program
	Log     *slog.Logger     // default: discard
	Now     func() time.Time // the clock that events expire by; default time.Now
}

// Info is what the relay says about itself (NIP-11).
type Info struct {
	Name, Description string
	Pubkey            string // of the administrator
	Self              string // of the relay
	Contact           string // URI
	Icon, Banner      string // URLs
	Privacy, Terms    string // URLs
	Software          string // URL of the program
	NIPs              []int  // to claim instead of those that are served
}

// Limits bound what clients may ask. They are what NIP-11 advertises.
type Limits struct {
	MaxMessageBytes int // after inflation; default 1 MiB
	MaxSubs         int // open at once on a connection; default 300
	MaxFilters      int // of one REQ or COUNT; default 200
	MaxValues       int // of one filter; 0 for no limit
	MaxOpenValues   int // in all filters of a connection's open REQs and COUNTs; 0 for no limit
	MaxTagLetters   int // of one filter; 0 for no limit
	MaxLimit        int // what a larger limit of a filter becomes; default 500
	DefaultLimit    int // of a filter without; default MaxLimit
	// MaxPendingBytes is how much may wait for a client that does not keep up
	// with its live events. 0 for no limit.
	MaxPendingBytes int
	Narrow          Narrow
	Each            bool // serve filters with "&t" (NIP-91)
	IgnoreUnknown   bool // pass over unknown words in filters
	NoCount         bool // refuse COUNT
	// MaxCount is where a COUNT that must look at each event ends, with an
	// approximate answer. 0 for no limit.
	MaxCount uint64
	// MaxWork is how much work a filter may take on average, as the planner
	// prices it. 0 for no limit.
	MaxWork time.Duration
	// CutQueries ends a query that takes more by EOSE, as if a limit had been
	// met, and not by CLOSED.
	CutQueries bool

	// Of events, only told here; ingest enforces them.
	MinPoW        int
	AuthToWrite   bool
	MaxEventTags  int
	MaxEventBytes int
	OldestEvent   time.Duration // 0 for any age
	NewestEvent   time.Duration // how far in the future
}

// Trace says what goes to the log beside errors.
type Trace struct {
	Events   bool // every EVENT that comes in
	Requests bool // every other message that comes in
	Scans    bool // what each query cost
	Refused  bool // why an event was refused
}

// marks are numbers of bytes that wait for a client.
type marks struct {
	high int // queries pause
	low  int // and go on
	// read is where nothing more is read from the client. A paused query alone
	// does not reach it, so that the client can still close the subscription.
	read int
}

// marks returns the marks, which lie below what costs the connection.
func (l *Limits) marks() marks {
	high := 1 << 20
	if l.MaxPendingBytes > 0 {
		high = min(high, l.MaxPendingBytes/2)
	}
	return marks{high: high, low: high / 4, read: 2 * high}
}

func (o Options) withDefaults() Options {
	setDefault(&o.QueryWorkers, runtime.NumCPU())
	setDefault(&o.Slice, 10*time.Millisecond)
	l := &o.Limits
	setDefault(&l.MaxMessageBytes, 1<<20)
	setDefault(&l.MaxSubs, 300)
	setDefault(&l.MaxFilters, 200)
	setDefault(&l.MaxLimit, 500)
	setDefault(&l.DefaultLimit, l.MaxLimit)
	l.DefaultLimit = min(l.DefaultLimit, l.MaxLimit)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// allows reports whether a request of some filters may go on after that work.
func (l *Limits) allows(filters int, w planner.Work) bool {
	return l.MaxWork == 0 || w.Cost() <= l.MaxWork*time.Duration(max(1, filters))
}

// tooDear is what becomes of a request that takes more work than it may.
var tooDear = nostr.Refuse(nostr.PrefixRateLimited, "this takes more work than is allowed; ask for less, or in parts")

// messages returns the limits that messages are read by.
func (l *Limits) messages() nostr.MessageLimits {
	return nostr.MessageLimits{
		MaxFilters: l.MaxFilters,
		Filter: nostr.FilterLimits{
			MaxValues:     l.MaxValues,
			MaxTags:       l.MaxTagLetters,
			MaxLimit:      l.MaxLimit,
			IgnoreUnknown: l.IgnoreUnknown,
			Each:          l.Each,
		},
	}
}
