package provisioning

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// nominations are the NodeClaims that pending pods were planned on, by pod UID, while the nodes start. A node starts while it
// is not initialized, and while taints make it unschedulable right after that: agents that start with a node make it unready
// for a moment.
//
// Without them, a later pass would pack the same pods again onto nodes of which only the total capacity is known, and whenever that
// packing is worse than the first, it would launch an extra node. They may be lost: after a restart the pods are packed again, and
// a surplus node is removed once it stays empty. Virtual pods are not nominated: a pod may use their capacity at any time.
type nominations map[string]string

// reserve removes the pods that are nominated to a node that starts from pods, and returns copies of their nodes on which they
// count as running. Nominations to other nodes are dropped. A node that is tainted again has until the end of window,
// counted from the last pod event on it, to become schedulable.
func (ps nominations) reserve(pods []*model.Pod, nodes []*model.Node, now time.Time, window time.Duration) (open []*model.Pod, reserved []*model.Node) {
	starting := map[string]int{}
	for i, n := range nodes {
		closedAgain := n.Initialized && translate.HasEphemeralTaint(n) && now.UnixNano() < n.Disruption.LastPodEvent+int64(window)
		if n.ClaimName != "" && (!n.Initialized || closedAgain) {
			starting[n.ClaimName] = i
		}
	}
	reserved = append(reserved, nodes...)
	held := nominations{}
	for _, p := range pods {
		claim, nominated := ps[p.UID]
		i, alive := starting[claim]
		if !nominated || !alive {
			open = append(open, p)
			continue
		}
		held[p.UID] = claim
		n := *reserved[i]
		translate.AddPods(&n, []*model.Pod{p})
		reserved[i] = &n
	}
	clear(ps)
	for uid, claim := range held {
		ps[uid] = claim
	}
	return open, reserved
}

// note records the placements on nodes that start.
func (ps nominations) note(placements []solve.Placement) {
	for _, placed := range placements {
		if placed.Node.ClaimName == "" || placed.Node.Initialized {
			continue
		}
		for _, p := range realPods(placed.Pods) {
			ps[p.UID] = placed.Node.ClaimName
		}
	}
}
