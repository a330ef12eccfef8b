package check

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// find returns the objects of an existing or launched node: its Node, its NodeClaim, or both.
func (j *judge) find(nodeName, claimName string) (node *corev1.Node, claim *v1.NodeClaim) {
	for _, o := range j.Objects {
		switch o := o.(type) {
		case *corev1.Node:
			if o.Name == nodeName && nodeName != "" {
				node = o
			}
		case *v1.NodeClaim:
			if o.Name == claimName && claimName != "" {
				claim = o
			}
		}
	}
	for _, o := range j.Objects {
		c, ok := o.(*v1.NodeClaim)
		if ok && node != nil && claim == nil && c.Status.ProviderID != "" && c.Status.ProviderID == node.Spec.ProviderID {
			claim = c
		}
	}
	return node, claim
}

// placement checks pods that were placed on an existing Node or NodeClaim.
func (j *judge) placement(p Placement) {
	node, claim := j.find(p.Node, p.Claim)
	if node == nil && claim == nil {
		j.fail("pods are placed on %q, which does not exist", p.Node+p.Claim)
		return
	}
	stands := effectiveNode(node, claim)
	if least := j.minAllocatableOfStatic(claim); least != nil {
		stands.Status.Allocatable = least
	}
	name := stands.Name
	if deleting(node, claim) {
		j.fail("pods are placed on %s, which is being deleted", name)
	}
	pods := j.podsOf(p.Pods)
	for _, pod := range pods {
		if !matchesNode(pod, stands) {
			j.fail("pod %s may not run on %s", pod.Name, name)
		}
		if !j.volumesUsable(pod, stands) {
			j.fail("pod %s cannot use its volumes on %s", pod.Name, name)
		}
		if !tolerates(pod, stands.Spec.Taints) {
			j.fail("pod %s does not tolerate the taints of %s", pod.Name, name)
		}
	}
	j.features(node, claim, pods)
	j.attachments(p.Node, j.boundPods(p.Node), pods)
	asked := j.beyondDevices(sum(pods), stands.Status.Allocatable)
	together := slices.Concat(j.boundPods(p.Node), j.missingDaemons(p.Node, stands), pods)
	if what, clash := samePort(together); clash {
		j.fail("on %s %s", name, what)
	}
	total := sum(together)
	for resourceName, q := range asked {
		if q.IsZero() {
			continue
		}
		room := stands.Status.Allocatable[resourceName]
		if have := total[resourceName]; have.Cmp(room) > 0 {
			j.fail("%s is overcommitted: %s of %s %s", name, have.String(), room.String(), resourceName)
		}
	}
}

func deleting(node *corev1.Node, claim *v1.NodeClaim) bool {
	return node != nil && claim == nil && node.DeletionTimestamp != nil || claim != nil && claim.DeletionTimestamp != nil
}

// effectiveNode is the node once it is initialized: temporary taints are removed, and resources that the kubelet does not report yet are
// those of the claim.
func effectiveNode(node *corev1.Node, claim *v1.NodeClaim) *corev1.Node {
	out := &corev1.Node{}
	if node != nil {
		out = node.DeepCopy()
	}
	if claim == nil {
		return named(out)
	}
	if node == nil {
		out.Name, out.Labels, out.Spec.Taints = claim.Name, maps.Clone(claim.Labels), slices.Clone(claim.Spec.Taints)
	}
	if out.Labels["karpenter.sh/initialized"] == "true" {
		return named(out)
	}
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, func(t corev1.Taint) bool {
		starting := slices.ContainsFunc(claim.Spec.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(&t) })
		return starting || temporary(t)
	})
	if out.Status.Allocatable == nil {
		out.Status.Allocatable = corev1.ResourceList{}
	}
	for name, q := range claim.Status.Allocatable {
		if have, ok := out.Status.Allocatable[name]; !ok || have.IsZero() {
			out.Status.Allocatable[name] = q
		}
	}
	return named(out)
}

func named(node *corev1.Node) *corev1.Node {
	labels := maps.Clone(node.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if labels[corev1.LabelHostname] == "" {
		labels[corev1.LabelHostname] = node.Name
	}
	node.Labels = withOldNames(labels)
	return node
}

// temporary reports whether a taint is removed while a node starts.
func temporary(t corev1.Taint) bool {
	switch t.Key {
	case "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.cloudprovider.kubernetes.io/uninitialized",
		"karpenter.sh/unregistered":
		return true
	}
	return strings.HasPrefix(t.Key, "readiness.k8s.io/")
}

// boundPods are the live pods of a node.
func (j *judge) boundPods(nodeName string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range j.pods {
		done := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if nodeName != "" && pod.Spec.NodeName == nodeName && !done {
			out = append(out, pod)
		}
	}
	return out
}

// missingDaemons are the DaemonSet pods that would run on the node and do not yet.
func (j *judge) missingDaemons(nodeName string, node *corev1.Node) []*corev1.Pod {
	var out []*corev1.Pod
	for _, d := range j.startingOn(node, node.Status.Allocatable) {
		runs := slices.ContainsFunc(j.boundPods(nodeName), func(pod *corev1.Pod) bool {
			return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
				return o.Kind == "DaemonSet" && o.Name == d.Name && pod.Namespace == d.Namespace
			})
		})
		if !runs {
			out = append(out, d)
		}
	}
	return out
}

// existing is the capacity of a pool's nodes that are not being deleted, each counted as one node.
func (j *judge) existing(pool string) corev1.ResourceList {
	total := corev1.ResourceList{}
	counted := map[string]bool{}
	count := func(capacity corev1.ResourceList) {
		add(total, capacity)
		add(total, corev1.ResourceList{v1.ResourceNodes: *resource.NewQuantity(1, resource.DecimalSI)})
	}
	for _, o := range j.Objects {
		node, ok := o.(*corev1.Node)
		if !ok || node.Labels[v1.NodePoolLabelKey] != pool {
			continue
		}
		counted[node.Spec.ProviderID] = true
		if _, claim := j.find(node.Name, ""); !deleting(node, claim) {
			count(node.Status.Capacity)
		}
	}
	for _, o := range j.Objects {
		claim, ok := o.(*v1.NodeClaim)
		if !ok || claim.Labels[v1.NodePoolLabelKey] != pool || claim.DeletionTimestamp != nil || counted[claim.Status.ProviderID] {
			continue
		}
		count(claim.Status.Capacity)
	}
	return total
}
