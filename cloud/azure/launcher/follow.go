package launcher

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// launchTimeout is how long Azure may take for a virtual machine and its extensions.
	launchTimeout = 30 * time.Minute
	// launchedInterval is how often the NodeClaim is read until its condition Launched is known, launchedTimeout for how long.
	launchedInterval, launchedTimeout = 500 * time.Millisecond, 5 * time.Minute
)

// mark marks the offerings that a failed launch shows to be unavailable, or the subnet of its class as full. The class may be nil.
func (l *Launcher) mark(err error, class *v1beta1.AKSNodeClass) {
	var failed *instance.LaunchError
	if !errors.As(err, &failed) {
		return
	}
	l.Catalog.UnavailableOfferings.Mark(failed.Failure.Unavailable)
	if class != nil && azureerrors.IsSubnetFull(failed.Code) {
		l.FullSubnets.Failed(class)
	}
}

// wait waits until the virtual machine runs. What a launch that fails leaves behind is deleted.
func (l *Launcher) wait(ctx context.Context, claim *v1.NodeClaim, accepted *Accepted) error {
	ctx, cancel := context.WithTimeout(ctx, launchTimeout)
	defer cancel()
	err := accepted.Wait(ctx)
	if err == nil && accepted.class != nil && !accepted.began.IsZero() {
		l.FullSubnets.Launched(accepted.class, accepted.began)
	}
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return err // the next process goes on with what was canceled
	}
	l.mark(err, accepted.class)
	l.Publish(telemetry.AsyncProvisioningError(claim, err))
	if err := accepted.Cleanup(ctx); err != nil {
		observe.Log(ctx).ErrorContext(ctx, "cannot delete what a failed launch left behind, garbage collection will", logfield.NodeClaim(claim.Name), logfield.Error(err))
	}
	return err
}

// follow waits until the virtual machine runs, and deletes the NodeClaim if it never does.
func (l *Launcher) follow(ctx context.Context, claim *v1.NodeClaim, accepted *Accepted) error {
	err := l.wait(ctx, claim, accepted)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// The NodeClaim controller is about to write that the NodeClaim is launched: that has to come first.
	l.awaitLaunched(ctx, claim.Name)
	return errors.Join(err, l.end(ctx, claim, accepted.Created.CapacityType))
}

// end deletes a NodeClaim whose launch failed. It is counted with the capacity type that it was launched with.
func (l *Launcher) end(ctx context.Context, claim *v1.NodeClaim, capacityType string) error {
	if err := l.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
		return client.IgnoreNotFound(err)
	}
	counted := claim.DeepCopy() // from before the NodeClaim controller wrote the labels of the instance
	if counted.Labels == nil {
		counted.Labels = map[string]string{}
	}
	counted.Labels[v1.CapacityTypeLabelKey] = capacityType
	l.Disrupted(counted)
	return nil
}

// awaitLaunched reads a NodeClaim until its condition Launched is known, or the NodeClaim is gone.
func (l *Launcher) awaitLaunched(ctx context.Context, name string) {
	ticker := l.Clock.NewTicker(launchedInterval)
	defer ticker.Stop()
	until := l.Clock.Now().Add(launchedTimeout)
	for l.Clock.Now().Before(until) {
		claim := &v1.NodeClaim{}
		err := l.Client.Get(ctx, client.ObjectKey{Name: name}, claim)
		if client.IgnoreNotFound(err) == nil && (err != nil || condition.Status(claim, v1.ConditionTypeLaunched) != metav1.ConditionUnknown) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// Background runs what launches wait for. Add it to the manager: tasks end with it.
type Background struct {
	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // that of the process, which tasks outlive their callers for
	tasks   sync.WaitGroup
	running map[string]bool
	started chan struct{}
}

func newBackground() *Background {
	return &Background{running: map[string]bool{}, started: make(chan struct{})}
}

// Start runs until the context ends, and then until all tasks have ended.
func (b *Background) Start(ctx context.Context) error {
	b.mu.Lock()
	b.ctx = ctx
	b.mu.Unlock()
	close(b.started)
	<-ctx.Done()
	b.mu.Lock()   // no task begins any more
	b.mu.Unlock() //nolint:staticcheck // waits for a task that is about to begin
	b.tasks.Wait()
	return nil
}

// Running is how many tasks run.
func (b *Background) Running() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.running)
}

// Runs reports whether the task with a name runs.
func (b *Background) Runs(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[name]
}

// Go runs a task, unless one with the same name runs. It waits until the background has started, and reports false if that has ended.
func (b *Background) Go(name string, task func(context.Context) error) bool {
	<-b.started
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ctx.Err() != nil:
		return false
	case b.running[name]:
		return true
	}
	b.running[name] = true
	b.tasks.Go(func() {
		if err := task(b.ctx); err != nil {
			observe.Log(b.ctx).ErrorContext(b.ctx, "launch failed", logfield.Error(err))
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, name)
	})
	return true
}
