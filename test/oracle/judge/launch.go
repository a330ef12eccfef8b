package judge

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

var oneNode = corev1.ResourceList{v1.ResourceNodes: *resource.NewQuantity(1, resource.DecimalSI)} //nolint:gochecknoglobals // a constant

// RestartFeature is the feature that kubelets declare by default and that pods may need.
const RestartFeature = "RestartAllContainersOnContainerExits"

func add(total, more corev1.ResourceList) {
	for name, q := range more {
		have := total[name]
		have.Add(q)
		total[name] = have
	}
}

// covers reports whether have is enough of everything that is wanted.
func covers(have, want corev1.ResourceList) bool {
	for name, q := range want {
		if h := have[name]; q.Sign() > 0 && q.Cmp(h) > 0 {
			return false
		}
	}
	return true
}

// listed are the instance types that a claim keeps.
func (q *question) listed(claim *v1.NodeClaim) []*cloud.InstanceType {
	var out []*cloud.InstanceType
	for _, t := range q.types[claim.Labels[v1.NodePoolLabelKey]] {
		if slices.ContainsFunc(claim.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
			return r.Key == corev1.LabelInstanceTypeStable && slices.Contains(r.Values, t.Name)
		}) {
			out = append(out, t)
		}
	}
	return out
}

// launchable are the nodes that a launch of the claim may give.
func (q *question) launchable(claim *v1.NodeClaim) []check.Candidate {
	var out []check.Candidate
	for _, t := range q.listed(claim) {
		for _, c := range check.Candidates(t, claim.Labels, claim.Spec.Taints) {
			if check.Allowed(claim.Spec.Requirements, c.Node.Labels) && covers(c.Allocatable, claim.Spec.Resources.Requests) {
				out = append(out, c)
			}
		}
	}
	return out
}

// nodeFrom is the node of a candidate once it is initialized, with a name.
func nodeFrom(c check.Candidate, name string) *corev1.Node {
	node := c.Node.DeepCopy()
	node.Name, node.UID = name, types.UID(name)
	node.Labels[corev1.LabelHostname] = name
	node.APIVersion, node.Kind = "v1", "Node"
	node.Status.Allocatable, node.Status.Capacity = c.Allocatable, c.Allocatable
	node.Status.DeclaredFeatures = []string{RestartFeature} // by default
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return node
}

// newDaemon is the pod that a DaemonSet creates for a node, without the node.
func newDaemon(d *appsv1.DaemonSet) *corev1.Pod {
	pod := check.DaemonPod(d)
	is := true
	pod.APIVersion, pod.Kind = "v1", "Pod"
	pod.Labels = d.Spec.Template.Labels
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: d.Name, UID: d.UID, Controller: &is}}
	for _, key := range []string{
		corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure,
		corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable,
	} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
	return pod
}

// daemonsFor are the pods of DaemonSets for a node, as the DaemonSet controller decides.
func (q *question) daemonsFor(node *corev1.Node) []*corev1.Pod { return daemonsFor(q.daemons, node) }

func daemonsFor(daemons []*corev1.Pod, node *corev1.Node) []*corev1.Pod {
	var out []*corev1.Pod
	for _, d := range daemons {
		if !matches(d, node) || !tolerates(d, node.Spec.Taints) {
			continue
		}
		pod := d.DeepCopy()
		pod.Name += "-" + node.Name
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
		out = append(out, pod)
	}
	return out
}

// DaemonPods are the pods that DaemonSets create for a node, on no node yet.
func DaemonPods(sets []*appsv1.DaemonSet, node *corev1.Node) []*corev1.Pod {
	daemons := make([]*corev1.Pod, len(sets))
	for i, set := range sets {
		daemons[i] = newDaemon(set)
	}
	return daemonsFor(daemons, node)
}

// matches reports whether the selector and the required affinity of a pod accept a node.
func matches(pod *corev1.Pod, node *corev1.Node) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return ok && err == nil
}

func tolerates(pod *corev1.Pod, taints []corev1.Taint) bool {
	_, repelled := schedulingcorev1.FindMatchingUntoleratedTaint(klog.Logger{}, taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, true)
	return !repelled
}

// runs reports whether a pod of the daemon's DaemonSet is on the node already.
func (q *question) runs(daemon *corev1.Pod, node string) bool {
	return slices.ContainsFunc(q.bound, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == node && pod.Namespace == daemon.Namespace && slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == "DaemonSet" && o.Name == daemon.OwnerReferences[0].Name
		})
	})
}

// claimOf is the NodeClaim of a node that was launched for it and is initialized.
func claimOf(claim *v1.NodeClaim, node *corev1.Node) *v1.NodeClaim {
	claim = claim.DeepCopy()
	claim.Name, claim.UID = node.Name, node.UID
	claim.APIVersion, claim.Kind = v1.SchemeGroupVersion.String(), "NodeClaim"
	for key, value := range node.Labels {
		if key != corev1.LabelHostname {
			claim.Labels[key] = value
		}
	}
	claim.Status.NodeName, claim.Status.ProviderID = node.Name, node.Spec.ProviderID
	claim.Status.Capacity, claim.Status.Allocatable = node.Status.Capacity, node.Status.Allocatable
	for _, kind := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind})
	}
	return claim
}
