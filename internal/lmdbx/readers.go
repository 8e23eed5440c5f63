package lmdbx

import (
	"fmt"
	"strconv"
	"strings"
)

// A Reader is a read transaction of a process on the environment.
type Reader struct {
	PID int
	Txn uint64 // number of the snapshot that it holds, 0 for none at the moment
}

// Readers returns the read transactions of all processes, this one among them.
// A process that has ended without giving up its own still shows until the next
// one opens the environment; see [Env.Cleared].
func (e *Env) Readers() ([]Reader, error) {
	e.gate.RLock()
	defer e.gate.RUnlock()
	if e.dead != nil {
		return nil, e.dead
	}
	var rs []Reader
	err := e.env.ReaderList(func(line string) error {
		if r, ok := parseReader(line); ok {
			rs = append(rs, r)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list readers: %w", err)
	}
	return rs, nil
}

// parseReader reads a line of LMDB's list: the process, the thread, and the
// snapshot or a dash. Other lines are headings.
func parseReader(line string) (Reader, bool) {
	f := strings.Fields(line)
	if len(f) != 3 {
		return Reader{}, false
	}
	pid, err := strconv.Atoi(f[0])
	if err != nil {
		return Reader{}, false
	}
	txn, err := strconv.ParseUint(f[2], 10, 64)
	return Reader{PID: pid, Txn: txn}, err == nil || f[2] == "-"
}

// Cleared returns how many read transactions of processes that had ended were
// found, and removed, when the environment was opened.
func (e *Env) Cleared() int { return e.cleared }

// FreePagesBefore returns how many pages were freed by transactions before txn:
// if that is the oldest snapshot in use, those that can be used again. In a read
// transaction only.
func (t *Txn) FreePagesBefore(txn uint64) (uint64, error) { return t.freePages(txn) }
