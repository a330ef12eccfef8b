package machineinstance

import (
	"context"
	"fmt"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
)

const (
	// stateInterval is how often the state of an AKSMachine is looked at, stateTimeout for how long.
	stateInterval, stateTimeout = 5 * time.Second, 15 * time.Minute
	// maxStale is how many looks in a row may find only what is too old. The next one asks Azure: lists may fail for long.
	maxStale = 6
)

// Wait waits until AKS has created the virtual machine. It deletes nothing: see Client.Cleanup. Errors are of type instance.LaunchError. The
// context should end at shutdown.
func (l *Launch) Wait(ctx context.Context) error {
	if l.creation == nil {
		return l.awaitState(ctx)
	}
	err := l.creation.Wait(ctx)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("creating AKSMachine %q: %w", l.request.Name, err)
	if ctx.Err() != nil {
		return notLaunched(instance.PhaseAsync, err)
	}
	// The AKSMachine knows more than the operation, also whether the operation was just not readable.
	found, readErr := l.client.fetch(ctx, l.request.Name)
	if readErr != nil || found.Properties == nil {
		return l.classified(err, nil)
	}
	switch found.Properties.ProvisioningState {
	case machineapi.StateSucceeded:
		return nil
	case machineapi.StateCreating, machineapi.StateUpdating:
		return l.awaitState(ctx)
	case machineapi.StateFailed:
		if status := found.Properties.Status; status != nil && status.ProvisioningError != nil {
			return l.failure(found)
		}
	}
	return l.classified(err, found)
}

// awaitState looks at the state of the AKSMachine until it is created, mostly in the cache: in a large cluster, many launches wait at the same
// time.
func (l *Launch) awaitState(ctx context.Context) error {
	c, name := l.client, l.request.Name
	deadline := c.Clock.Now().Add(stateTimeout)
	ticker := c.Clock.NewTicker(stateInterval)
	defer ticker.Stop()
	found, err := c.fetch(ctx, name)
	for stale := 0; ; {
		switch {
		case machineapi.IsNotFound(err):
			return notLaunched(instance.PhaseAsync, fmt.Errorf("waiting for AKSMachine %q: it is gone: %w", name, err))
		case err == nil && found != nil:
			if done, err := l.ended(found); done || err != nil {
				return err
			}
		}
		if !c.Clock.Now().Before(deadline) {
			return notLaunched(instance.PhaseAsync, fmt.Errorf("waiting for AKSMachine %q: it is not created after %s", name, stateTimeout))
		}
		select {
		case <-ctx.Done():
			return notLaunched(instance.PhaseAsync, fmt.Errorf("waiting for AKSMachine %q: %w", name, ctx.Err()))
		case <-ticker.C():
		}
		var fresh bool
		if found, fresh = c.cache.get(name); fresh {
			stale = 0
		} else {
			stale++
		}
		if err = nil; found == nil && (fresh || stale > maxStale) {
			found, err = c.fetch(ctx, name)
			stale = 0
		}
	}
}

// ended reports whether an AKSMachine is created. The error is not nil if it never will be. Unknown states, and none at all, pass.
func (l *Launch) ended(m *machineapi.AKSMachine) (bool, error) {
	if m.Properties == nil {
		return false, nil
	}
	switch m.Properties.ProvisioningState {
	case machineapi.StateSucceeded:
		return true, nil
	case machineapi.StateFailed:
		return true, l.failure(m)
	case machineapi.StateDeleting:
		return true, notLaunched(instance.PhaseAsync, fmt.Errorf("AKSMachine %q is being deleted", m.Name))
	}
	return false, nil
}
