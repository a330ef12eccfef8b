package disrupt

import "github.com/karpenter-anew/karpenter/internal/core/model"

// Usage is how many nodes a pool has, and how many of them use up its budgets.
type Usage struct {
	// Nodes are initialized and rebooting nodes with a NodeClaim whose instance does not terminate yet; percentages refer to them.
	Nodes int
	// Disrupting of them are not ready, rebooting or being deleted, for whatever reason.
	Disrupting int
	// Planned are other nodes that are not disrupting yet, but belong to a command that waits to be validated.
	Planned int
}

// Usages counts the nodes of every pool with regard to budgets for a reason. planned are the IDs of nodes in commands that wait.
//
// A node that is not ready is broken already. It counts, except against the budgets for the reason Unhealthy: these would otherwise keep
// the node from being repaired.
//
// Source: disruption specification, budgets.
func Usages(s *model.Snapshot, planned map[string]bool, reason Reason) map[string]Usage {
	out := map[string]Usage{}
	for id, n := range s.Nodes.All() {
		if !n.Managed || !n.Initialized && !n.Rebooting || n.InstanceTerminating || n.Pool == "" {
			continue
		}
		u := out[n.Pool]
		u.Nodes++
		switch {
		case !n.Ready && reason != Unhealthy || n.Rebooting || n.Deleting:
			u.Disrupting++
		case planned[id]:
			u.Planned++
		}
		out[n.Pool] = u
	}
	return out
}

// Remaining is how many more nodes may be disrupted when allowed may be disrupting at the same time; never negative.
func (u Usage) Remaining(allowed int) int { return max(allowed-u.Disrupting-u.Planned, 0) }

// Budgets is how many more nodes of each pool may be disrupted. A pool that is not listed allows none.
type Budgets map[string]int

// Take uses up one disruption of the pool, if there is one left.
func (b Budgets) Take(pool string) bool {
	if b[pool] <= 0 {
		return false
	}
	b[pool]--
	return true
}
