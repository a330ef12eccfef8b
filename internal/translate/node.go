package translate

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Node translates a Node and its NodeClaim, either of which may be nil, to a node of the engine. Pods are added by AddPods.
// Source: scheduling specification, cluster state cache.
func (t *Translator) Node(id string, node *corev1.Node, claim *v1.NodeClaim) *model.Node {
	registered := claim == nil || node != nil && node.Labels[v1.NodeRegisteredLabelKey] == "true"
	rebooting := claim != nil && condition.Status(claim, v1.ConditionTypeRebooting) == metav1.ConditionTrue
	n := &model.Node{
		ID:          id,
		Managed:     claim != nil,
		Launched:    node != nil || claim.Status.ProviderID != "",
		Registered:  registered,
		Initialized: claim == nil || node != nil && node.Labels[v1.NodeInitializedLabelKey] == "true" && !rebooting,
		Rebooting:   rebooting,
		OpenDrain:   rebooting && openDrain(claim),
		Ready:       node != nil && ready(node),
	}
	if node != nil {
		n.NodeName, n.ProviderID = node.Name, node.Spec.ProviderID
		n.RawTaints = taints(node.Spec.Taints)
		n.Maintenance = maintained(node)
	}
	if claim != nil {
		n.ClaimName = claim.Name
		if n.ProviderID == "" {
			n.ProviderID = claim.Status.ProviderID
		}
	}
	if registered {
		n.Name, n.Labels, n.Taints = node.Name, node.Labels, taints(node.Spec.Taints)
	} else {
		n.Name, n.Labels, n.Taints = claim.Name, claim.Labels, taints(claim.Spec.Taints)
	}
	n.Pool = n.Labels[v1.NodePoolLabelKey]
	if claim != nil && !n.Initialized {
		n.Taints = persistentTaints(n.Taints, claim.Spec.StartupTaints)
	}
	setFeatures(n, node, claim)
	t.setLabels(n, claim)
	t.setResources(n, node, claim)
	setDisruption(n, node, claim)
	return n
}

// setLabels sets the requirements: the labels of the node once it is launched, the requirements of the NodeClaim before. The name of the Node
// object is among them once there is one.
func (t *Translator) setLabels(n *model.Node, claim *v1.NodeClaim) {
	if !n.Launched {
		requirements := cloud.Requirements(claim.Spec.Requirements, t.labels.rules).And(t.labels.selector(claim.Labels))
		n.Requirements = requirements.Without(corev1.LabelHostname)
		return
	}
	labels := n.Labels
	if labels[corev1.LabelHostname] == "" {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1.LabelHostname] = n.Name
	}
	if n.NodeName == "" {
		n.Requirements = requirement.Labels(labels)
		return
	}
	n.Requirements = requirement.Labels(labels, requirement.New(requirement.NodeName, requirement.In, n.NodeName))
}

// setResources sets capacity and allocatable. Until a managed node is initialized, missing amounts are taken from the estimate in the
// status of its NodeClaim; before the launch, the requests of the NodeClaim are the minimum.
func (t *Translator) setResources(n *model.Node, node *corev1.Node, claim *v1.NodeClaim) {
	switch {
	case !n.Launched:
		n.Capacity = t.Vector(claim.Spec.Resources.Requests)
		n.Allocatable = t.Vector(claim.Spec.Resources.Requests)
	case node == nil:
		n.Capacity, n.Allocatable = t.Vector(claim.Status.Capacity), t.Vector(claim.Status.Allocatable)
	case claim == nil || n.Initialized:
		n.Capacity, n.Allocatable = t.amounts.reported(node.Status.Capacity), t.amounts.reported(node.Status.Allocatable)
	default:
		n.Capacity = t.amounts.estimate(node.Status.Capacity, claim.Status.Capacity)
		n.Allocatable = t.amounts.estimate(node.Status.Allocatable, claim.Status.Allocatable)
	}
	n.Capacity = n.Capacity.Set(resource.Nodes, 1)
}

