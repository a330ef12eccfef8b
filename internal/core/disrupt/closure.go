package disrupt

import "github.com/karpenter-anew/karpenter/internal/core/policy"

// Closed is the obstacle that operations policies do not allow disruption for a reason now; false if they do.
func (c Candidate) Closed(reason Reason) (Obstacle, bool) {
	closure, closed := c.Pool.Closed[reason]
	if !closed {
		return Obstacle{}, false
	}
	code := map[policy.Kind]Code{policy.OutsideWindow: outsideWindow, policy.Frozen: frozen, policy.Invalid: invalidPolicy}[closure.Kind]
	return Obstacle{Code: code, Node: c.Node, Pool: c.Node.Pool, Detail: closure.Text(c.Node.Pool, string(reason))}, true
}
