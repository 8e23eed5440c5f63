package main

import (
	"log/slog"
	"time"

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
	e := &cfg.Events
	return ingest.Rules{
		Limits:             eventLimits(cfg),
		NewerThan:          seconds(e.RejectEventsNewerThanSeconds),
		OlderThan:          seconds(e.RejectEventsOlderThanSeconds),
		EphemeralOlderThan: seconds(e.RejectEphemeralEventsOlderThanSeconds),
	}
}

// importRules are the rules of the configuration but those about dates, which
// are about clients: a backup must come back whole.
func importRules(cfg *config.Config) ingest.Rules {
	return ingest.Rules{Limits: eventLimits(cfg)}
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

func relayLimits(cfg *config.Config) relay.Limits {
	r, e := &cfg.Relay, &cfg.Events
	return relay.Limits{
		MaxMessageBytes: int(r.MaxWebsocketPayloadSize),
		MaxSubs:         r.MaxSubsPerConnection,
		MaxFilters:      r.MaxReqFilterSize,
		MaxValues:       r.MaxValuesPerFilter,
		MaxTagLetters:   r.MaxTagsPerFilter,
		MaxLimit:        r.MaxFilterLimit,
		MaxPendingBytes: int(r.MaxPendingOutboundBytes),
		NoCount:         r.MaxFilterLimitCount == 0,
		MaxCount:        uint64(r.MaxFilterLimitCount),
		MaxWork:         time.Duration(r.MaxQueryMillis) * time.Millisecond,
		CutQueries:      r.CutQueries,
		MaxEventTags:    e.MaxNumTags,
		MaxEventBytes:   int(e.MaxEventSize),
		OldestEvent:     seconds(e.RejectEventsOlderThanSeconds),
		NewestEvent:     seconds(e.RejectEventsNewerThanSeconds),
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
