package judge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

// moves carries out the commands, one after the other and then all at once, several times: their nodes go, their NodeClaims are launched at random, and the pods of their
// nodes are bound where the commands move them, or on other nodes: kube-scheduler does not know the places of the commands, and a later
// pass may count on others for the pods of commands before it. Commands are carried out at the same time, so that none may rely on the
// pods that another one moves. It leaves the last try in the scheduler and returns it.
func (j *Judge) moves(q *question, decisions []decision) (launch, *Failure) {
	random := q.random()
	removed := candidatesOf(decisions)
	var claims []*v1.NodeClaim
	var candidates [][]check.Candidate
	for _, d := range decisions {
		for _, claim := range d.claims {
			claims, candidates = append(claims, claim), append(candidates, q.launchable(claim))
		}
	}
	places, failure := q.places(decisions, removed)
	if failure != nil {
		return launch{}, failure
	}
	if l, failure := j.inTurn(q, decisions, candidates, random); failure != nil {
		return l, failure
	}
	var l launch
	for _, zone := range append(zonesOf(candidates), make([]string, launches)...) {
		l = launch{nodes: drained(q.nodes, removed, q.forced(decisions)), names: map[string]string{}, anywhere: true, arrivals: places}
		for i, claim := range claims {
			list := inZone(candidates[i], zone)
			l.open(claim, nodeFrom(list[random.IntN(len(list))], newName(q.pass, i)))
		}
		f := j.bindAll(q, l, random)
		if f != nil && (f.only(spreadPlugin) || slices.Contains(f.Plugins, spreadPlugin) && j.bindAll(q, l.withoutSpreads(), random) == nil) {
			// Known: a later command may move pods that the constraints of pods of an earlier one count. A pod that runs elsewhere because of it
			// may take the place of one without such constraints.
			j.Tally.Apart++
			return j.inTurn(q, decisions, candidates, random)
		}
		if f != nil {
			f.Kind, f.Text = Apart, f.Text+describe(decisions)
			return launch{}, f
		}
		if len(claims) == 0 {
			break // the next tries would be the same
		}
	}
	return l, nil
}

// spreadPlugin is the plugin of kube-scheduler for topology spread constraints.
const spreadPlugin = "PodTopologySpread"

// withoutSpreads is the launch with pods that have no topology spread constraints.
func (l launch) withoutSpreads() launch {
	l.arrivals = slices.Clone(l.arrivals)
	for i := range l.arrivals {
		pod := l.arrivals[i].pod.DeepCopy()
		pod.Spec.TopologySpreadConstraints = nil
		l.arrivals[i].pod = pod
	}
	return l
}

// open adds the node that a NodeClaim was launched as.
func (l *launch) open(claim *v1.NodeClaim, node *corev1.Node) {
	node.Spec.ProviderID = "kwok://" + node.Name
	l.nodes, l.claims = append(slices.Clip(l.nodes), node), append(l.claims, claimOf(claim, node))
	l.names[node.Name] = fmt.Sprintf("%s, a %s of pool %s in %s", node.Name, node.Labels[corev1.LabelInstanceTypeStable],
		claim.Labels[v1.NodePoolLabelKey], node.Labels[corev1.LabelTopologyZone])
}

// inTurn carries out one command after the other. The nodes of later commands take no pods anymore: all commands are decided before the
// first is carried out. It leaves the result in the scheduler and returns it.
func (j *Judge) inTurn(q *question, decisions []decision, candidates [][]check.Candidate, random *rand.Rand) (launch, *Failure) {
	bound, opened := q.bound, 0
	defer func() { q.bound = bound }()
	l := launch{nodes: q.nodes, names: map[string]string{}, anywhere: true, closed: candidatesOf(decisions)}
	for _, d := range decisions {
		gone := candidatesOf([]decision{d})
		l.nodes = drained(l.nodes, gone, q.forced([]decision{d}))
		for _, claim := range d.claims {
			list := candidates[opened]
			l.open(claim, nodeFrom(list[random.IntN(len(list))], newName(q.pass, opened)))
			opened++
		}
		var failure *Failure
		if l.arrivals, failure = q.places(decisions, gone); failure != nil {
			return launch{}, failure
		}
		if f := j.bindAll(q, l, random); f != nil {
			f.Text += describe([]decision{d})
			return launch{}, f
		}
		q.bound = j.scheduler.Pods()
	}
	return l, nil
}

