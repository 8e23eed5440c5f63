// Code generated from golpe.yaml by internal/golpegen. DO NOT EDIT.

package config

// Config is the whole configuration, a plain value.
type Config struct {
	// Directory of the database. It is created where it does not exist.
	DB string

	DBParams  DBParams
	Events    Events
	Retention Retention
	Relay     Relay

	sources [len(keys)]string // where the value of each key is from
}

// DBParams is the group dbParams: The database environment.
type DBParams struct {
	// Read transactions that all processes on the database may have open at
	// once. Fixed while any of them runs.
	MaxReaders int

	// Address space reserved for the database, its largest possible size. It
	// costs neither disk nor memory. Where the system grants less, less is
	// taken. (bytes)
	MapSize int64

	// Do not read ahead on page faults. Saves disk reads when the database is
	// much larger than memory.
	NoReadAhead bool

	// With less free disk than this, events are refused with `error:` until
	// there is more again; reading goes on. 0: no such limit. (bytes)
	MinFreeBytes int64

	// Which dictionary stored events are compressed with, see `wok dict`:
	// `off`, the id of a dictionary for all of them, or one a kind, such as
	// `9735=2 30000-39999=3 1059=off *=1`. New events are compressed on their
	// way in, those already stored in the background. 0 is compression without
	// a dictionary, which pays for long events. What is off is left as it is.
	Compression string
}

// Events is the group events: Which events are taken. The bounds on size
// hold for whatever door they come through; those on dates are for clients,
// and `wok import` takes any date.
type Events struct {
	// Largest event, as normalised JSON. A follow list (kind 3) takes about 72
	// bytes a follow, and lists of 7000 are real. (bytes)
	MaxEventSize int64

	// Events dated further in the future are refused. 0: none are. (seconds)
	RejectEventsNewerThanSeconds int

	// Events dated further back are refused. 0: every age is welcome.
	// (seconds)
	RejectEventsOlderThanSeconds int

	// Ephemeral events dated further back are refused. 0: none are. (seconds)
	RejectEphemeralEventsOlderThanSeconds int

	// Tags an event may have. Every follow is one; the default leaves the
	// bound to events.maxEventSize. (tags)
	MaxNumTags int

	// Longest value of a single-letter tag, the only tags that are indexed. 0:
	// no bound but the event's size, which is enough, since a value of over
	// 255 bytes is indexed by its hash. 1024 would refuse some events that
	// exist. (bytes)
	MaxTagValSize int64

	// Leading zero bits that the id of an event must have (NIP-13), and that
	// its nonce tag must name as its aim. Events that a file brings in, and
	// requests to vanish, need none. 0: no proof of work is asked for. (bits)
	MinPoWDifficulty int
}

// Retention is the group retention: Which events a running relay removes.
type Retention struct {
	// Rules by semicolons, each with kinds, or else for all regular kinds but
	// 5 and 62, and with one bound: "kind=7 age=90d; kind=1,6 perAuthor=1000;
	// maxEvents=5000000; maxSize=50GB". docs/operations.md says what each
	// removes, and which events go first. Nothing brings them back.
	Rules string

	// How long the relay rests between two applications of all the rules.
	// (seconds)
	IntervalSeconds int
}

