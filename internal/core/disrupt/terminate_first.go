package disrupt

// Problem: where a node limit or a capacity reservation has no place for a node and its replacement at the same time, a node that has to
// be replaced never would be. Approach: such a node is terminated, and what launches nodes anyway, for pending pods or for a static pool,
// fills its place. Invariant: this is done only where nothing else is in the way of the replacement, so that no node is lost in vain.
//
// Source: behavior specification, terminate-first.

// The reasons to terminate a node before its replacement launches, in the words of metrics.
const (
	// staticAtLimit is for nodes of a static pool that has as many nodes as its limit allows.
	staticAtLimit = "static-at-limit"
)

// terminatesAtLimit reports whether nodes of a static pool that is at its node limit are terminated first. A pool that is not ready, or that
// is being deleted, would not launch their replacements. Where the limit exceeds the replicas, other replacements use it up: there will be a
// place for another one once they have taken over.
func (s Session) terminatesAtLimit(pool Pool) bool {
	return s.TerminateFirstStatic && pool.Usable && pool.NoSpareNode
}