// candidatesOf are the names of the nodes that commands remove.
func candidatesOf(decisions []decision) map[string]bool {
	out := map[string]bool{}
	for _, d := range decisions {
		for _, c := range d.Candidates {
			out[c.Node.NodeName] = true
		}
	}
	return out
}

func newName(round, i int) string { return fmt.Sprintf("new-%d-%d", round, i+1) }

func describe(decisions []decision) (text string) {
	for _, d := range decisions {
		text += "; command of " + d.method + " " + d.text()
	}
	return text
}

// places are where the commands move the pods of their nodes.
func (q *question) places(decisions []decision, removed map[string]bool) ([]arrival, *Failure) {
	to := map[string]string{} // by UID
	claims := 0
	for _, d := range decisions {
		for _, at := range d.Placements {
			for _, pod := range at.Pods {
				to[pod.UID] = at.Node.NodeName
			}
		}
		for _, claim := range d.Replacements {
			for _, pod := range claim.Pods {
				to[pod.UID] = newName(q.pass, claims)
			}
			claims++
		}
	}
	forced := q.forced(decisions)
	var out []arrival
	for _, pod := range q.bound {
		if !removed[pod.Spec.NodeName] || !reschedulable(pod) {
			continue
		}
		node, ok := to[string(pod.UID)]
		switch {
		case !ok && forced[pod.Spec.NodeName]:
			continue
		case !ok:
			return nil, &Failure{Kind: Forgotten, Text: fmt.Sprintf("pod %s of node %s has no place", pod.Name, pod.Spec.NodeName) + describe(decisions)}
		}
		out = append(out, arrival{evicted(pod), node})
	}
	return out, nil
}

// drained leaves out nodes that are gone. Forced ones stay, closed to new pods, as long as the pods run that block their drain.
func drained(nodes []*corev1.Node, gone, forced map[string]bool) []*corev1.Node {
	var out []*corev1.Node
	for _, node := range nodes {
		if gone[node.Name] && !forced[node.Name] {
			continue
		}
		if gone[node.Name] {
			node = node.DeepCopy()
			node.Spec.Taints = append(node.Spec.Taints, disruptedTaint()...)
		}
		out = append(out, node)
	}
	return out
}

// forced are the nodes that are drained although pods on them block the drain, because their terminationGracePeriod ends it. No
// place is promised to these pods: they run on, and kube-scheduler counts them, until that time has passed.
func (q *question) forced(decisions []decision) map[string]bool {
	out := map[string]bool{}
	for _, d := range decisions {
		for _, c := range d.Candidates {
			if d.Reason == disrupt.Drifted && q.blocked(c.Node.NodeName) != "" {
				out[c.Node.NodeName] = true
			}
		}
	}
	return out
}

// evicted is the pod that a workload creates in place of an evicted one.
func evicted(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName = ""
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	return pod
}

// started is a pod that has been running for an hour, unless it says something else.
func started(pod *corev1.Pod) *corev1.Pod {
	if podReady(pod) {
		return pod
	}
	pod = pod.DeepCopy()
	since := metav1.NewTime(now().Add(-time.Hour))
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &since, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	return pod
}

// quiet is the NodeClaim of a node that has seen no pod come or go for an hour.
func quiet(claim *v1.NodeClaim) *v1.NodeClaim {
	claim.CreationTimestamp = metav1.NewTime(now().Add(-time.Hour))
	claim.Status.LastPodEventTime = claim.CreationTimestamp
	claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{
		Type: v1.ConditionTypeConsolidatable, Status: metav1.ConditionTrue, Reason: v1.ConditionTypeConsolidatable, LastTransitionTime: claim.CreationTimestamp,
	})
	return claim
}
