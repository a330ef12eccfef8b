package sim

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// withLease has two replicas, of which the leader often loses its lease.
const withLease = "Types=12 MaxPods=30 Every=10s Lease=true NoLease=0.05 Freeze=0.05 Crash=0.0005"

// TestOneReplicaActs: leaders that cannot reach their lease, or stand still, are replaced, and write nothing once they are.
func TestOneReplicaActs(t *testing.T) {
	c := mustRun(t, simulation{seed: 1, set: withLease, hours: 0.1, quiet: 0})
	for _, v := range c.Violations {
		t.Error(v)
	}
	leases := All[coordinationv1.Lease](c.API)
	if len(leases) != 1 || ptr.Deref(leases[0].Spec.LeaseTransitions, 0) < 3 {
		t.Errorf("want one lease with three leaders or more: %v", leases)
	}
	if counts := c.Faults.Counts; counts["freeze"] == 0 || counts["lease out of reach"] == 0 {
		t.Errorf("nothing happened to leaders: %v", counts)
	}
	t.Logf("%d restarts, %v", c.Restarts, c.Faults.Counts)
}
