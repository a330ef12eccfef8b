package forecast

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// world is the objects of the cluster at one moment of the forecast.
type world struct {
	cloud cloud.Cloud
	// nodes and claims are by name, pods by UID. Claims are copies that may be changed, nodes and pods are replaced as a whole.
	nodes  map[string]*corev1.Node
	claims map[string]*v1.NodeClaim
	pods   map[types.UID]*corev1.Pod
	pools  map[string]*v1.NodePool
	// claimOf are the claims by the name of their node.
	claimOf map[string]*v1.NodeClaim
	// onNode are VolumeAttachments and CSINodes by the node that they are about; others are never changed.
	onNode map[string][]client.Object
	others []client.Object
	serial int
	// drifted are the names of NodeClaims that drift because of their node class.
	drifted map[string]bool
}

func newWorld(objects []client.Object, c cloud.Cloud, driftedClasses []string) *world {
	w := &world{
		cloud: c, drifted: map[string]bool{}, nodes: map[string]*corev1.Node{}, claims: map[string]*v1.NodeClaim{}, pods: map[types.UID]*corev1.Pod{},
		pools: map[string]*v1.NodePool{}, claimOf: map[string]*v1.NodeClaim{}, onNode: map[string][]client.Object{},
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Node:
			w.nodes[o.Name] = o
		case *v1.NodeClaim:
			w.claims[o.Name] = o.DeepCopy()
			w.claimOf[o.Status.NodeName] = w.claims[o.Name]
			if ref := o.Spec.NodeClassRef; ref != nil && slices.Contains(driftedClasses, ref.Name) {
				w.drifted[o.Name] = true
			}
		case *corev1.Pod:
			w.pods[o.UID] = o
		case *storagev1.VolumeAttachment:
			w.onNode[o.Spec.NodeName] = append(w.onNode[o.Spec.NodeName], o)
		case *storagev1.CSINode:
			w.onNode[o.Name] = append(w.onNode[o.Name], o)
		case *v1.NodePool:
			w.pools[o.Name] = o
			w.others = append(w.others, o)
		default:
			w.others = append(w.others, o)
		}
	}
	return w
}

// usesClass reports whether a NodeClaim has the node class with this name.
func (w *world) usesClass(name string) bool {
	for _, claim := range w.claims {
		if ref := claim.Spec.NodeClassRef; ref != nil && ref.Name == name {
			return true
		}
	}
	return false
}

// objects are all objects, in no particular order.
func (w *world) objects() []client.Object {
	out := slices.Clone(w.others)
	for _, o := range w.nodes {
		out = append(out, o)
	}
	for _, o := range w.claims {
		out = append(out, o)
	}
	for _, o := range w.pods {
		out = append(out, o)
	}
	for _, list := range w.onNode {
		out = append(out, list...)
	}
	return out
}

