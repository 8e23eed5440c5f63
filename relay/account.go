package relay

import (
	"errors"
	"time"

	"wok/nostr"
	"wok/store"
)

// ranQuery counts a query that has ended, and logs it where that is asked for
// or it was slow.
func (s *Server) ranQuery(j *scan) {
	s.metrics.queries.Add(1)
	s.lost(j.query.Lost(), j.sub.filters)
	s.metrics.slices.Add(int64(j.slices))
	slow := s.opts.SlowQuery > 0 && j.running() >= s.opts.SlowQuery
	switch {
	case slow:
		s.log.Warn("slow query", j.account()...)
	case s.opts.Trace.Scans:
		s.log.Info("query", j.account()...)
	}
}

// lost notes events that a query had to leave out: a damaged row costs only
// itself.
func (s *Server) lost(n int, filters []*nostr.Filter) {
	if n == 0 {
		return
	}
	s.metrics.corrupt.Add(int64(n))
	s.log.Error("events left out of an answer, run wok check", "events", n, "filters", shapes(filters))
}

// account returns what a query did, for the log. It tells the shapes of its
// filters, not what they ask for.
func (j *scan) account() []any {
	return []any{
		"client", j.owner().src.Info, "filters", shapes(j.sub.filters), "events", j.events, "slices", j.slices,
		"ran", j.running(), "took", time.Since(j.began), "work", j.query.Work().String(), "plan", j.query.String(),
	}
}

// shapes returns the shapes of filters for the log.
func shapes(filters []*nostr.Filter) []string {
	var shapes []string
	for _, f := range filters {
		shapes = append(shapes, f.Shape())
	}
	return shapes
}

// skip decides what to do about an event whose JSON is missing: a corrupt row
// costs only itself, any other error ends the query.
func (s *Server) skip(levID uint64, err error) error {
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	s.metrics.corrupt.Add(1)
	s.log.Error("event skipped", "levId", levID, "error", err)
	return nil
}