// Relay is the group relay: The websocket side.
type Relay struct {
	// Address to listen on. 0.0.0.0: all of IPv4; `::`: all.
	Bind string

	// TCP port to listen on. 0: any free one, named in the log.
	Port int

	// Open files and sockets to ask the system for; the hard limit is taken
	// where it is lower. 0: leave the limit as it is.
	NoFiles int

	// HTTP header in which a reverse proxy gives the client's address, such as
	// x-real-ip. Set it only behind a proxy that overwrites the header.
	RealIPHeader string

	// Largest message taken from a client, after decompression. Twice
	// events.maxEventSize, as clients may escape and space their JSON more
	// widely than the normalised form. (bytes)
	MaxWebsocketPayloadSize int64

	// Filters in one REQ or COUNT. (filters)
	MaxReqFilterSize int

	// Values in one filter, ids, authors, kinds and tag values together: each
	// costs a look into an index. 0: as many as fit into a message. (values)
	MaxValuesPerFilter int

	// Values in the filters of all that a connection has open: each takes
	// memory for as long. 0: no bound but those on one filter and on
	// subscriptions. (values)
	MaxValuesPerConnection int

	// Tag letters in one filter. 0: as many as there are, since a query is
	// bounded by the work it does. (letters)
	MaxTagsPerFilter int

	// Stored events sent for one filter at most; a higher limit means this.
	// (events)
	MaxFilterLimit int

	// Stored events for a filter that has no limit. 0: as many as
	// `relay.maxFilterLimit` allows. (events)
	DefaultFilterLimit int

	// Where a COUNT that must look at each event ends, with an approximate
	// answer. Most counts follow from the lengths of lists and have no bound.
	// 0: COUNT is refused. (events)
	MaxFilterLimitCount int

	// Work that a filter of a REQ or COUNT may take, priced as on a database
	// in memory. What takes more is CLOSED as rate-limited. 0: no bound.
	// (milliseconds)
	MaxQueryMillis int

	// End a REQ that takes more work than it may by EOSE, as if it had met its
	// limit, and not by CLOSED.
	CutQueries bool

	// Say with EOSE whether there are more stored matches than were sent
	// (NIP-67). Off, as a client that reads EOSE strictly takes the third
	// element for an error and waits forever; nostrify 0.54 does.
	EoseHints bool

	// Pass over words in filters that mean nothing here, instead of refusing
	// the filter as `unsupported:`. Tag names and `search` are refused all the
	// same: the answer would be to another question.
	IgnoreUnknownKeys bool

	// Serve filters that ask for events with each of several tags by "&t", as
	// the draft of NIP-91 has it.
	AndTags bool

	// Subscriptions a connection may have open at once. (subscriptions)
	MaxSubsPerConnection int

	// Bytes waiting to be sent to one client. Stored events wait in the
	// database long before that; a client whose live events reach it is
	// disconnected. 0: no limit. (bytes)
	MaxPendingOutboundBytes int64

	// How long a query runs before the next connection has its turn.
	// (microseconds)
	QueryTimesliceBudgetMicroseconds int

	// Time between websocket pings; less than the idle timeout of any proxy in
	// between. 0: no pings. (seconds)
	AutoPingSeconds int

	// Let TCP itself probe idle connections as well.
	EnableTCPKeepalive bool

	// How long a stopping relay waits for its clients before it closes their
	// connections. (seconds)
	ShutdownDeadlineSeconds int

	Auth             RelayAuth
	Info             RelayInfo
	Compression      RelayCompression
	Logging          RelayLogging
	FilterValidation RelayFilterValidation
}

// RelayAuth is the group relay.auth: Clients that prove who they are
// (NIP-42).
type RelayAuth struct {
	// Send clients a challenge, let them authenticate, and keep restricted
	// kinds for those who may read them. Set relay.auth.serviceUrl with it.
	Enabled bool

	// The relay's URL as clients know it, such as wss://relay.example.com;
	// where it has several, all of them, by spaces or commas. An AUTH must be
	// for the host of one of them; without any, AUTH is offered on loopback
	// only. A request to vanish (NIP-62) must name one of them, or all relays.
	ServiceURL string

	// Kinds that only authenticated clients may read. 1059 stands for 21059 as
	// well.
	RestrictedReadKinds []uint16

	// Restricted kinds are for their author and those in their p tags alone,
	// and not for every client that has authenticated.
	RestrictReadToInvolvedPubkey bool

	// Events are taken from clients that have authenticated only, with
	// whichever key. A request to vanish is taken from everyone.
	RequiredToWrite bool

	// The same for gift wraps (kinds 1059 and 21059) alone. Their authors are
	// keys made for the occasion, so any key that has authenticated will do.
	RequiredForGiftWraps bool
}

