package workload

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Running makes a cluster that is at work already: nodes of the first pool, and pods of the mix that run on them.
type Running struct {
	Nodes int `json:"nodes"`
	Pods  int `json:"pods"`
	// Type is the instance type of the nodes. They use its offerings in turn.
	Type string `json:"type"`
}

// fill adds the cluster to the input. Pods are bound to the nodes in turn; a node without capacity is skipped.
func (r Running) fill(in *contest.Input, mix Mix) error {
	at := slices.IndexFunc(in.Types, func(t *cloud.InstanceType) bool { return t.Name == r.Type })
	if at < 0 {
		return fmt.Errorf("generator.running: there is no instance type %q in the catalog", r.Type)
	}
	it := in.Types[at]
	for i := range r.Nodes {
		node, claim := readyNode(fmt.Sprintf("node-%05d", i), it, &it.Offerings[i%len(it.Offerings)], in.Pools[0])
		in.Nodes, in.Claims = append(in.Nodes, node), append(in.Claims, claim)
	}
	pods, err := mix.pods(r.Pods, "running-", streamOfRunning)
	if err != nil {
		return err
	}
	free := make([]corev1.ResourceList, r.Nodes)
	for i := range free {
		free[i] = it.Allocatable()
	}
	next := 0
	for _, pod := range pods {
		tried := 0
		for ; tried < r.Nodes && !reserve(free[next], pod); tried++ {
			next = (next + 1) % r.Nodes
		}
		if tried == r.Nodes {
			return fmt.Errorf("generator.running: %d nodes of type %s have no capacity for %d pods", r.Nodes, r.Type, r.Pods)
		}
		pod.Spec.NodeName = in.Nodes[next].Name
		pod.Status.Phase = corev1.PodRunning
		in.Running = append(in.Running, pod)
		next = (next + 1) % r.Nodes
	}
	return nil
}

// reserve subtracts the requests of the pod from what is free, if they fit.
func reserve(free corev1.ResourceList, pod *corev1.Pod) bool {
	asked := maps.Clone(pod.Spec.Containers[0].Resources.Requests)
	asked[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	for name, q := range asked {
		if have := free[name]; have.Cmp(q) < 0 {
			return false
		}
	}
	for name, q := range asked {
		have := free[name]
		have.Sub(q)
		free[name] = have
	}
	return true
}

// readyNode is an initialized node of the pool, launched with the offering o, and its claim.
func readyNode(name string, it *cloud.InstanceType, o *cloud.Offering, pool *v1.NodePool) (*corev1.Node, *v1.NodeClaim) {
	labels := maps.Clone(pool.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	for _, list := range [][]v1.NodeSelectorRequirementWithMinValues{it.Requirements, o.Requirements} {
		for _, r := range list {
			if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
				labels[r.Key] = r.Values[0]
			}
		}
	}
	ref := pool.Spec.Template.Spec.NodeClassRef
	labels[v1.NodePoolLabelKey] = pool.Name
	labels[v1.NodeClassLabelKey(ref.Group, ref.Kind)] = ref.Name
	labels[v1.NodeRegisteredLabelKey] = "true"
	labels[v1.NodeInitializedLabelKey] = "true"
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("claim-" + name), Labels: maps.Clone(labels), CreationTimestamp: created}}
	claim.Spec.NodeClassRef = ref
	claim.Status.ProviderID = "bench:///" + name
	claim.Status.Capacity, claim.Status.Allocatable = it.CapacityOf(o), it.AllocatableOf(o)

	labels[corev1.LabelHostname] = name
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: labels, CreationTimestamp: created}}
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Status.Capacity, node.Status.Allocatable = it.CapacityOf(o), it.AllocatableOf(o)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return node, claim
}
