package provisioning

import (
	"context"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/buffer"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Buffers keeps the virtual pods of capacity buffers in the picture of the cluster.
type Buffers interface {
	// Hydrate makes sure that they are there.
	Hydrate(ctx context.Context) error
	// Report tells the buffers what became of their virtual pods.
	Report(ctx context.Context, plan solve.Plan)
}

// keepHeadroom notes which nodes virtual pods have their place on. Nodes that virtual pods were not decided about for lack
// of time keep what they kept. Nodes that are launched for them join when they are asked for.
//
// Virtual pods nominate nothing: a nomination would be renewed with every pass and keep its node from being replaced for
// ever.
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
		p.Store.AddHeadroom(kept)
		return
	}
	p.Store.SetHeadroom(kept)
}

// reportHeadroom tells the buffers how they fared. It comes last, so that no launch waits for their statuses.
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

// tangible are the pods that exist.
func realPods(pods []*model.Pod) []*model.Pod {
	if !slices.ContainsFunc(pods, func(pod *model.Pod) bool { return pod.Virtual }) {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod *model.Pod) bool { return pod.Virtual })
}
