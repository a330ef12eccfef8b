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

// nominatedPods are the pods without a node, but with status.nominatedNodeName: kube-scheduler is about to bind them there or preempts pods
// for them, or another controller expects them there. They ask for no capacity as long as the node can take them, keep the node from
// disruption, and count there: kube-scheduler reserves their place. It lets pods of higher priority take the place all the same; the nominated
// pod then needs the one that was found for these.
//
// Source: specification of version 1.15, N481, N485.
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
	// unplaced is set if kube-scheduler has found no place for the pod; otherwise the pod never asks for capacity.
	unplaced bool
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

// see records the node to which a live pod is nominated; empty for none.
func (n *nominatedPods) see(uid, node string, unplaced bool) {
	before := n.pods[uid]
	if before == nil && node == "" {
		return
	}
	if before != nil && before.node == node {
		before.unplaced = unplaced
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
	n.pods[uid] = &nominatedPod{node: node, unplaced: unplaced}
	if n.on[node] == nil {
		n.on[node] = map[string]bool{}
	}
	n.on[node][uid] = true
	n.store.markDirty(node)
}

// holds keeps a pod that is nominated, and reports whether its node is expected to take it.
func (n *nominatedPods) holds(p *model.Pod) bool {
	at := n.pods[p.UID]
	if at == nil {
		return false
	}
	if at.pod != p {
		at.pod = p
		n.store.markDirty(at.node)
	}
	return n.store.expects(at.node)
}

// with adds to the pods on a node, by UID, those that are nominated to it and that it can take. The result may be the same map.
func (n *nominatedPods) with(pods map[string]*model.Pod, node string) map[string]*model.Pod {
	if len(n.on[node]) == 0 || !n.store.expects(node) {
		return pods
	}
	out := maps.Clone(pods)
	if out == nil {
		out = map[string]*model.Pod{}
	}
	for uid := range n.on[node] {
		if p := n.pods[uid].pod; p != nil {
			there := *p
			there.Node = node
			out[uid] = &there
		}
	}
	return out
}

// reconsider applies the current state of nodes to the pods that are nominated to them.
func (n *nominatedPods) reconsider() {
	for uid, at := range n.pods {
		if at.pod == nil || !at.unplaced {
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

// nominationOf is the node to which a pod without a node is nominated. Pods of DaemonSets count on every node anyway.
func nominationOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" || podrules.OwnedByDaemonSet(pod) || podrules.OwnedByNode(pod) {
		return ""
	}
	return pod.Status.NominatedNodeName
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
