package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// profiles are files for go tool pprof, "" for none.
type profiles struct{ cpu, heap string }

// start begins to profile. What it returns writes the profiles.
func (p profiles) start() (stop func() error, err error) {
	if p.cpu == "" {
		return p.writeHeap, nil
	}
	f, err := os.Create(p.cpu)
	if err != nil {
		return nil, usageError{fmt.Errorf("--cpu-profile: %w", err)}
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("profile: %w", err), f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return errors.Join(f.Close(), p.writeHeap())
	}, nil
}

// writeHeap writes what is on the heap at the end, and what ever was.
func (p profiles) writeHeap() error {
	if p.heap == "" {
		return nil
	}
	f, err := os.Create(p.heap)
	if err != nil {
		return fmt.Errorf("--heap-profile: %w", err)
	}
	runtime.GC() // profiles are as of the last collection
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}