// RelayInfo is the group relay.info: What the relay says about itself
// (NIP-11). Limits and features are added by themselves.
type RelayInfo struct {
	// Name of the relay, less than 30 characters.
	Name string

	// Whatever there is to say about it.
	Description string

	// Public key of the administrator, as hex or npub.
	Pubkey string

	// Public key of the relay itself, as hex or npub.
	Self string

	// Another way to reach the administrator, as a URI.
	Contact string

	// URL of an icon.
	Icon string

	// URL of a banner.
	Banner string

	// URL of the privacy policy.
	Privacy string

	// URL of the terms of service.
	Terms string

	// URL at which this program can be found, of a fork say. Empty: nothing is
	// said about it.
	Software string

	// NIPs to claim. Empty: those that are really on.
	NIPs []int
}

// RelayCompression is the group relay.compression: Compression of websocket
// messages (permessage-deflate).
type RelayCompression struct {
	// Compress events for clients that offer it: a third less to send, for
	// some 10 us of CPU an event, however many get it live; see
	// docs/benchmarks.md.
	Enabled bool
}

// RelayLogging is the group relay.logging: What goes to the log beside
// errors.
type RelayLogging struct {
	// Log every message that comes in.
	DumpInAll bool

	// Log every EVENT that comes in.
	DumpInEvents bool

	// Log every REQ, COUNT and CLOSE that comes in.
	DumpInReqs bool

	// Log what each stored query cost.
	DBScanPerf bool

	// Log queries that ran for longer, with their plan. 0: none.
	// (milliseconds)
	SlowQueryMillis int

	// Log why an event was refused.
	InvalidEvents bool
}

// RelayFilterValidation is the group relay.filterValidation: A stricter look
// at filters, for relays with a narrow purpose.
type RelayFilterValidation struct {
	// Apply the other keys of this group.
	Enabled bool

	// Filters in one REQ at most.
	MaxFiltersPerReq int

	// Filters in one REQ at least.
	MinFiltersPerReq int

	// Kinds in one filter at most.
	MaxKindsPerFilter int

	// Kinds that may be asked for. Empty: all.
	AllowedKinds []uint16

	// Every filter must name an author, or an event or a person by tag.
	RequireAuthorOrTag bool
}

// Default returns the configuration of a relay that was told nothing.
func Default() (c Config) {
	c.DB = "./wok-db"
	c.DBParams.MaxReaders = 256
	c.DBParams.MapSize = 10995116277760
	c.DBParams.NoReadAhead = false
	c.DBParams.MinFreeBytes = 268435456
	c.DBParams.Compression = "off"
	c.Events.MaxEventSize = 524288
	c.Events.RejectEventsNewerThanSeconds = 900
	c.Events.RejectEventsOlderThanSeconds = 0
	c.Events.RejectEphemeralEventsOlderThanSeconds = 60
	c.Events.MaxNumTags = 10000
	c.Events.MaxTagValSize = 0
	c.Events.MinPoWDifficulty = 0
	c.Retention.Rules = ""
	c.Retention.IntervalSeconds = 60
	c.Relay.Bind = "127.0.0.1"
	c.Relay.Port = 7777
	c.Relay.NoFiles = 524288
	c.Relay.RealIPHeader = ""
	c.Relay.MaxWebsocketPayloadSize = 1048576
	c.Relay.MaxReqFilterSize = 200
	c.Relay.MaxValuesPerFilter = 10000
	c.Relay.MaxValuesPerConnection = 100000
	c.Relay.MaxTagsPerFilter = 0
	c.Relay.MaxFilterLimit = 500
	c.Relay.DefaultFilterLimit = 0
	c.Relay.MaxFilterLimitCount = 1000000
	c.Relay.MaxQueryMillis = 10000
	c.Relay.CutQueries = false
	c.Relay.EoseHints = false
	c.Relay.IgnoreUnknownKeys = false
	c.Relay.AndTags = false
	c.Relay.MaxSubsPerConnection = 300
	c.Relay.MaxPendingOutboundBytes = 33554432
	c.Relay.QueryTimesliceBudgetMicroseconds = 10000
	c.Relay.AutoPingSeconds = 55
	c.Relay.EnableTCPKeepalive = false
	c.Relay.ShutdownDeadlineSeconds = 10
	c.Relay.Auth.Enabled = true
	c.Relay.Auth.ServiceURL = ""
	c.Relay.Auth.RestrictedReadKinds = []uint16{4, 1059}
	c.Relay.Auth.RestrictReadToInvolvedPubkey = true
	c.Relay.Auth.RequiredToWrite = false
	c.Relay.Auth.RequiredForGiftWraps = false
	c.Relay.Info.Name = "wok"
	c.Relay.Info.Description = "A nostr relay."
	c.Relay.Info.Pubkey = ""
	c.Relay.Info.Self = ""
	c.Relay.Info.Contact = ""
	c.Relay.Info.Icon = ""
	c.Relay.Info.Banner = ""
	c.Relay.Info.Privacy = ""
	c.Relay.Info.Terms = ""
	c.Relay.Info.Software = ""
	c.Relay.Info.NIPs = []int(nil)
	c.Relay.Compression.Enabled = true
	c.Relay.Logging.DumpInAll = false
	c.Relay.Logging.DumpInEvents = false
	c.Relay.Logging.DumpInReqs = false
	c.Relay.Logging.DBScanPerf = false
	c.Relay.Logging.SlowQueryMillis = 1000
	c.Relay.Logging.InvalidEvents = true
	c.Relay.FilterValidation.Enabled = false
	c.Relay.FilterValidation.MaxFiltersPerReq = 3
	c.Relay.FilterValidation.MinFiltersPerReq = 1
	c.Relay.FilterValidation.MaxKindsPerFilter = 3
	c.Relay.FilterValidation.AllowedKinds = []uint16(nil)
	c.Relay.FilterValidation.RequireAuthorOrTag = false
	return c
}

