package disrupt

import (
	"fmt"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

// closed is the obstacle that operations policies do not allow disruption for a reason now; false if they do.
func (c Candidate) closed(reason Reason) (Obstacle, bool) {
	closure, closed := c.Pool.Closed[reason]
	if !closed {
		return Obstacle{}, false
	}
	code := map[policy.Kind]Code{policy.OutsideWindow: outsideWindow, policy.Frozen: frozen, policy.Invalid: invalidPolicy}[closure.Kind]
	return Obstacle{Code: code, Node: c.Node, Pool: c.Node.Pool, Detail: ClosureText(c.Node.Pool, reason, closure)}, true
}

// ClosureText renders why nodes of a pool are not disrupted for a reason, as events and logs show it.
func ClosureText(pool string, reason Reason, c policy.Closure) string {
	text := fmt.Sprintf("OperationsPolicy %q allows no disruption of NodePool %q for %s", c.Policy, pool, reason)
	switch c.Kind {
	case policy.OutsideWindow:
		text += ": no maintenance window is open"
		if c.Until.IsZero() {
			return text + ", and none will open"
		}
		return text + ", the next one opens at " + c.Until.UTC().Format(time.RFC3339)
	case policy.Frozen:
		return text + ": frozen until " + c.Until.UTC().Format(time.RFC3339) + ", " + c.Why
	case policy.Invalid:
		return text + ": the policy cannot be evaluated, " + c.Why
	}
	return text
}