// launch adds the node of a NodeClaim that was created from the present template of the pool: the cheapest instance that the claim allows,
// initialized at now. It returns false where nothing that the claim allows is available.
func (w *world) launch(claim *v1.NodeClaim, pool *v1.NodePool, offerings *cloud.OfferingList, now time.Time) (Node, bool) {
	var chosen cloud.Candidate
	for c := range offerings.Candidates(claim) {
		if chosen.Type == nil || chosen.Type.Exotic && !c.Type.Exotic && c.Offering.Price <= chosen.Offering.Price {
			chosen = c
		}
	}
	if chosen.Type == nil {
		return Node{}, false
	}
	w.serial++
	name := fmt.Sprintf("%s-forecast-%d", pool.Name, w.serial)
	claim.Name, claim.GenerateName, claim.UID = name, "", types.UID(name)
	claim.CreationTimestamp = metav1.NewTime(now)
	labels := maps.Clone(claim.Labels)
	maps.Copy(labels, cloud.LaunchLabels(claim, chosen, w.cloud.Labels))
	labels[corev1.LabelHostname] = name
	maps.Copy(claim.Labels, labels)
	labels[v1.NodeRegisteredLabelKey], labels[v1.NodeInitializedLabelKey] = "true", "true"
	if ref := claim.Spec.NodeClassRef; ref != nil {
		labels[v1.NodeClassLabelKey(ref.Group, ref.Kind)] = ref.Name
	}
	claim.Status = v1.NodeClaimStatus{
		NodeName: name, ProviderID: "forecast://" + name, Capacity: chosen.Type.CapacityOf(chosen.Offering).DeepCopy(),
		Allocatable: chosen.Type.AllocatableOf(chosen.Offering), LastPodEventTime: metav1.NewTime(now),
	}
	set := condition.For(claim, now)
	for _, t := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized} {
		set.True(t)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: labels, CreationTimestamp: metav1.NewTime(now)},
		Spec:       corev1.NodeSpec{ProviderID: claim.Status.ProviderID, Taints: slices.Clone(claim.Spec.Taints)},
		Status: corev1.NodeStatus{
			Capacity: claim.Status.Capacity, Allocatable: claim.Status.Allocatable,
			Conditions:       []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}},
			DeclaredFeatures: w.features(pool.Name),
		},
	}
	node.APIVersion, node.Kind = "v1", "Node"
	claim.APIVersion, claim.Kind = v1.SchemeGroupVersion.String(), "NodeClaim"
	w.nodes[name], w.claims[name], w.claimOf[name] = node, claim, claim
	return Node{
		Name: name, Pool: pool.Name, InstanceType: chosen.Type.Name, Zone: chosen.Offering.Zone(), CapacityType: chosen.Offering.CapacityType(),
		Price: chosen.Offering.Price,
	}, true
}

// features are those that the nodes of the pool declare: of the first node by name that declares any.
func (w *world) features(pool string) []string {
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if n := w.nodes[name]; n.Labels[v1.NodePoolLabelKey] == pool && len(n.Status.DeclaredFeatures) > 0 {
			return n.Status.DeclaredFeatures
		}
	}
	return nil
}

// remove removes a node, its NodeClaim, and the pods that have not moved.
func (w *world) remove(node, claim string) {
	for uid, pod := range w.pods {
		if pod.Spec.NodeName == node {
			delete(w.pods, uid)
		}
	}
	delete(w.nodes, node)
	delete(w.claims, claim)
	delete(w.claimOf, node)
	delete(w.onNode, node)
}

// taint adds a taint to a node.
func (w *world) taint(node string, taint corev1.Taint) {
	n, ok := w.nodes[node]
	if !ok {
		return
	}
	tainted := *n
	tainted.Spec.Taints = append(slices.Clone(n.Spec.Taints), taint)
	w.nodes[node] = &tainted
}

// drain deletes a node as its finalizers do: it exists until it is removed, and the pods that run elsewhere from now on are pending.
func (w *world) drain(node, claim string, pods []*model.Pod, now time.Time) {
	at := metav1.NewTime(now)
	if n, ok := w.nodes[node]; ok {
		deleting := *n
		deleting.DeletionTimestamp = &at
		w.nodes[node] = &deleting
	}
	if c, ok := w.claims[claim]; ok {
		c.DeletionTimestamp = &at
	}
	for _, p := range pods {
		if pod := w.pods[types.UID(p.UID)]; pod != nil && pod.Spec.NodeName == node {
			w.unbind(pod)
		}
	}
}

// bind lets a pod start on a node at now.
func (w *world) bind(uid, node string, now time.Time) {
	pod, ok := w.pods[types.UID(uid)]
	if !ok {
		return // a virtual pod of a CapacityBuffer
	}
	started := metav1.NewTime(now)
	moved := *pod
	moved.Spec.NodeName = node
	moved.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: started},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
	}}
	moved.Status.ResourceClaimStatuses = pod.Status.ResourceClaimStatuses
	w.pods[pod.UID] = &moved
	if claim := w.claimOf[node]; claim != nil {
		claim.Status.LastPodEventTime = started
	}
}

// unbind makes a pod pending, as its owner does when it replaces an evicted one.
func (w *world) unbind(pod *corev1.Pod) {
	again := *pod
	again.Spec.NodeName = ""
	again.Status = corev1.PodStatus{Phase: corev1.PodPending, ResourceClaimStatuses: pod.Status.ResourceClaimStatuses, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}}
	w.pods[pod.UID] = &again
}
