package cluster

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// nominatedPods are the pending pods with status.nominatedNodeName: kube-scheduler is about to bind them there or preempts pods for them, or
// another controller expects them there. They ask for no capacity as long as the node can take them, and keep the node from disruption.
//
// Source: specification of version 1.15, N485.
type nominatedPods struct {
	store *Store
	// pods by UID, and their UIDs by node.
	pods map[string]*nominatedPod
	on   map[string]map[string]bool
	// claims are the names of NodeClaims by that of the node that they expect.
	claims map[string]string
}

type nominatedPod struct {
	node string
	pod  *model.Pod
}

// expect records the node that a NodeClaim expects; now is nil if the NodeClaim is gone.
func (n *nominatedPods) expect(before, now *v1.NodeClaim) {
	if before != nil && n.claims[before.Status.NodeName] == before.Name {
		delete(n.claims, before.Status.NodeName)
	}
	if now != nil && now.Status.NodeName != "" {
		n.claims[now.Status.NodeName] = now.Name
	}
}

// see records the node of a live pod; empty if it has none, or if the pod does not ask for capacity.
func (n *nominatedPods) see(uid, node string) {
	before := n.pods[uid]
	if before != nil && before.node == node || before == nil && node == "" {
		return
	}
	if before != nil {
		delete(n.pods, uid)
		if delete(n.on[before.node], uid); len(n.on[before.node]) == 0 {
			delete(n.on, before.node)
		}
		n.store.markDirty(before.node)
	}
	if node == "" {
		return
	}
	n.pods[uid] = &nominatedPod{node: node}
	if n.on[node] == nil {
		n.on[node] = map[string]bool{}
	}
	n.on[node][uid] = true
	n.store.markDirty(node)
}

// holds keeps a pod that would ask for capacity, and reports whether its node is expected to take it.
func (n *nominatedPods) holds(p *model.Pod) bool {
	at := n.pods[p.UID]
	if at == nil {
		return false
	}
	at.pod = p
	return n.store.expects(at.node)
}

// reconsider applies the current state of nodes to the pods that are nominated to them.
func (n *nominatedPods) reconsider() {
	for uid, at := range n.pods {
		if at.pod == nil {
			continue
		}
		if _, waiting := n.store.pending.Get(uid); waiting == n.store.expects(at.node) {
			n.store.putPod(at.pod, true)
		}
	}
}

// until is when the protection of a node ends, later than the given time if pods are nominated to it.
func (n *nominatedPods) until(node string, ours int64) int64 {
	if node != "" && len(n.on[node]) > 0 {
		return math.MaxInt64
	}
	return ours
}

// nominationOf is the node to which a pod is nominated that would otherwise ask for capacity.
func nominationOf(pod *corev1.Pod) string {
	if podrules.Unplaced(pod) {
		return pod.Status.NominatedNodeName
	}
	return ""
}

// NominatedTo returns the UIDs of the pods that are nominated to a node.
func (s *Store) NominatedTo(node string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.nominated.on[node]))
}

// Provisionable reports whether a pod asks for capacity: kube-scheduler found no place for it, and it is not nominated to a node that can be
// expected to run it.
func (s *Store) Provisionable(pod *corev1.Pod) bool {
	if podrules.Provisionable(pod) {
		return true
	}
	if !podrules.Unplaced(pod) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.expects(pod.Status.NominatedNodeName)
}

// expects reports whether pods that are nominated to a node can be expected to run there.
func (s *Store) expects(node string) bool {
	if e := s.entries[s.nodeEntry[node]]; e != nil && e.node != nil {
		return !e.marked && e.node.DeletionTimestamp == nil && (e.claim == nil || e.claim.DeletionTimestamp == nil) &&
			!slices.ContainsFunc(e.node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1.DisruptedTaintKey })
	}
	claim, ok := s.nominated.claims[node]
	if !ok {
		return false
	}
	e := s.entries[s.claimEntry[claim]]
	return e != nil && e.claim != nil && !e.marked && e.claim.DeletionTimestamp == nil
}
