package provisioning

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// strandedGroups are the groups that plans place on existing nodes, by ID.
//
// Problem: kube-scheduler places the pods of a group in one attempt, each on the node with the best score, and reverts all of them if too few
// get a place (seen with 1.37.1: of two pods that request 500m and 3750m, on nodes with 4 CPUs and 1 CPU, the older small one goes to the large
// node, and both stay pending). An older, small pod may take the place that only a larger one needs, in each attempt. The plan finds places for all on
// other nodes, so nothing is launched, and the group waits forever. Single pods do not: those that were placed stay, and the next plan sees
// that there is no place left.
//
// Approach: the scores are not known, but time tells. A group that is pending for long, while plans place it on nodes that have started, may
// not use the nodes that exist then; new nodes are planned for all of its pods. If that does not help either, it happens again after
// twice the time.
//
// Cost: a group that would have been placed later leaves nodes that it does not need. They are removed as empty.
//
// Source: specification of version 1.15, groups: the order of the simulation.
type strandedGroups map[string]*strandedGroup

// strandedGroup is a group with pending pods that a plan places on existing nodes.
type strandedGroup struct {
	// since is when the plans began to place it on nodes that have started; zero while it waits for nodes.
	since time.Time
	// wait is how long that may last.
	wait time.Duration
	// closed are the hostnames of the nodes that it may not use.
	closed []string
	// shapes are the shapes of its pods without these nodes, by their own.
	shapes map[*model.Shape]*model.Shape
}

// keep forgets groups that have no pending pods any more.
func (s strandedGroups) keep(in solve.Problem) {
	if len(s) == 0 {
		return
	}
	pending := map[string]bool{}
	for _, pod := range in.Pods {
		if pod.Node == "" {
			pending[in.GroupOf(pod)] = true
		}
	}
	maps.DeleteFunc(s, func(id string, _ *strandedGroup) bool { return !pending[id] })
}

// observe takes a plan into account. It returns the groups that have been pending for too long: the nodes of the problem are closed for these.
func (s strandedGroups) observe(plan solve.Plan, in solve.Problem, now time.Time) (stranded []string) {
	onNodes, starting := problem.PlacedGroups(plan, in)
	for id := range onNodes {
		g := s[id]
		if g == nil {
			g = &strandedGroup{wait: problem.StrandedAfter}
			s[id] = g
		}
		switch {
		case starting[id]:
			g.since = time.Time{}
		case g.since.IsZero():
			g.since = now
		case now.Sub(g.since) >= g.wait:
			*g = strandedGroup{wait: 2 * g.wait, closed: hostnames(in.Nodes), shapes: map[*model.Shape]*model.Shape{}}
			stranded = append(stranded, id)
		}
	}
	slices.Sort(stranded)
	return stranded
}

// restrict is the pods of a problem, of which those of groups for which nodes are closed may not use these. Topology counts all nodes.
func (s strandedGroups) restrict(in solve.Problem) []*model.Pod {
	if len(s) == 0 {
		return in.Pods
	}
	out := slices.Clone(in.Pods)
	for i, pod := range out {
		g := s[in.GroupOf(pod)]
		if g == nil || len(g.closed) == 0 || pod.Node != "" {
			continue
		}
		shape := g.shapes[pod.Shape]
		if shape == nil {
			shape = g.elsewhere(pod.Shape)
			g.shapes[pod.Shape], g.shapes[shape] = shape, shape
		}
		member := *pod
		member.Shape = shape
		out[i] = &member
	}
	return out
}

// elsewhere is a shape that may not use the closed nodes.
func (g *strandedGroup) elsewhere(shape *model.Shape) *model.Shape {
	not := requirement.NewSet(requirement.New(corev1.LabelHostname, requirement.NotIn, g.closed...))
	out := *shape
	out.VolumeTopology = []requirement.Set{not}
	if len(shape.VolumeTopology) > 0 {
		out.VolumeTopology = nil
		for _, usable := range shape.VolumeTopology {
			out.VolumeTopology = append(out.VolumeTopology, usable.And(not))
		}
	}
	return &out
}

// hostnames are those of the nodes that have started.
func hostnames(nodes []*model.Node) []string {
	var out []string
	for _, n := range nodes {
		if name := n.Labels[corev1.LabelHostname]; name != "" && problem.HasStarted(n) {
			out = append(out, name)
		}
	}
	return out
}

// solveStranded solves a problem, and once more with new nodes for groups that are stranded. It also returns the problem that the plan is for.
func solveStranded(p *Provisioner, in solve.Problem) (solve.Problem, solve.Plan) {
	in.Pods = p.stranded.restrict(in)
	plan := p.solve(in)
	stranded := p.stranded.observe(plan, in, p.Clock.Now())
	if len(stranded) == 0 {
		return in, plan
	}
	p.Log.Info("planning new nodes for pod groups that stay pending although existing nodes have capacity for them", logfield.PodGroups(stranded))
	in.Pods = p.stranded.restrict(in)
	return in, p.solve(in)
}
