package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Base is a problem compiled once, for many what-ifs: what if these nodes did not exist, and the pods on them had to be placed
// beside those that are pending anyway?
//
// Problem: evaluating every node of a cluster solves thousands of problems that differ in one node and its few pods, and
// compiling a problem costs far more than solving it. Approach: what follows from labels is compiled for all pods that a
// what-if may move, and all pods are counted where they are. A what-if starts from copies of what placing changes, and takes
// the pods of its nodes out of the counts. Invariant: the plan is the one that Solve returns for the same problem, unless one of the
// strategies that only Solve tries is cheaper: it tries more, and any for plans with one NodeClaim. Cost: copying the nodes, and the counts
// that the what-if before has changed.
//
// A Base is not safe for concurrent use: compile one for each goroutine.
type Base struct {
	base *compile.Base
	// last is how the last what-if was solved.
	last *search
	// running are the members of groups on nodes; nil until they are needed.
	running map[string][]runningMember
}

// NewBase compiles p. Its pods are pending in every what-if; movable are all others that a what-if may move.
func NewBase(p Problem, movable []*model.Pod) *Base {
	if p.PodGroups != nil {
		movable = withTopologyKeys(p, movable)
	}
	return &Base{base: compile.NewBase(p, movable)}
}

// Solve places pods, which run on the nodes without, as if these nodes did not exist. Pods that stay on them count for
// topology only.
func (b *Base) Solve(without []*model.Node, pods []*model.Pod) Plan {
	return b.SolveTo(without, pods, Choices{})
}

// Choices restrict the choices of a what-if, see Problem.
type Choices struct {
	Destinations map[string]string
	First        map[string]bool
}

// SolveTo is Solve with choices for some of the pods.
func (b *Base) SolveTo(without []*model.Node, pods []*model.Pod, choices Choices) Plan {
	p := b.base.Problem
	p.Destinations, p.First = choices.Destinations, choices.First
	p.Pods = slices.Concat(p.Pods, pods)
	p.ExcludedNodes = slices.Concat(p.ExcludedNodes, without)
	if p.Devices != nil {
		p.Nodes = slices.DeleteFunc(slices.Clone(p.Nodes), func(n *model.Node) bool {
			return slices.ContainsFunc(without, func(w *model.Node) bool { return w.ID == n.ID })
		})
	}
	alone := func(p Problem) Plan { return b.solveAlone(p, without, pods) }
	if hasPodGroups(&p) {
		return inGroups(p, b.runningBeside(p.Pods), alone)
	}
	return alone(p)
}

// runningBeside are the members of groups that run on nodes, without pods that are to be placed.
func (b *Base) runningBeside(pods []*model.Pod) map[string][]runningMember {
	if b.running == nil {
		b.running = runningMembers(&b.base.Problem)
	}
	out := map[string][]runningMember{}
	moving := map[string]bool{}
	for _, pod := range pods {
		if pod.Membership != nil {
			group := pod.Membership.Group
			out[group], moving[pod.UID] = b.running[group], true
		}
	}
	for group, members := range out {
		out[group] = slices.DeleteFunc(slices.Clone(members), func(m runningMember) bool { return moving[m.pod.UID] })
	}
	return out
}

// solveAlone is SolveTo for the pods of p, each as if it had no group.
func (b *Base) solveAlone(p Problem, without []*model.Node, pods []*model.Pod) Plan {
	p, rejected := rejectDeviceless(p)
	b.last = &search{run: b.base.Fork(p, without, pods), restart: b.base.Restart, tries: whatIfTries, rejected: rejected}
	return b.last.cheapest()
}

// Commit makes the last what-if the starting point of later ones: its nodes are gone, its pods, the pending ones included, have
// their places, and its NodeClaims are requested and take no further pods. It reports false, and does nothing, where devices
// are allocated: their allocation is known only when it happens.
func (b *Base) Commit() bool {
	if b.last != nil {
		b.last.replay()
		b.last = nil
	}
	return b.base.Commit()
}

// Reset undoes every Commit.
func (b *Base) Reset() { b.base.Reset() }
