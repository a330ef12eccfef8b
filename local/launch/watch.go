package launch

import (
	"context"
	"fmt"
	"os"
	"time"
)

// watchPeriod is how often the launcher checks its processes.
const watchPeriod = time.Second

// mournAfter is how many looks in a row a starting component may be dead.
const mournAfter = 4

// watch returns nil when ctx ends, and an error when a process of the cluster is gone in two looks in a row, unless it is being
// restarted.
func watch(ctx context.Context, l layout) error {
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	missed := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		gone, err := missingComponents(l)
		if err != nil {
			return err
		}
		if _, err := os.Stat(l.restarting()); err == nil {
			gone = nil
		}
		next := map[string]bool{}
		for _, component := range gone {
			if missed[component] {
				return fmt.Errorf("%s died; its last lines:\n%s", component, l.logTail(component, 20))
			}
			next[component] = true
		}
		missed = next
	}
}

// mourn calls fail when a component that kwokctl had started has been dead for a while, until ctx ends. It spares a broken start the wait for
// readiness. kwokctl starts a component again when it notices in time, hence the while.
func mourn(ctx context.Context, l layout, fail func(error)) {
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	missed := map[string]int{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		gone, err := missingComponents(l)
		if err != nil {
			fail(err)
			return
		}
		next := map[string]int{}
		for _, component := range gone {
			if l.readPID(component) == 0 {
				continue // not started yet
			}
			if next[component] = missed[component] + 1; next[component] == mournAfter {
				fail(fmt.Errorf("%s died while the cluster started", component))
				return
			}
		}
		missed = next
	}
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