// fields returns pointers to the fields of c in the order of keys; keys
// without effect have none.
func (c *Config) fields() [len(keys)]any {
	return [...]any{
		&c.DB,
		&c.DBParams.MaxReaders,
		&c.DBParams.MapSize,
		&c.DBParams.NoReadAhead,
		&c.DBParams.MinFreeBytes,
		&c.DBParams.Compression,
		&c.Events.MaxEventSize,
		&c.Events.RejectEventsNewerThanSeconds,
		&c.Events.RejectEventsOlderThanSeconds,
		&c.Events.RejectEphemeralEventsOlderThanSeconds,
		nil,
		&c.Events.MaxNumTags,
		&c.Events.MaxTagValSize,
		&c.Events.MinPoWDifficulty,
		&c.Retention.Rules,
		&c.Retention.IntervalSeconds,
		&c.Relay.Bind,
		&c.Relay.Port,
		&c.Relay.NoFiles,
		&c.Relay.RealIPHeader,
		&c.Relay.MaxWebsocketPayloadSize,
		&c.Relay.MaxReqFilterSize,
		&c.Relay.MaxValuesPerFilter,
		&c.Relay.MaxValuesPerConnection,
		&c.Relay.MaxTagsPerFilter,
		&c.Relay.MaxFilterLimit,
		&c.Relay.DefaultFilterLimit,
		&c.Relay.MaxFilterLimitCount,
		&c.Relay.MaxQueryMillis,
		&c.Relay.CutQueries,
		&c.Relay.EoseHints,
		&c.Relay.IgnoreUnknownKeys,
		&c.Relay.AndTags,
		&c.Relay.MaxSubsPerConnection,
		&c.Relay.MaxPendingOutboundBytes,
		&c.Relay.QueryTimesliceBudgetMicroseconds,
		&c.Relay.AutoPingSeconds,
		&c.Relay.EnableTCPKeepalive,
		&c.Relay.ShutdownDeadlineSeconds,
		&c.Relay.Auth.Enabled,
		&c.Relay.Auth.ServiceURL,
		&c.Relay.Auth.RestrictedReadKinds,
		&c.Relay.Auth.RestrictReadToInvolvedPubkey,
		&c.Relay.Auth.RequiredToWrite,
		&c.Relay.Auth.RequiredForGiftWraps,
		&c.Relay.Info.Name,
		&c.Relay.Info.Description,
		&c.Relay.Info.Pubkey,
		&c.Relay.Info.Self,
		&c.Relay.Info.Contact,
		&c.Relay.Info.Icon,
		&c.Relay.Info.Banner,
		&c.Relay.Info.Privacy,
		&c.Relay.Info.Terms,
		&c.Relay.Info.Software,
		&c.Relay.Info.NIPs,
		nil,
		nil,
		&c.Relay.Compression.Enabled,
		nil,
		&c.Relay.Logging.DumpInAll,
		&c.Relay.Logging.DumpInEvents,
		&c.Relay.Logging.DumpInReqs,
		&c.Relay.Logging.DBScanPerf,
		&c.Relay.Logging.SlowQueryMillis,
		&c.Relay.Logging.InvalidEvents,
		nil,
		nil,
		nil,
		nil,
		nil,
		nil,
		&c.Relay.FilterValidation.Enabled,
		&c.Relay.FilterValidation.MaxFiltersPerReq,
		&c.Relay.FilterValidation.MinFiltersPerReq,
		&c.Relay.FilterValidation.MaxKindsPerFilter,
		&c.Relay.FilterValidation.AllowedKinds,
		&c.Relay.FilterValidation.RequireAuthorOrTag,
	}
}

