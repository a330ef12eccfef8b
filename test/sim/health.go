package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
)

const (
	// unhealthyShare is one in how many nodes may be unhealthy: if more are, none is repaired.
	unhealthyShare = 5
	// toleration is the shortest one of the repair policies.
	toleration = 30 * time.Second
)

// spoil sets a condition of a node that repair policies know. Half of the nodes recover.
func (u *User) spoil(r *rand.Rand) {
	var healthy []*corev1.Node
	unhealthy := 0
	for _, n := range All[corev1.Node](u.cluster.API) {
		switch {
		case len(complaints(n)) > 0:
			unhealthy++
		case n.Labels[v1.NodeInitializedLabelKey] == "true" && n.DeletionTimestamp == nil:
			healthy = append(healthy, n)
		}
	}
	if len(healthy) == 0 || (unhealthy+1)*unhealthyShare > len(healthy)+unhealthy {
		return
	}
	name := healthy[r.IntN(len(healthy))].Name
	kind := []corev1.NodeConditionType{kwok.ConditionUnhealthy, kwok.ConditionRebootRequired}[r.IntN(2)]
	recovers, after := r.IntN(2) == 0, time.Duration(r.Int64N(int64(2*time.Minute)))
	u.cluster.Datacenter.diagnose(name, kind, corev1.ConditionTrue)
	if recovers {
		u.cluster.World.after(after, "recovery of "+name, func() { u.cluster.Datacenter.diagnose(name, kind, corev1.ConditionFalse) })
	}
}

// diagnose sets a condition of a Node, as an agent on it does.
func (d *Datacenter) diagnose(name string, kind corev1.NodeConditionType, status corev1.ConditionStatus) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if d.api.Get(node) != nil {
		return
	}
	node.Status.Conditions = slices.DeleteFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
		Type: kind, Status: status, Reason: "Diagnosed", LastTransitionTime: metav1.NewTime(time.Now()),
	})
	_ = d.api.update(node, "status")
}

// complaints are the conditions of a Node that repair policies do not tolerate for long.
func complaints(node *corev1.Node) (out []corev1.NodeCondition) {
	for _, c := range node.Status.Conditions {
		spoiled := (c.Type == kwok.ConditionUnhealthy || c.Type == kwok.ConditionRebootRequired) && c.Status == corev1.ConditionTrue
		if spoiled || c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			out = append(out, c)
		}
	}
	return out
}

// repairs reports whether a NodeClaim is disrupted because its node is unhealthy.
func repairs(claim *v1.NodeClaim) bool {
	reason := conditionOf(claim, v1.ConditionTypeDisruptionReason)
	return reason.Status == metav1.ConditionTrue && reason.Reason == "Unhealthy"
}

// repaired: a NodeClaim that has just been marked for repair has a node that was unhealthy for longer than is tolerated.
func (i *invariants) repaired(old, claim *v1.NodeClaim) {
	node := i.nodes[claim.Status.NodeName]
	if !repairs(claim) || old != nil && repairs(old) || node == nil || i.cluster.contested() {
		return
	}
	since, lag := i.unhealthy[node.Name], requestBound+i.cluster.Faults.MaxJump
	if since.ended.IsZero() && len(complaints(node)) == 0 || !since.ended.IsZero() && time.Since(since.ended) > lag {
		i.violated("repaired without a cause", "%s", claim.Name)
	} else if time.Since(since.began) < toleration-time.Second-i.cluster.Faults.MaxJump {
		i.violated("repaired too early", "%s, unhealthy for %s", claim.Name, time.Since(since.began))
	}
}

// spell is a time in which a node was unhealthy: the last one, which has not ended if ended is zero.
type spell struct{ began, ended time.Time }

// health follows the conditions of a Node.
func (i *invariants) health(node *corev1.Node) {
	s, known := i.unhealthy[node.Name]
	sick := len(complaints(node)) > 0
	switch {
	case sick && (!known || !s.ended.IsZero()):
		i.unhealthy[node.Name] = spell{began: time.Now()}
	case !sick && known && s.ended.IsZero():
		s.ended = time.Now()
		i.unhealthy[node.Name] = s
	}
}

// unrepaired are the nodes that are unhealthy at rest.
func (i *invariants) unrepaired() (out []string) {
	for _, node := range i.nodes {
		if i.cluster.User.scene.Unhealthy > 0 && len(complaints(node)) > 0 {
			out = append(out, "node "+node.Name+" is unhealthy")
		}
	}
	return out
}
