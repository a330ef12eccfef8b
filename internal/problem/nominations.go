package problem

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// Nominations are the NodeClaims that pods were planned on, by pod UID, while the nodes start. A node starts while it
// is not initialized, and while taints make it unschedulable right after that: agents that start with a node make it unready
// for a moment.
//
// Without them, a later pass would pack the same pods again onto nodes of which only the total capacity is known, and whenever that
// packing is worse than the first, it would launch an extra node. They may be lost: after a restart the pods are packed again, and
// a surplus node is removed once it stays empty. Virtual pods are not nominated: a pod may use their capacity at any time.
//
// kube-scheduler does not know the plan and may bind another replica in place of a nominated pod. That pod is planned again: if it were
// still expected on the node, the node would count one replica too many for spread constraints, and refusals would name wrong counts.
type Nominations map[string]string

// Reserve removes the pods that are nominated to a node that starts from pods, and returns copies of their nodes on which they
// count as running. Nominations to other nodes are dropped, and those whose place another pod took. A node that is tainted again has
// until the end of window, counted from the last pod event on it, to become schedulable.
func (ps Nominations) Reserve(pods []*model.Pod, nodes []*model.Node, now time.Time, window time.Duration) (open []*model.Pod, reserved []*model.Node) {
	starting := map[string]int{}
	held, replaced := Nominations{}, places{}
	for i, n := range nodes {
		if n.ClaimName != "" && (!n.Initialized || closedAgain(n, now, window)) {
			starting[n.ClaimName] = i
			ps.compare(n, held, replaced)
		}
	}
	reserved = append(reserved, nodes...)
	for _, p := range pods {
		claim, nominated := ps[p.UID]
		i, alive := starting[claim]
		if !nominated || !alive || replaced.take(claim, p.Shape) || !fits(p, reserved[i]) {
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

// closedAgain reports whether a node was tainted right after it was initialized. The label of the node says that it was, a moment before the
// condition of its NodeClaim says when.
func closedAgain(n *model.Node, now time.Time, window time.Duration) bool {
	last := n.Disruption.LastPodEvent
	return n.Initialized && translate.HasEphemeralTaint(n) && (last == 0 || now.UnixNano() < last+int64(window))
}

// compare counts in replaced the pods that run on a node without having been nominated to it. They hold a place there from now on: each
// takes that of one pod only, not that of another one in each pass.
func (ps Nominations) compare(n *model.Node, held Nominations, replaced places) {
	for _, p := range n.Pods {
		if p.Daemon {
			continue
		}
		if ps[p.UID] != n.ClaimName {
			replaced[place{n.ClaimName, p.Shape}]++
		}
		held[p.UID] = n.ClaimName
	}
}

// place is what a pod that was nominated may lose to another pod of its shape.
type place struct {
	claim string
	shape *model.Shape
}

// places counts places that are taken.
type places map[place]int

// take reports whether a place of this shape is taken, and counts it off.
func (ps places) take(claim string, shape *model.Shape) bool {
	at := place{claim, shape}
	if ps[at] == 0 {
		return false
	}
	ps[at]--
	return true
}

// fits reports whether the node has the capacity for the pod, beside those that run there or are nominated. What is allocatable before a
// node is registered is an estimate, and no pod is bound to it yet.
func fits(p *model.Pod, n *model.Node) bool {
	return n.NodeName == "" || p.Shape.Requests.Fits(n.Allocatable.Sub(n.Used))
}

// Note records the placements on nodes that start.
func (ps Nominations) Note(placements []solve.Placement) {
	for _, placed := range placements {
		if placed.Node.ClaimName == "" || placed.Node.Initialized {
			continue
		}
		for _, p := range placed.Pods {
			if !p.Virtual {
				ps[p.UID] = placed.Node.ClaimName
			}
		}
	}
}
