package problem

import (
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

// Allowance is what the budgets of a NodePool, and the operations policies for it, allow for one reason.
type Allowance struct {
	Usage disrupt.Usage
	// Allowed is how many nodes may be disrupting at the same time. It is 0 if Err is set: a budget cannot be evaluated.
	Allowed int
	Err     error
	// Closure is why operations policies allow nothing, if Closed is set.
	Closure policy.Closure
	Closed  bool
}

// Remaining is how many more nodes may be disrupted.
func (a Allowance) Remaining() int { return a.Usage.Remaining(a.Allowed) }

// Allowances are those of NodePools by name. They are all that decides how many nodes may be disrupted at a time.
type Allowances map[string]Allowance

// AllowancesOf evaluates the budgets of pools for a reason at a time. pledged are the IDs of the nodes of commands that count although the
// snapshot does not show their disruption.
func AllowancesOf(snapshot *model.Snapshot, now time.Time, pools map[string]*v1.NodePool, reason disrupt.Reason, pledged map[string]bool, operations Operations) Allowances {
	usages := disrupt.Usages(snapshot, pledged, reason)
	out := make(Allowances, len(pools))
	for name, pool := range pools {
		a := Allowance{Usage: usages[name]}
		if a.Allowed, a.Err = pool.AllowedDisruptions(now, a.Usage.Nodes, v1.DisruptionReason(reason)); a.Err != nil {
			a.Allowed = 0
		}
		if a.Closure, a.Closed = operations.Closed(name, reason); a.Closed {
			a.Allowed = 0
		}
		out[name] = a
	}
	return out
}

// Budgets are how many more nodes may be disrupted.
func (as Allowances) Budgets() disrupt.Budgets {
	out := make(disrupt.Budgets, len(as))
	for name, a := range as {
		out[name] = a.Remaining()
	}
	return out
}
