package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
	"unicode"

	"wok/ingest"
	"wok/internal/config"
	"wok/nostr"
	"wok/relay"
	"wok/store"
)

// Here the configuration is translated into the options of the packages, none
// of which knows it.

// storeOptions are the options of the database that the configuration gives.
func storeOptions(cfg *config.Config) store.Options {
	return store.Options{
		Dir:          cfg.DB,
		MapSize:      cfg.DBParams.MapSize,
		MaxReaders:   cfg.DBParams.MaxReaders,
		NoReadAhead:  cfg.DBParams.NoReadAhead,
		MinFreeBytes: uint64(cfg.DBParams.MinFreeBytes),
	}
}

// clientRules are the rules for events of clients.
func clientRules(cfg *config.Config) ingest.Rules {
	e, auth := &cfg.Events, &cfg.Relay.Auth
	urls, _ := ownURLs(cfg) // checked when it was loaded
	return ingest.Rules{
		Limits:             eventLimits(cfg),
		NewerThan:          seconds(e.RejectEventsNewerThanSeconds),
		OlderThan:          seconds(e.RejectEventsOlderThanSeconds),
		EphemeralOlderThan: seconds(e.RejectEphemeralEventsOlderThanSeconds),
		MinPoW:             e.MinPoWDifficulty,
		AuthToWrite:        auth.RequiredToWrite,
		AuthToWrap:         auth.RequiredForGiftWraps,
		URLs:               urls,
	}
}

// importRules are the rules of the configuration but those about clients, dates
// among them: a backup must come back whole.
func importRules(cfg *config.Config) ingest.Rules {
	urls, _ := ownURLs(cfg) // checked when it was loaded
	return ingest.Rules{Limits: eventLimits(cfg), URLs: urls}
}

// ownURLs returns the URLs by which clients know the relay.
func ownURLs(cfg *config.Config) ([]nostr.RelayURL, error) {
	var urls []nostr.RelayURL
	list := cfg.Relay.Auth.ServiceURL
	for text := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		u, err := nostr.ParseRelayURL(text)
		if err != nil {
			return nil, fmt.Errorf("relay.auth.serviceUrl: %w", err)
		}
		urls = append(urls, u)
	}
	return urls, nil
}

// checkSoftware returns what is wrong with relay.info.software: where it is said
// at all, it is a URL (NIP-11).
func checkSoftware(text string) error {
	if u, err := url.Parse(text); text != "" && (err != nil || u.Scheme == "" || u.Host == "") {
		return fmt.Errorf("relay.info.software: not a URL: %s", nostr.Excerpt(text))
	}
	return nil
}

func eventLimits(cfg *config.Config) nostr.Limits {
	return nostr.Limits{
		MaxBytes:    int(cfg.Events.MaxEventSize),
		MaxTags:     cfg.Events.MaxNumTags,
		MaxTagValue: int(cfg.Events.MaxTagValSize),
	}
}

// relayOptions are what the configuration says of the relay.
func relayOptions(cfg *config.Config, log *slog.Logger) relay.Options {
	r := &cfg.Relay
	return relay.Options{
		Info:         relay.Info(r.Info),
		Limits:       relayLimits(cfg),
		Auth:         relayAuth(cfg),
		Compression:  r.Compression.Enabled,
		Hints:        r.EoseHints,
		TCPKeepalive: r.EnableTCPKeepalive,
		Ping:         seconds(r.AutoPingSeconds),
		Slice:        time.Duration(r.QueryTimesliceBudgetMicroseconds) * time.Microsecond,
		SlowQuery:    time.Duration(r.Logging.SlowQueryMillis) * time.Millisecond,
		HLL:          true,
		RealIPHeader: r.RealIPHeader,
		Trace: relay.Trace{
			Events:   r.Logging.DumpInEvents || r.Logging.DumpInAll,
			Requests: r.Logging.DumpInReqs || r.Logging.DumpInAll,
			Scans:    r.Logging.DBScanPerf,
			Refused:  r.Logging.InvalidEvents,
		},
		Version: buildVersion(),
		Log:     log,
	}
}

// relayAuth says whom the relay lets read what.
func relayAuth(cfg *config.Config) relay.Auth {
	a := &cfg.Relay.Auth
	urls, _ := ownURLs(cfg) // checked when it was loaded
	if !a.Enabled {
		return relay.Auth{}
	}
	return relay.Auth{
		Enabled: true,
		URLs:    urls,
		Gate:    nostr.NewGate(a.RestrictedReadKinds...),
		AnyKey:  !a.RestrictReadToInvolvedPubkey,
	}
}

// narrow is what the group relay.filterValidation asks for.
func narrow(cfg *config.Config) relay.Narrow {
	v := &cfg.Relay.FilterValidation
	if !v.Enabled {
		return relay.Narrow{}
	}
	return relay.Narrow{
		MinFilters:   v.MinFiltersPerReq,
		MaxFilters:   v.MaxFiltersPerReq,
		MaxKinds:     v.MaxKindsPerFilter,
		AllowedKinds: v.AllowedKinds,
		AuthorOrTag:  v.RequireAuthorOrTag,
	}
}

func relayLimits(cfg *config.Config) relay.Limits {
	r, e := &cfg.Relay, &cfg.Events
	return relay.Limits{
		Narrow:          narrow(cfg),
		Each:            r.AndTags,
		MaxMessageBytes: int(r.MaxWebsocketPayloadSize),
		MaxSubs:         r.MaxSubsPerConnection,
		MaxFilters:      r.MaxReqFilterSize,
		MaxValues:       r.MaxValuesPerFilter,
		MaxOpenValues:   r.MaxValuesPerConnection,
		MaxTagLetters:   r.MaxTagsPerFilter,
		MaxLimit:        r.MaxFilterLimit,
		DefaultLimit:    r.DefaultFilterLimit,
		IgnoreUnknown:   r.IgnoreUnknownKeys,
		MaxPendingBytes: int(r.MaxPendingOutboundBytes),
		NoCount:         r.MaxFilterLimitCount == 0,
		MaxCount:        uint64(r.MaxFilterLimitCount),
		MaxWork:         time.Duration(r.MaxQueryMillis) * time.Millisecond,
		CutQueries:      r.CutQueries,
		MinPoW:          e.MinPoWDifficulty,
		AuthToWrite:     r.Auth.RequiredToWrite,
		MaxEventTags:    e.MaxNumTags,
		MaxEventBytes:   int(e.MaxEventSize),
		OldestEvent:     seconds(e.RejectEventsOlderThanSeconds),
		NewestEvent:     seconds(e.RejectEventsNewerThanSeconds),
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
