package sim

import (
	"context"
	"fmt"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/karpenter-anew/karpenter/internal/leader"
)

const (
	// replicas is how many want to lead.
	replicas = 2
	// leaseOutage bounds how long a replica cannot reach the lease, and maxFreeze how long it stands still.
	leaseOutage = 40 * time.Second
	maxFreeze   = time.Minute
	// leaseNamespace is that of the lease.
	leaseNamespace = "kube-system"
)

// tryAcquireOrRenew is one attempt of client-go to acquire or to renew the lease. The loops around it, Run, have timers that are not events of the
// world, and a jitter that is not from the seed: they are written again in replica.run.
//
//go:linkname tryAcquireOrRenew k8s.io/client-go/tools/leaderelection.(*LeaderElector).tryAcquireOrRenew
func tryAcquireOrRenew(le *leaderelection.LeaderElector, ctx context.Context) bool //nolint:revive // the receiver comes first

// tryRelease gives the lease up.
//
//go:linkname tryRelease k8s.io/client-go/tools/leaderelection.(*LeaderElector).tryRelease
func tryRelease(le *leaderelection.LeaderElector, ctx context.Context) bool //nolint:revive // the receiver comes first

// replica is a process that acts while it has the lease.
type replica struct {
	cluster *Cluster
	name    string
	elector *leaderelection.LeaderElector
	fence   leader.Fence
	// process has the controllers. It is there before the replica leads, for its clock, and without controllers.
	process *Process
	// leads is set once the lease is acquired; started once the controllers run.
	leads, started bool
	// unreachable is until when the lease cannot be reached.
	unreachable time.Time
}

// addReplica starts a replica that wants to lead.
func (c *Cluster) addReplica() error {
	c.named++
	r := &replica{cluster: c, name: fmt.Sprintf("replica-%d", c.named)}
	r.process = NewProcess(c.World, c.API, c.logOf(r.name))
	r.process.replica = r
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: "karpenter"}, Client: leases{replica: r}, LockConfig: resourcelock.ResourceLockConfig{Identity: r.name},
		},
		LeaseDuration: leader.LeaseDuration, RenewDeadline: leader.RenewDeadline, RetryPeriod: leader.RetryPeriod, ReleaseOnCancel: true, Name: "karpenter",
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return fmt.Errorf("making an elector: %w", err)
	}
	r.elector = elector
	c.replicas = append(c.replicas, r)
	c.World.soon(r.name, "replica", 0, time.Second, func() { go r.run() })
	return nil
}

// run acquires the lease and renews it, as client-go's Run does with these times, and ends the process if it is lost.
func (r *replica) run() {
	ctx := klog.NewContext(r.process.ctx, logr.Discard())
	for !tryAcquireOrRenew(r.elector, ctx) {
		if !r.wait(leader.RetryPeriod, leader.RetryPeriod*22/10) {
			return
		}
	}
	if !r.process.alive() {
		return
	}
	r.leads = true
	for {
		renewed := false
		for until := time.Now().Add(leader.RenewDeadline); !renewed && time.Now().Before(until); {
			if renewed = tryAcquireOrRenew(r.elector, ctx); !renewed && !r.wait(leader.RetryPeriod, leader.RetryPeriod) {
				return
			}
		}
		if !renewed {
			tryRelease(r.elector, ctx)
			r.process.Crash()
			return
		}
		if !r.wait(leader.RetryPeriod, leader.RetryPeriod) {
			return
		}
		r.fail()
	}
}

// wait lets time pass, and reports whether the replica still runs.
func (r *replica) wait(least, most time.Duration) bool {
	r.process.pause(r.name+" waits", "lease", least, most)
	return r.process.alive()
}

// fail draws what goes wrong with a leader: it cannot reach its lease, or it stands still.
func (r *replica) fail() {
	w, f := r.cluster.World, r.cluster.Faults
	if f.happens(w, "lease out of reach", f.NoLease) {
		r.unreachable = time.Now().Add(w.between("lease out of reach", 0, leaseOutage))
	}
	if f.happens(w, "freeze", f.Freeze) {
		r.process.freeze(w.between("freeze", 0, maxFreeze))
	}
}

// refuse returns an error while the replica must not write, as the fence of the operator does. It takes a step, as a call does.
func (r *replica) refuse(call string) error {
	err := r.fence.Refuse(r.process.Clock().Now())
	if err != nil {
		r.process.pause(call+" refused", "", 0, 0)
	}
	return err //nolint:wrapcheck // says what it is about
}

// holds checks that no other replica has the lease when a write has its effect.
func (r *replica) holds(what string) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: "karpenter"}}
	if r.cluster.API.Get(lease) != nil || lease.Spec.HolderIdentity == nil {
		return
	}
	if holder := *lease.Spec.HolderIdentity; holder != "" && holder != r.name {
		r.cluster.invariants.violated("written without the lease", "%s by %s, %s leads", what, r.name, holder)
	}
}

// elect starts the controllers of the replica that has the lease, and replicas in place of those that have ended.
func (c *Cluster) elect() error {
	for i, r := range c.replicas {
		switch {
		case !r.process.alive():
			c.replicas = append(c.replicas[:i:i], c.replicas[i+1:]...)
			c.Restarts++
			c.World.soon("restart of "+r.name, "restart", 2*time.Second, 20*time.Second, func() { c.missing++ })
			return nil
		case r.leads && !r.started:
			r.started = true
			return c.boot(r.process)
		}
	}
	for ; c.missing > 0; c.missing-- {
		if err := c.addReplica(); err != nil {
			return err
		}
	}
	return nil
}

// leases are the Leases as a replica reaches them.
type leases struct {
	coordinationclient.LeaseInterface // nil

	replica *replica
}

// Leases implements LeasesGetter.
func (l leases) Leases(string) coordinationclient.LeaseInterface { return l }

func (l leases) call(verb string, f func() error) error {
	r := l.replica
	w, faults := r.cluster.World, r.cluster.Faults
	asked := r.process.Clock().Now()
	w.pause(verb+" Lease by "+r.name, "request", faults.MinCall, faults.MaxCall)
	if !r.process.alive() {
		return errCrashed
	}
	if time.Now().Before(r.unreachable) && !faults.Off {
		r.process.pause(verb+" Lease by "+r.name+" times out", "lease timeout", time.Second, 5*time.Second)
		return apierrors.NewTimeoutError("the lease is out of reach", 1)
	}
	err := f()
	lost := verb != "get" && faults.happens(w, "lost answer", faults.Lose)
	r.process.pause(verb+" Lease by "+r.name+" answered", "response", faults.MinCall, faults.MaxCall)
	switch {
	case !r.process.alive():
		return errCrashed
	case err == nil && lost:
		return apierrors.NewTimeoutError("the answer was lost", 1)
	case err == nil && verb != "get":
		r.fence.Renewed(asked)
	}
	return err
}

// Get implements LeaseInterface.
func (l leases) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	o := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: name}}
	return o, l.call("get", func() error { return l.replica.cluster.API.Get(o) })
}

// Create implements LeaseInterface.
func (l leases) Create(_ context.Context, o *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	o = o.DeepCopy()
	return o, l.call("create", func() error { return l.replica.cluster.API.Create(o) })
}

// Update implements LeaseInterface.
func (l leases) Update(_ context.Context, o *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	o = o.DeepCopy()
	return o, l.call("update", func() error { return l.replica.cluster.API.update(o, "") })
}

// changes reports whether a call is a write.
func changes(verb string) bool { return verb != "get" && !strings.HasPrefix(verb, "list") }
