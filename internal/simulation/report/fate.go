package report

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Outcome is the kind of result for one pod.
type Outcome string

// The outcomes.
const (
	// NothingToDo means that the pod is on a node, or that no node is launched for it.
	NothingToDo Outcome = "NothingToDo"
	// Invalid means that the pod can never be placed as it is.
	Invalid Outcome = "Invalid"
	// Placed means that the pod has a place on a node that exists or is on its way.
	Placed Outcome = "Placed"
	// Launched means that a node would be launched for the pod, perhaps together with others.
	Launched Outcome = "Launched"
	// Refused means that the pod fits no node.
	Refused Outcome = "Refused"
	// Later means that scheduling is retried later.
	Later Outcome = "Later"
)

// Fate is the result for one pod.
type Fate struct {
	Outcome Outcome `json:"outcome"`
	// Message is the reason where Outcome does not imply it.
	Message string `json:"message,omitempty"`
	// Placement is the node of a pod that is Placed, with all pods that it takes.
	Placement *Placement `json:"placement,omitempty"`
	// Waits is why a pod that is Placed is still pending, where that is known: its node does not take pods yet, or kube-scheduler has not
	// placed the pod or its PodGroup.
	Waits string `json:"waits,omitempty"`
	// Launch is the node that would be launched, with all pods that it is for.
	Launch *Launch `json:"launch,omitempty"`
	// Reasons are why a pod that is Refused does not fit each NodePool.
	Reasons []Reason `json:"reasons,omitempty"`
	// UnusedPools are the other NodePools, which could not launch nodes either, for a pod that is Refused.
	UnusedPools []UnusedPool `json:"unusedPools,omitempty"`
}

// Fates finds the results for pods. It is safe for concurrent use.
type Fates struct {
	// byPod are the results by namespace/name of the pod. The pods of a node share one, which is made when it is asked for.
	byPod map[string]func() Fate
	// waits are the gangs of pods that fit on existing nodes, and that kube-scheduler has not placed there.
	waits map[string]simulation.WaitingGroup
}

// NewFates indexes the pods of a result, which must not change from then on.
func NewFates(result simulation.Result) *Fates {
	b, plan := reporter{result}, result.Plan
	f := &Fates{byPod: map[string]func() Fate{}, waits: result.WaitingPods()}
	for _, c := range plan.NodeClaims {
		f.add(c.Pods, func() Fate {
			l := b.launch(c)
			l.Count, l.Nodes = 1, []Node{{Pods: ids(c.Pods), Devices: devices(c.Devices)}}
			return Fate{Outcome: Launched, Launch: &l}
		})
	}
	for _, p := range plan.Placements {
		f.add(p.Pods, func() Fate {
			at := b.placement(p)
			return Fate{Outcome: Placed, Placement: &at, Waits: startingNode(p.Node)}
		})
	}
	for _, u := range plan.Unschedulable {
		f.add(u.Pods, func() Fate {
			return Fate{Outcome: Refused, Reasons: b.reasons(u.Reasons), UnusedPools: b.unusedBeside(u.Reasons)}
		})
	}
	for _, p := range b.Rejected {
		outcome := Invalid
		if p.Silent {
			outcome = NothingToDo
		}
		f.add([]*model.Pod{p}, func() Fate { return Fate{Outcome: outcome, Message: p.Rejected} })
	}
	f.add(plan.Deferred, func() Fate {
		return Fate{Outcome: Later, Message: "reserved capacity may become available for it"}
	})
	f.add(plan.Undecided, func() Fate { return Fate{Outcome: Later, Message: "the simulation did not reach it"} })
	for _, p := range b.Idle {
		f.add([]*model.Pod{p.Pod}, func() Fate { return Fate{Outcome: NothingToDo, Message: p.Why} })
	}
	return f
}

// add gives pods a result, unless they have one.
func (f *Fates) add(pods []*model.Pod, fate func() Fate) {
	fate = sync.OnceValue(fate)
	for _, p := range pods {
		if _, known := f.byPod[p.ID()]; !known && !p.Virtual {
			f.byPod[p.ID()] = fate
		}
	}
}

// Of returns the result for the pod with this id, as namespace/name.
func (f *Fates) Of(id string) Fate {
	fate, known := f.byPod[id]
	if !known {
		return Fate{Outcome: NothingToDo}
	}
	out := fate()
	if g, waits := f.waits[id]; waits && out.Outcome == Placed {
		out.Waits = waitingGroup(g)
	}
	return out
}

// Text renders the fate in lines that begin with before; empty when there is nothing to do.
func (f Fate) Text(before string) string {
	var b strings.Builder
	switch {
	case f.Launch != nil:
		l := f.Launch
		fmt.Fprintf(&b, "%sa node would be launched: %s from NodePool %s, %s in %s, $%s/h\n", before,
			l.InstanceType, l.NodePool, strings.Join(l.CapacityTypes, " "), brace(l.Zones), price(l.PricePerHour))
		b.WriteString(before + indent + "for " + podList(l.Workloads) + "\n")
		for _, line := range l.details() {
			b.WriteString(before + indent + line + "\n")
		}
	case f.Placement != nil:
		fmt.Fprintf(&b, "%sit fits on %s\n", before, placeName(f.Placement.Node, f.Placement.NodeClaim))
		if f.Waits != "" {
			b.WriteString(before + "it waits: " + f.Waits + "\n")
		}
	case f.Outcome == Refused:
		b.WriteString(before + "it fits no node:\n" + Reasons(before+indent, f.Reasons))
		for _, p := range f.UnusedPools {
			b.WriteString(before + indent + p.Name + ": not used: " + p.Message + "\n")
			writeHelp(&b, before+indent+indent, p.Help)
		}
	case f.Outcome == Invalid:
		b.WriteString(before + "it cannot be scheduled: " + f.Message + "\n")
	case f.Outcome == Later:
		b.WriteString(before + "it has to wait: " + f.Message + "\n")
	case f.Message != "":
		b.WriteString(before + "Karpenter ignores it: " + f.Message + "\n")
	}
	return b.String()
}

func placeName(node, claim string) string {
	if node == "" {
		return fmt.Sprintf("NodeClaim %q, whose node has not registered", claim)
	}
	return fmt.Sprintf("node %q", node)
}

// startingNode says what pods wait for whose node has registered and does not take pods yet; empty for other nodes.
func startingNode(n *model.Node) string {
	state := ""
	switch {
	case n.Rebooting:
		state = "is about to be rebooted, or reboots, and takes pods when it is ready again"
	case n.Registered && !n.Initialized:
		state = "has registered, and is not initialized yet"
	default:
		return ""
	}
	return fmt.Sprintf("node %q %s; karpenter explain node %s says more", n.NodeName, state, n.NodeName)
}

// waitingGroup says why the pods of a gang are pending although they fit on existing nodes.
func waitingGroup(g simulation.WaitingGroup) string {
	return fmt.Sprintf("kube-scheduler has not placed PodGroup %s, unschedulable since %s, although existing nodes have capacity for it. "+
		"It places the pods of a group in one attempt, or none, and may give the node that a larger pod needs to a smaller one in each attempt. "+
		"Karpenter launches new nodes for all pods of the group once that lasts for %s", g.ID, g.Since.Format(time.RFC3339), duration.HumanDuration(g.NewNodesAfter))
}
