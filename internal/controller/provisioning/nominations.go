package provisioning

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// promises remembers which NodeClaim a pending pod was planned on, for as long as the machine is on its way. It counts as on its
// way while it is not initialized, and when it closes once more right after that: agents that start with a node make it unready
// for a moment.
//
// Without it a later pass would pack the same pods again into machines of which only the total is known, and whenever
// that packing came out worse than the first it would launch one machine too many. It is a memory of convenience: after a
// restart the pods are packed again, and what is launched too many is removed when it stays empty. Virtual pods are
// promised nothing: a real pod may have their place at any time.
type nominations map[string]string // pod UID → NodeClaim name

// settle takes the pods whose machine is still on its way out of pods, and returns nodes as if these pods ran there already.
// Promises that no longer hold are forgotten. A machine that closes has until the end of window, counted from the last that
// happened on it, to open again.
func (ps nominations) reserve(pods []*model.Pod, nodes []*model.Node, now time.Time, window time.Duration) (open []*model.Pod, reserved []*model.Node) {
	coming := map[string]int{}
	for i, n := range nodes {
		faltering := n.Initialized && translate.HasEphemeralTaint(n) && now.UnixNano() < n.Disruption.LastPodEvent+int64(window)
		if n.ClaimName != "" && (!n.Initialized || faltering) {
			coming[n.ClaimName] = i
		}
	}
	reserved = append(reserved, nodes...)
	held := nominations{}
	for _, p := range pods {
		claim, promised := ps[p.UID]
		i, alive := coming[claim]
		if !promised || !alive {
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

// note remembers the placements on machines that are on their way.
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