// setFeatures sets the features that the kubelet declares, which it reports together with the Ready condition.
func setFeatures(n *model.Node, node *corev1.Node, claim *v1.NodeClaim) {
	if node != nil {
		n.NodeFeatures = node.Status.DeclaredFeatures
	}
	n.FeaturesExpected = claim != nil && !n.Initialized && !n.Ready && len(n.NodeFeatures) == 0
	n.DriversExpected = claim != nil && (!n.Initialized || driversMayStart(node, claim))
}

// driverPatience is how long after its start a node may still get a CSI driver that it is expected to have.
const driverPatience = 5 * time.Minute

// driversMayStart reports whether an initialized node may still get CSI drivers. The time is that of the last status of the kubelet, which
// sends one every few minutes.
func driversMayStart(node *corev1.Node, claim *v1.NodeClaim) bool {
	initialized := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeInitialized)
	if initialized == nil || initialized.Status != metav1.ConditionTrue {
		return false
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return !c.LastHeartbeatTime.IsZero() && c.LastHeartbeatTime.Sub(initialized.LastTransitionTime.Time) < driverPatience
		}
	}
	return false
}

// setDisruption sets the fields for deletion and voluntary disruption.
func setDisruption(n *model.Node, node *corev1.Node, claim *v1.NodeClaim) {
	if claim == nil {
		n.Deleting = !node.DeletionTimestamp.IsZero()
		return
	}
	n.InstanceTerminating = condition.Status(claim, v1.ConditionTypeInstanceTerminating) == "True"
	n.Deleting = !claim.DeletionTimestamp.IsZero() || n.InstanceTerminating
	n.Disruption.Consolidatable = condition.Status(claim, v1.ConditionTypeConsolidatable) == "True"
	if grace := claim.Spec.TerminationGracePeriod; grace != nil {
		n.Disruption.GracePeriod = &grace.Duration
	}
	n.Disruption.Created = claim.CreationTimestamp.UnixNano()
	if life := claim.Spec.ExpireAfter.Duration; life != nil {
		n.Disruption.ExpireAfter = *life
	}
	if rebooted := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeRebooting); rebooted != nil && rebooted.Status == metav1.ConditionFalse {
		n.Health.Rebooted = rebooted.LastTransitionTime.UnixNano()
	}
	if drifted := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeDrifted); drifted != nil && drifted.Status == metav1.ConditionTrue {
		n.Disruption.Drifted, n.Disruption.DriftedSince = true, drifted.LastTransitionTime.UnixNano()
	}
	if initialized := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeInitialized); initialized != nil && initialized.Status == metav1.ConditionTrue {
		since := initialized.LastTransitionTime
		if !claim.Status.LastPodEventTime.IsZero() {
			since = claim.Status.LastPodEventTime
		}
		n.Disruption.LastPodEvent = since.UnixNano()
	}
	if node != nil {
		n.Disruption.DoNotDisrupt = node.Annotations[v1.DoNotDisruptAnnotationKey] == "true"
		n.Disruption.DoNotRepair = node.Annotations[v1.DoNotRepairAnnotationKey] == "true"
	}
}

func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// maintained reports whether well-known conditions of a Node say that it is drained or maintained. Tools of administrators set and clear them,
// this process does not.
func maintained(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return (c.Type == "DrainInProgress" || c.Type == "MaintenanceInProgress") && c.Status == corev1.ConditionTrue
	})
}

