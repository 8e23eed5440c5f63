package relay

import (
	"log/slog"
	"sync"
	"time"
)

// A steady keeps what strangers can cause from filling the log: it lets some
// lines a second through and counts the others.
type steady struct {
	mu      sync.Mutex
	second  int64
	lines   int
	dropped int
}

// steadyLines is how many lines of one sort are logged in a second.
const steadyLines = 20

// allow reports whether a line may be logged. With the first one after others
// were held back, log is told how many those were.
func (s *steady) allow(log *slog.Logger) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now().Unix(); now != s.second {
		if s.dropped > 0 {
			log.Warn("lines like the next were left out", "lines", s.dropped)
		}
		s.second, s.lines, s.dropped = now, 0, 0
	}
	if s.lines == steadyLines {
		s.dropped++
		return false
	}
	s.lines++
	return true
}
