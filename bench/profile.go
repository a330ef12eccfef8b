package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// everyAllocation makes the profile of allocations fine enough for runs of a few milliseconds: one sample in this many bytes.
const everyAllocation = 4096

// profiled reports whether all cases must run in this process, because a profile is requested.
func (s settings) profiled() bool { return s.profile != "" || s.allocations != "" }

// profiles starts the requested profiles; finish writes them.
func profiles(s settings) (finish func() error, err error) {
	finish = func() error { return nil }
	if s.profile != "" {
		f, err := os.Create(s.profile)
		if err != nil {
			return nil, fmt.Errorf("creating the profile: %w", err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, fmt.Errorf("starting the profile: %w", err)
		}
		finish = func() error {
			pprof.StopCPUProfile()
			return f.Close()
		}
	}
	if s.allocations != "" {
		runtime.MemProfileRate = everyAllocation
		stop := finish
		finish = func() error { return errors.Join(stop(), writeAllocations(s.allocations)) }
	}
	return finish, nil
}

func writeAllocations(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("creating the profile of allocations: %w", err)
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