// AddPods adds pods and their requests to n. Pods must be live and sorted. The anti-affinity of terminating pods counts until they
// are gone. Lists that n shares with other nodes are not changed.
//
// Terminating pods of a node that comes back from a reboot are left out: it takes no pods before they are gone, and those that replace them
// wait for it. They do not while a drain without a limit waits for other pods: it may never end.
func AddPods(n *model.Node, pods []*model.Pod) {
	if rebooted := n.Health.Rebooted != 0; n.Rebooting || rebooted && !n.Initialized {
		if n.OpenDrain && drainWaits(n.NodeName, pods) {
			n.Taints = slices.Concat(n.Taints, taints([]corev1.Taint{v1.RebootingNoScheduleTaint()}))
		}
		pods = slices.DeleteFunc(slices.Clone(pods), func(p *model.Pod) bool { return p.Terminating })
	}
	if n.Pods == nil {
		n.Pods = pods
	} else {
		n.Pods = slices.Concat(n.Pods, pods)
	}
	n.AntiAffinityPods = slices.Clip(n.AntiAffinityPods)
	used, byDaemons := n.Used.Clone(), n.UsedByDaemons.Clone()
	for _, p := range pods {
		if slices.ContainsFunc(p.Shape.Affinities, func(a topology.Affinity) bool { return a.Anti && a.Required() }) {
			n.AntiAffinityPods = append(n.AntiAffinityPods, p)
		}
		used = used.Accumulate(p.Shape.Requests)
		if p.Daemon {
			byDaemons = byDaemons.Accumulate(p.Shape.Requests)
		}
	}
	n.Used, n.UsedByDaemons = used, byDaemons
}

// openDrain reports whether the drain of a node that reboots has no limit, and goes on.
func openDrain(claim *v1.NodeClaim) bool {
	_, limited := claim.Annotations[v1.RebootTerminationGracePeriodAnnotationKey]
	_, drained := claim.Annotations[v1.RebootPreBootIDAnnotationKey]
	return !limited && !drained
}

// drainWaits reports whether a drain waits for a pod of the node that is not terminating: it cannot be evicted, or will be in a moment. As in a
// drain, the turn of critical pods comes when the others are gone. Of DaemonSets no pod waits for the node.
func drainWaits(node string, pods []*model.Pod) bool {
	rebooting := taints([]corev1.Taint{v1.RebootingNoScheduleTaint()})
	for _, critical := range []bool{false, true} {
		terminating := false
		for _, p := range pods {
			if p.Node != node || p.Daemon || (p.Shape.Priority >= systemClusterCritical) != critical {
				continue
			}
			if _, evicted := model.Untolerated(rebooting, p.Shape.Tolerations, false); evicted && p.Reschedulable && !p.Terminating {
				return true
			}
			terminating = terminating || p.Terminating
		}
		if terminating {
			return false
		}
	}
	return false
}

// persistentTaints returns the taints that a node that starts will have once it is initialized: without ephemeral and startup taints, and
// without that of a reboot.
func persistentTaints(list []model.Taint, startup []corev1.Taint) []model.Taint {
	var out []model.Taint
	for _, taint := range list {
		if !ephemeral(taint) && !startupTaint(taint, startup) && taint.Key != v1.RebootingTaintKey {
			out = append(out, taint)
		}
	}
	return out
}

// HasEphemeralTaint reports whether a node has a taint that agents set while it is not ready, and remove again.
func HasEphemeralTaint(n *model.Node) bool { return slices.ContainsFunc(n.Taints, ephemeral) }

func startupTaint(taint model.Taint, startup []corev1.Taint) bool {
	for _, s := range startup {
		if s.Key == taint.Key && string(s.Effect) == string(taint.Effect) {
			return true
		}
	}
	return false
}

// readinessTaintPrefix is the key prefix of taints that agents remove once they are ready.
const readinessTaintPrefix = "readiness.k8s.io/"

func ephemeral(taint model.Taint) bool {
	switch taint.Key {
	case corev1.TaintNodeNotReady:
		return taint.Effect == model.NoSchedule || taint.Effect == model.NoExecute
	case corev1.TaintNodeUnreachable, "node.cloudprovider.kubernetes.io/uninitialized":
		return taint.Effect == model.NoSchedule
	case v1.UnregisteredTaintKey:
		return taint.Effect == model.NoExecute
	}
	return strings.HasPrefix(taint.Key, readinessTaintPrefix)
}
