package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// watchPeriod is how often the launcher checks its processes.
const watchPeriod = time.Second

// A component that ends is started again, as a kubelet would: where CPU is short, some of them give up. One that ends more often than this within
// the window is broken.
const (
	restartLimit  = 3
	restartWindow = 2 * time.Minute
)

// componentError is the end of a component that is not started again.
type componentError struct {
	name, tail string
}

func (e *componentError) Error() string {
	return fmt.Sprintf("%s died; its last lines:\n%s", e.name, e.tail)
}

// supervisor starts components again that ended.
type supervisor struct {
	layout layout
	log    io.Writer
	// looks is how many looks in a row a component may be missing before it counts as ended.
	looks  int
	missed map[string]int
	ends   map[string][]time.Time // of each component, within the window
}

// superviseRunning returns the supervisor of a cluster that is ready.
func superviseRunning(l layout, log io.Writer) *supervisor {
	return &supervisor{layout: l, log: log, looks: 2, missed: map[string]int{}, ends: map[string][]time.Time{}}
}

// superviseStarting returns the supervisor of a cluster that kwokctl starts. kwokctl starts a component again when it notices in time, hence
// the longer patience.
func superviseStarting(l layout, log io.Writer) *supervisor {
	s := superviseRunning(l, log)
	s.looks = 4
	return s
}

// run watches the components until ctx ends, which returns nil, or one of them is broken.
func (s *supervisor) run(ctx context.Context) error {
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		gone, err := missingComponents(s.layout)
		if err != nil {
			return err
		}
		if _, err := os.Stat(s.layout.restarting()); err == nil {
			gone = nil
		}
		if err := s.look(gone, time.Now()); err != nil {
			return err
		}
	}
}

// look notes which components are missing at a time, and starts those again that have ended.
func (s *supervisor) look(gone []string, now time.Time) error {
	next := map[string]int{}
	for _, component := range gone {
		if s.layout.readPID(component) == 0 {
			continue // not started yet
		}
		if next[component] = s.missed[component] + 1; next[component] < s.looks {
			continue
		}
		delete(next, component)
		if err := s.startAgain(component, now); err != nil {
			return err
		}
	}
	s.missed = next
	return nil
}

// startAgain starts a component that has ended, unless it ends too often.
func (s *supervisor) startAgain(component string, now time.Time) error {
	var recent []time.Time
	for _, end := range s.ends[component] {
		if now.Sub(end) < restartWindow {
			recent = append(recent, end)
		}
	}
	s.ends[component] = append(recent, now)
	if len(recent) == restartLimit {
		return &componentError{name: component, tail: s.layout.logTail(component, 20)}
	}
	recorded, err := readComponent(s.layout, component)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.log, "control plane: %s ended, starting it again; its last line: %s\n", component, s.layout.logTail(component, 1))
	return spawn(s.layout, recorded)
}

// missingComponents lists the components of the cluster that have no living process.
func missingComponents(l layout) ([]string, error) {
	found, err := running(below(l.cluster()))
	if err != nil {
		return nil, err
	}
	alive := map[string]bool{}
	for _, p := range found {
		alive[p.name()] = true
	}
	var gone []string
	for _, component := range components() {
		if !alive[component] {
			gone = append(gone, component)
			reap(l.readPID(component))
		}
	}
	return gone, nil
}
