package forecast

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// world is the objects of the cluster at one moment of the forecast.
type world struct {
	cloud cloud.Cloud
	// nodes and claims are by name, pods by UID. Claims are copies that may be changed, nodes and pods are replaced as a whole.
	nodes  map[string]*corev1.Node
	claims map[string]*v1.NodeClaim
	pods   map[types.UID]*corev1.Pod
	pools  map[string]*v1.NodePool
	// podsOn are the pods that are bound, by node.
	podsOn map[string]map[types.UID]bool
	// features are those that the nodes of each pool declare: of the first node by name that declares any.
	features map[string][]string
	// claimOf are the claims by the name of their node.
	claimOf map[string]*v1.NodeClaim
	// serial and recreated are how many NodeClaims and pods were created.
	serial, recreated int
	// drifted are the names of NodeClaims that drift because of their node class.
	drifted map[string]bool
}

func newWorld(objects []client.Object, c cloud.Cloud, driftedClasses []string) *world {
	w := &world{
		cloud: c, drifted: map[string]bool{}, nodes: map[string]*corev1.Node{}, claims: map[string]*v1.NodeClaim{}, pods: map[types.UID]*corev1.Pod{},
		podsOn: map[string]map[types.UID]bool{}, features: map[string][]string{}, pools: map[string]*v1.NodePool{}, claimOf: map[string]*v1.NodeClaim{},
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
			w.put(o)
		case *v1.NodePool:
			w.pools[o.Name] = o
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[name]
		if pool := n.Labels[v1.NodePoolLabelKey]; w.features[pool] == nil && len(n.Status.DeclaredFeatures) > 0 {
			w.features[pool] = n.Status.DeclaredFeatures
		}
	}
	return w
}

// put adds a pod.
func (w *world) put(pod *corev1.Pod) {
	w.pods[pod.UID] = pod
	node := pod.Spec.NodeName
	if node == "" {
		return
	}
	if w.podsOn[node] == nil {
		w.podsOn[node] = map[types.UID]bool{}
	}
	w.podsOn[node][pod.UID] = true
}

// take removes a pod.
func (w *world) take(pod *corev1.Pod) {
	delete(w.pods, pod.UID)
	delete(w.podsOn[pod.Spec.NodeName], pod.UID)
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

// create adds a NodeClaim that was made from the present template of the pool.
func (w *world) create(claim *v1.NodeClaim, pool *v1.NodePool, now time.Time) {
	w.serial++
	name := fmt.Sprintf("%s-forecast-%d", pool.Name, w.serial)
	claim.Name, claim.GenerateName, claim.UID = name, "", types.UID(name)
	claim.CreationTimestamp = seconds(now)
	claim.APIVersion, claim.Kind = v1.SchemeGroupVersion.String(), "NodeClaim"
	w.claims[name] = claim
}

// join adds the initialized node of a NodeClaim.
func (w *world) join(claim *v1.NodeClaim, chosen cloud.Candidate, now time.Time) *corev1.Node {
	name, pool := claim.Name, claim.Labels[v1.NodePoolLabelKey]
	labels := maps.Clone(claim.Labels)
	maps.Copy(labels, cloud.LaunchLabels(claim, chosen, w.cloud.Labels))
	labels[corev1.LabelHostname] = name
	claim.Labels = maps.Clone(labels)
	labels[v1.NodeRegisteredLabelKey], labels[v1.NodeInitializedLabelKey] = "true", "true"
	if ref := claim.Spec.NodeClassRef; ref != nil {
		labels[v1.NodeClassLabelKey(ref.Group, ref.Kind)] = ref.Name
	}
	claim.Status = v1.NodeClaimStatus{
		NodeName: name, ProviderID: "forecast://" + name, Capacity: chosen.Type.CapacityOf(chosen.Offering).DeepCopy(),
		Allocatable: chosen.Type.AllocatableOf(chosen.Offering), LastPodEventTime: seconds(now),
	}
	set := condition.For(claim, now)
	for _, t := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized} {
		set.True(t)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: labels, CreationTimestamp: seconds(now)},
		Spec:       corev1.NodeSpec{ProviderID: claim.Status.ProviderID, Taints: slices.Clone(claim.Spec.Taints)},
		Status: corev1.NodeStatus{
			Capacity: claim.Status.Capacity, Allocatable: claim.Status.Allocatable,
			Conditions:       []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: seconds(now)}},
			DeclaredFeatures: w.features[pool],
		},
	}
	node.APIVersion, node.Kind = "v1", "Node"
	w.nodes[name], w.claimOf[name] = node, claim
	return node
}

// remove removes a node, its NodeClaim, and the pods on it, whose UIDs it returns.
func (w *world) remove(node, claim string) []string {
	var gone []string
	for uid := range w.podsOn[node] {
		delete(w.pods, uid)
		gone = append(gone, string(uid))
	}
	delete(w.podsOn, node)
	delete(w.nodes, node)
	delete(w.claims, claim)
	delete(w.claimOf, node)
	return gone
}

// taint adds a taint to a node, and returns the node; nil if there is none.
func (w *world) taint(node string, taint corev1.Taint) *corev1.Node {
	n, ok := w.nodes[node]
	if !ok {
		return nil
	}
	tainted := *n
	tainted.Spec.Taints = append(slices.Clone(n.Spec.Taints), taint)
	w.nodes[node] = &tainted
	return &tainted
}

// bind lets a pod start on a node at now, and returns the pod; nil if there is none, as for the virtual pod of a CapacityBuffer.
func (w *world) bind(uid, node string, now time.Time) *corev1.Pod {
	pod, ok := w.pods[types.UID(uid)]
	if !ok {
		return nil
	}
	started := seconds(now)
	moved := *pod
	moved.Spec.NodeName = node
	moved.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: started},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
	}}
	moved.Status.ResourceClaimStatuses = pod.Status.ResourceClaimStatuses
	w.take(pod)
	w.put(&moved)
	return &moved
}

// recreate is the pod that its owner creates in place of an evicted one. kube-scheduler has found no node for it yet.
func (w *world) recreate(pod *corev1.Pod, now time.Time) *corev1.Pod {
	w.recreated++
	again := *pod
	again.UID = types.UID(fmt.Sprintf("%s.%d", pod.UID, w.recreated))
	again.CreationTimestamp = seconds(now)
	again.Spec.NodeName = ""
	again.Status = corev1.PodStatus{Phase: corev1.PodPending, ResourceClaimStatuses: pod.Status.ResourceClaimStatuses, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}}
	w.take(pod)
	w.put(&again)
	return &again
}