// keys declares every configuration key.
var keys = [...]Key{
	{
		Name: "db", Type: String, Restart: true,
		Help: "Directory of the database. It is created where it does not exist.",
	},
	{
		Name: "dbParams.maxreaders", Type: Int, Min: 8, Max: 100000, Restart: true,
		Help: "Read transactions that all processes on the database may have open at once. Fixed while any of them runs.",
	},
	{
		Name: "dbParams.mapsize", Type: Size, Unit: "bytes", Min: 1048576, Restart: true,
		Help: "Address space reserved for the database, its largest possible size. It costs neither disk nor memory. Where the system grants less, less is taken.",
	},
	{
		Name: "dbParams.noReadAhead", Type: Bool, Restart: true,
		Help: "Do not read ahead on page faults. Saves disk reads when the database is much larger than memory.",
	},
	{
		Name: "dbParams.minFreeBytes", Type: Size, Unit: "bytes",
		Help: "With less free disk than this, events are refused with `error:` until there is more again; reading goes on. 0: no such limit.",
	},
	{
		Name: "dbParams.compression", Type: String, Restart: true,
		Help: "Which dictionary stored events are compressed with, see `wok dict`: `off`, the id of a dictionary for all of them, or one a kind, such as `9735=2 30000-39999=3 1059=off *=1`. New events are compressed on their way in, those already stored in the background. 0 is compression without a dictionary, which pays for long events. What is off is left as it is.",
	},
	{
		Name: "events.maxEventSize", Type: Size, Unit: "bytes", Min: 512, Max: 67108864,
		Help: "Largest event, as normalised JSON. A follow list (kind 3) takes about 72 bytes a follow, and lists of 7000 are real.",
	},
	{
		Name: "events.rejectEventsNewerThanSeconds", Type: Int, Unit: "seconds",
		Help: "Events dated further in the future are refused. 0: none are.",
	},
	{
		Name: "events.rejectEventsOlderThanSeconds", Type: Int, Unit: "seconds",
		Help: "Events dated further back are refused. 0: every age is welcome.",
	},
	{
		Name: "events.rejectEphemeralEventsOlderThanSeconds", Type: Int, Unit: "seconds",
		Help: "Ephemeral events dated further back are refused. 0: none are.",
	},
	{
		Name: "events.ephemeralEventsLifetimeSeconds", Type: Int, Unit: "seconds",
		Help:    "How long strfry keeps ephemeral events.",
		Ignored: "ephemeral events are sent on and never stored",
	},
	{
		Name: "events.maxNumTags", Type: Int, Unit: "tags", Max: 1000000,
		Help: "Tags an event may have. Every follow is one; the default leaves the bound to events.maxEventSize.",
	},
	{
		Name: "events.maxTagValSize", Type: Size, Unit: "bytes", Max: 1048576,
		Help: "Longest value of a single-letter tag, the only tags that are indexed. 0: no bound but the event's size, which is enough, since a value of over 255 bytes is indexed by its hash. 1024 would refuse some events that exist.",
	},
	{
		Name: "events.minPowDifficulty", Type: Int, Unit: "bits", Max: 256,
		Help: "Leading zero bits that the id of an event must have (NIP-13), and that its nonce tag must name as its aim. Events that a file brings in, and requests to vanish, need none. 0: no proof of work is asked for.",
	},
	{
		Name: "retention.rules", Type: String,
		Help: "Rules by semicolons, each with kinds, or else for all regular kinds but 5 and 62, and with one bound: \"kind=7 age=90d; kind=1,6 perAuthor=1000; maxEvents=5000000; maxSize=50GB\". docs/operations.md says what each removes, and which events go first. Nothing brings them back.",
	},
	{
		Name: "retention.intervalSeconds", Type: Int, Unit: "seconds", Min: 1, Max: 86400,
		Help: "How long the relay rests between two applications of all the rules.",
	},
	{
		Name: "relay.bind", Type: String, Restart: true,
		Help: "Address to listen on. 0.0.0.0: all of IPv4; `::`: all.",
	},
	{
		Name: "relay.port", Type: Int, Max: 65535, Restart: true,
		Help: "TCP port to listen on. 0: any free one, named in the log.",
	},
	{
		Name: "relay.nofiles", Type: Int, Restart: true,
		Help: "Open files and sockets to ask the system for; the hard limit is taken where it is lower. 0: leave the limit as it is.",
	},
	{
		Name: "relay.realIpHeader", Type: String,
		Help: "HTTP header in which a reverse proxy gives the client's address, such as x-real-ip. Set it only behind a proxy that overwrites the header.",
	},
	{
		Name: "relay.maxWebsocketPayloadSize", Type: Size, Unit: "bytes", Min: 1024, Max: 134217728, Restart: true,
		Help: "Largest message taken from a client, after decompression. Twice events.maxEventSize, as clients may escape and space their JSON more widely than the normalised form.",
	},
	{
		Name: "relay.maxReqFilterSize", Type: Int, Unit: "filters", Min: 1, Max: 10000,
		Help: "Filters in one REQ or COUNT.",
	},
	{
		Name: "relay.maxValuesPerFilter", Type: Int, Unit: "values",
		Help: "Values in one filter, ids, authors, kinds and tag values together: each costs a look into an index. 0: as many as fit into a message.",
	},
	{
		Name: "relay.maxValuesPerConnection", Type: Int, Unit: "values",
		Help: "Values in the filters of all that a connection has open: each takes memory for as long. 0: no bound but those on one filter and on subscriptions.",
	},
	{
		Name: "relay.maxTagsPerFilter", Type: Int, Unit: "letters", Max: 52,
		Help: "Tag letters in one filter. 0: as many as there are, since a query is bounded by the work it does.",
	},
	{
		Name: "relay.maxFilterLimit", Type: Int, Unit: "events", Min: 1, Max: 1000000,
		Help: "Stored events sent for one filter at most; a higher limit means this.",
	},
	{
		Name: "relay.defaultFilterLimit", Type: Int, Unit: "events",
		Help: "Stored events for a filter that has no limit. 0: as many as `relay.maxFilterLimit` allows.",
	},
	{
		Name: "relay.maxFilterLimitCount", Type: Int, Unit: "events",
		Help: "Where a COUNT that must look at each event ends, with an approximate answer. Most counts follow from the lengths of lists and have no bound. 0: COUNT is refused.",
	},
	{
		Name: "relay.maxQueryMillis", Type: Int, Unit: "milliseconds",
		Help: "Work that a filter of a REQ or COUNT may take, priced as on a database in memory. What takes more is CLOSED as rate-limited. 0: no bound.",
	},
	{
		Name: "relay.cutQueries", Type: Bool,
		Help: "End a REQ that takes more work than it may by EOSE, as if it had met its limit, and not by CLOSED.",
	},
	{
		Name: "relay.eoseHints", Type: Bool,
		Help: "Say with EOSE whether there are more stored matches than were sent (NIP-67). Off, as a client that reads EOSE strictly takes the third element for an error and waits forever; nostrify 0.54 does.",
	},
	{
		Name: "relay.ignoreUnknownKeys", Type: Bool,
		Help: "Pass over words in filters that mean nothing here, instead of refusing the filter as `unsupported:`. Tag names and `search` are refused all the same: the answer would be to another question.",
	},
	{
		Name: "relay.andTags", Type: Bool,
		Help: "Serve filters that ask for events with each of several tags by \"&t\", as the draft of NIP-91 has it.",
	},
	{
		Name: "relay.maxSubsPerConnection", Type: Int, Unit: "subscriptions", Min: 1, Max: 100000,
		Help: "Subscriptions a connection may have open at once.",
	},
	{
		Name: "relay.maxPendingOutboundBytes", Type: Size, Unit: "bytes",
		Help: "Bytes waiting to be sent to one client. Stored events wait in the database long before that; a client whose live events reach it is disconnected. 0: no limit.",
	},
	{
		Name: "relay.queryTimesliceBudgetMicroseconds", Type: Int, Unit: "microseconds", Min: 100, Max: 10000000,
		Help: "How long a query runs before the next connection has its turn.",
	},
	{
		Name: "relay.autoPingSeconds", Type: Int, Unit: "seconds", Restart: true,
		Help: "Time between websocket pings; less than the idle timeout of any proxy in between. 0: no pings.",
	},
	{
		Name: "relay.enableTcpKeepalive", Type: Bool,
		Help: "Let TCP itself probe idle connections as well.",
	},
	{
		Name: "relay.shutdownDeadlineSeconds", Type: Int, Unit: "seconds", Max: 3600,
		Help: "How long a stopping relay waits for its clients before it closes their connections.",
	},
	{
		Name: "relay.auth.enabled", Type: Bool,
		Help: "Send clients a challenge, let them authenticate, and keep restricted kinds for those who may read them. Set relay.auth.serviceUrl with it.",
	},
	{
		Name: "relay.auth.serviceUrl", Type: String,
		Help: "The relay's URL as clients know it, such as wss://relay.example.com; where it has several, all of them, by spaces or commas. An AUTH must be for the host of one of them; without any, AUTH is offered on loopback only. A request to vanish (NIP-62) must name one of them, or all relays.",
	},
	{
		Name: "relay.auth.restrictedReadKinds", Type: Kinds,
		Help: "Kinds that only authenticated clients may read. 1059 stands for 21059 as well.",
	},
	{
		Name: "relay.auth.restrictReadToInvolvedPubkey", Type: Bool,
		Help: "Restricted kinds are for their author and those in their p tags alone, and not for every client that has authenticated.",
	},
	{
		Name: "relay.auth.requiredToWrite", Type: Bool,
		Help: "Events are taken from clients that have authenticated only, with whichever key. A request to vanish is taken from everyone.",
	},
	{
		Name: "relay.auth.requiredForGiftWraps", Type: Bool,
		Help: "The same for gift wraps (kinds 1059 and 21059) alone. Their authors are keys made for the occasion, so any key that has authenticated will do.",
	},
	{
		Name: "relay.info.name", Type: String,
		Help: "Name of the relay, less than 30 characters.",
	},
	{
		Name: "relay.info.description", Type: String,
		Help: "Whatever there is to say about it.",
	},
	{
		Name: "relay.info.pubkey", Type: Pubkey,
		Help: "Public key of the administrator, as hex or npub.",
	},
	{
		Name: "relay.info.self", Type: Pubkey,
		Help: "Public key of the relay itself, as hex or npub.",
	},
	{
		Name: "relay.info.contact", Type: String,
		Help: "Another way to reach the administrator, as a URI.",
	},
	{
		Name: "relay.info.icon", Type: String,
		Help: "URL of an icon.",
	},
	{
		Name: "relay.info.banner", Type: String,
		Help: "URL of a banner.",
	},
	{
		Name: "relay.info.privacy", Type: String,
		Help: "URL of the privacy policy.",
	},
	{
		Name: "relay.info.terms", Type: String,
		Help: "URL of the terms of service.",
	},
	{
		Name: "relay.info.software", Type: String,
		Help: "URL at which this program can be found, of a fork say. Empty: nothing is said about it.",
	},
	{
		Name: "relay.info.nips", Type: Ints,
		Help: "NIPs to claim. Empty: those that are really on.",
	},
	{
		Name: "relay.writePolicy.plugin", Type: String,
		Help:     "Command of the policy program.",
		Ignored:  "this version runs no plugins and takes every valid event",
		harmless: "",
	},
	{
		Name: "relay.writePolicy.timeoutSeconds", Type: Int, Unit: "seconds",
		Help:     "How long to wait for its answer.",
		Ignored:  "this version runs no plugins",
		harmless: 10,
	},
	{
		Name: "relay.compression.enabled", Type: Bool, Restart: true,
		Help: "Compress events for clients that offer it: a third less to send, for some 10 us of CPU an event, however many get it live; see docs/benchmarks.md.",
	},
	{
		Name: "relay.compression.slidingWindow", Type: Bool,
		Help:     "Keep a compression window for each connection.",
		Ignored:  "each message is compressed by itself, which needs no memory between messages",
		harmless: false,
	},
	{
		Name: "relay.logging.dumpInAll", Type: Bool,
		Help: "Log every message that comes in.",
	},
	{
		Name: "relay.logging.dumpInEvents", Type: Bool,
		Help: "Log every EVENT that comes in.",
	},
	{
		Name: "relay.logging.dumpInReqs", Type: Bool,
		Help: "Log every REQ, COUNT and CLOSE that comes in.",
	},
	{
		Name: "relay.logging.dbScanPerf", Type: Bool,
		Help: "Log what each stored query cost.",
	},
	{
		Name: "relay.logging.slowQueryMillis", Type: Int, Unit: "milliseconds",
		Help: "Log queries that ran for longer, with their plan. 0: none.",
	},
	{
		Name: "relay.logging.invalidEvents", Type: Bool,
		Help: "Log why an event was refused.",
	},
	{
		Name: "relay.numThreads.ingester", Type: Int,
		Help:    "Threads that parse and verify.",
		Ignored: "all cores are used",
	},
	{
		Name: "relay.numThreads.reqWorker", Type: Int,
		Help:    "Threads that scan the database.",
		Ignored: "all cores are used",
	},
	{
		Name: "relay.numThreads.reqMonitor", Type: Int,
		Help:    "Threads that match new events.",
		Ignored: "all cores are used",
	},
	{
		Name: "relay.numThreads.negentropy", Type: Int,
		Help:    "Threads that reconcile.",
		Ignored: "all cores are used",
	},
	{
		Name: "relay.negentropy.enabled", Type: Bool,
		Help:     "Answer NEG-OPEN.",
		Ignored:  "this version does not speak NIP-77",
		harmless: false,
	},
	{
		Name: "relay.negentropy.maxSyncEvents", Type: Int, Unit: "events",
		Help:     "Largest set to reconcile.",
		Ignored:  "this version does not speak NIP-77",
		harmless: 1000000,
	},
	{
		Name: "relay.filterValidation.enabled", Type: Bool,
		Help: "Apply the other keys of this group.",
	},
	{
		Name: "relay.filterValidation.maxFiltersPerReq", Type: Int,
		Help: "Filters in one REQ at most.",
	},
	{
		Name: "relay.filterValidation.minFiltersPerReq", Type: Int,
		Help: "Filters in one REQ at least.",
	},
	{
		Name: "relay.filterValidation.maxKindsPerFilter", Type: Int,
		Help: "Kinds in one filter at most.",
	},
	{
		Name: "relay.filterValidation.allowedKinds", Type: Kinds,
		Help: "Kinds that may be asked for. Empty: all.",
	},
	{
		Name: "relay.filterValidation.requireAuthorOrTag", Type: Bool,
		Help: "Every filter must name an author, or an event or a person by tag.",
	},
}
