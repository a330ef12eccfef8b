package provisioning

import (
	"context"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/buffer"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Buffers keeps the virtual pods of capacity buffers in the cluster state.
type Buffers interface {
	// Hydrate adds those that are missing after a start.
	Hydrate(ctx context.Context) error
	// Report writes to the status of the buffers where their virtual pods were placed.
	Report(ctx context.Context, plan solve.Plan)
}

// updateHeadroom records on which nodes virtual pods were placed. If the solver did not reach all virtual pods, the
// headroom of other nodes does not change. Nodes that are launched for them are added when their NodeClaims
// are created.
//
// Virtual pods nominate nothing: a nomination would be renewed by every pass and protect its node from disruption
// forever.
func (p *Provisioner) updateHeadroom(in input, plan solve.Plan) {
	if p.Buffers == nil || in.buffersUnknown {
		return
	}
	kept := map[string]cluster.Headroom{}
	for _, placed := range plan.Placements {
		if h := headroomOf(placed.Pods); len(h) > 0 {
			kept[placed.Node.ID] = h
		}
	}
	if slices.ContainsFunc(plan.Undecided, func(pod *model.Pod) bool { return pod.Virtual }) {
		p.Store.Buffers.AddHeadroom(kept)
		return
	}
	p.Store.Buffers.SetHeadroom(kept)
}

// reportHeadroom updates the status of the buffers. It runs last, so that no launch waits for it.
func (p *Provisioner) reportHeadroom(ctx context.Context, in input, plan solve.Plan) {
	if p.Buffers != nil && !in.buffersUnknown {
		p.Buffers.Report(ctx, plan)
	}
}

// headroomOf counts the virtual pods among pods by their buffers.
func headroomOf(pods []*model.Pod) cluster.Headroom {
	out := cluster.Headroom{}
	for _, pod := range pods {
		if pod.Virtual {
			out[buffer.Of(pod).String()]++
		}
	}
	return out
}

// realPods are the pods that exist, without virtual ones.
func realPods(pods []*model.Pod) []*model.Pod {
	if !slices.ContainsFunc(pods, func(pod *model.Pod) bool { return pod.Virtual }) {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod *model.Pod) bool { return pod.Virtual })
}

// virtual is the number of virtual pods.
func virtual(pods []*model.Pod) int { return len(pods) - len(realPods(pods)) }
