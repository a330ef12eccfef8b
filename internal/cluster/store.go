// Package cluster keeps the cluster state: a Watcher applies watch events to a Store, and the Store publishes immutable
// Snapshots.
//
// The Store is the only mutable copy of the cluster state. Events are applied under one short lock that never waits for the
// network; a Snapshot rebuilds only the nodes that changed since the last one.
//
// A NodeClaim without an instance is planned capacity. It never blocks scheduling or disruption.
//
// Source: scheduling specification, cluster state cache.
package cluster

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// Store is the mutable cluster state. It is safe for concurrent use.
//
// Its own methods apply Nodes, NodeClaims and pods; its parts apply everything else. All parts share its lock, and a Snapshot
// includes all of them.
type Store struct {
	// The parts are set by NewStore and never replaced.
	Namespaces    *Namespaces
	Daemons       *Daemons
	Volumes       *Volumes
	Devices       *Devices
	PodGroups     *PodGroups
	DefaultSpread *DefaultSpread
	Pools         *Pools
	Buffers       *Buffers
	Health        *Health

	cloud      cloud.Cloud
	translator *translate.Translator

	mu      sync.Mutex
	entries map[string]*entry
	// claimEntry and nodeEntry find the entry of an object by its name.
	claimEntry, nodeEntry map[string]string
	// podNode is the node of each bound pod, by UID; podsOn is the reverse.
	podNode map[string]string
	podsOn  map[string]map[string]*model.Pod
	// written are NodeClaims that this process created and the watch has not delivered yet.
	written map[string]time.Time

	dirty map[string]bool
	nodes model.Editor[*model.Node]
	// poolNodes are the IDs of the managed nodes of each pool, among those in nodes.
	poolNodes links
	pending   model.Editor[*model.Pod]

	// resources is the number of offered resources for which the pods are translated.
	resources int

	learned   *learned
	nominated *nominatedPods

	published     *model.Snapshot
	changed       bool
	consolidation consolidation
}

// entry is the Node and NodeClaim of one instance, with the state that only this process has.
type entry struct {
	node           *corev1.Node
	claim          *v1.NodeClaim
	marked         bool
	nominatedUntil time.Time
	// replaced is set while a replacement is being launched.
	replaced bool
	// terminatedFirst is set while the node is terminated although its pool has no replacement for it yet.
	terminatedFirst bool
	// headroom is the number of virtual pods on the node, by capacity buffer.
	headroom Headroom
	health   nodeHealth
}

// NewStore returns an empty Store for one cloud.
func NewStore(c cloud.Cloud, t *translate.Translator) *Store {
	s := &Store{
		cloud:      c,
		translator: t,
		entries:    map[string]*entry{},
		claimEntry: map[string]string{},
		nodeEntry:  map[string]string{},
		podNode:    map[string]string{},
		podsOn:     map[string]map[string]*model.Pod{},
		written:    map[string]time.Time{},
		dirty:      map[string]bool{},
		poolNodes:  links{},
		learned:    newLearned(),
	}
	s.Namespaces = &Namespaces{store: s, labels: map[string]map[string]string{}}
	s.Daemons = &Daemons{store: s, daemons: map[string]*daemon{}, newest: map[types.UID]string{}}
	s.Volumes = &Volumes{store: s, storage: newStorage()}
	s.Devices = &Devices{store: s}
	s.PodGroups = &PodGroups{store: s}
	s.DefaultSpread = &DefaultSpread{store: s}
	s.Pools = &Pools{store: s, claims: links{}, poolOf: map[string]string{}, reserved: map[string]int{}}
	s.Buffers = &Buffers{store: s}
	s.Health = &Health{store: s}
	s.nominated = &nominatedPods{store: s, pods: map[string]*nominatedPod{}, on: map[string]map[string]bool{}, claims: map[string]string{}}
	return s
}

// Snapshot returns the current state. It is never changed afterwards.
func (s *Store) Snapshot() *model.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.DefaultSpread.retranslateStale()
	if s.published != nil && !s.changed && len(s.dirty) == 0 && s.resources == s.translator.Resources().Len() {
		return s.published
	}
	s.nominated.reconsider()
	s.rebuildDirty()
	s.offerResources()
	s.rebuildDirty()
	s.changed = false
	version := uint64(1)
	if s.published != nil {
		version = s.published.Version + 1
	}
	s.published = &model.Snapshot{
		Version:         version,
		Resources:       s.translator.Resources(),
		Nodes:           s.nodes.Publish(),
		Pending:         s.pending.Publish(),
		DaemonSets:      s.Daemons.published.Publish(),
		Namespaces:      s.Namespaces.publish(),
		Virtual:         s.Buffers.publish(),
		HeadroomUnknown: s.Buffers.unknown,
		PodGroups:       s.PodGroups.publish(),
		Devices:         s.Devices.publish(),
		Health:          s.Health.publish(),
		Learned:         s.learned.published,
	}
	return s.published
}

func (s *Store) rebuildDirty() {
	for id := range s.dirty {
		s.rebuild(id)
	}
	clear(s.dirty)
}

// offerResources updates pods that request resources which something offers since the last time. This is rare: resources are few.
func (s *Store) offerResources() {
	offered := s.translator.Resources().Len()
	if s.resources == offered {
		return
	}
	s.resources = offered
	var stale []*model.Pod
	for _, p := range s.pending.All() {
		if len(p.Shape.Unoffered) > 0 {
			stale = append(stale, p)
		}
	}
	for _, p := range stale {
		s.putPod(p, true)
	}
	for _, pods := range s.podsOn {
		for uid, p := range pods {
			if next := s.translator.Offered(p); next != p {
				pods[uid] = next
				s.markDirty(p.Node)
			}
		}
	}
}

func (s *Store) rebuild(id string) {
	e, ok := s.entries[id]
	before, known := s.nodes.Get(id)
	if !ok || e.claim == nil && !s.tracked(e.node) {
		s.nodes.Delete(id)
		s.poolNodes.move(id, managedBy(before), "")
		s.consolidation.recordChange(known)
		return
	}
	node := e.node
	if node != nil && e.claim != nil && !s.tracked(node) {
		node = nil
	}
	n := s.translator.Node(id, node, e.claim)
	n.Deleting = n.Deleting || e.marked
	n.Headroom = e.headroom.sum()
	n.Health.Matches = e.health.matches
	if !e.nominatedUntil.IsZero() {
		n.NominatedUntil = e.nominatedUntil.UnixNano()
	}
	n.NominatedUntil = s.nominated.until(n.NodeName, n.NominatedUntil)
	if n.NodeName != "" {
		translate.AddPods(n, sortedPods(s.nominated.with(s.podsOn[n.NodeName], n.NodeName)))
		n.Attachable = translate.Attachable(s.Volumes.storage.nodes[n.NodeName])
		n.Attached = s.Volumes.storage.attachments(n.NodeName)
	}
	s.nodes.Put(id, n)
	s.poolNodes.move(id, managedBy(before), managedBy(n))
	learned := s.learned.observe(n, node, e.claim, s.Volumes.storage.lacked(n))
	s.consolidation.recordChange(!known || learned || !slices.Equal(before.NodeFeatures, n.NodeFeatures) || before.Initialized != n.Initialized || before.Deleting != n.Deleting ||
		before.Disruption.Consolidatable != n.Disruption.Consolidatable)
}

// tracked reports whether a Node can be used. A node of a NodePool needs a provider ID, and is ignored until it has its
// instance type label or is initialized.
func (s *Store) tracked(n *corev1.Node) bool {
	if n == nil {
		return false
	}
	if n.Labels[v1.NodePoolLabelKey] == "" {
		return true
	}
	return n.Spec.ProviderID != "" &&
		(n.Labels[v1.NodeInitializedLabelKey] == "true" || n.Labels[corev1.LabelInstanceTypeStable] != "")
}

func sortedPods(pods map[string]*model.Pod) []*model.Pod {
	out := make([]*model.Pod, 0, len(pods))
	for _, p := range pods {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *model.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
	})
	return out
}

// Mark marks nodes for deletion before their objects are deleted; Unmark reverts it. ids are those of snapshots.
func (s *Store) Mark(ids ...string) { s.setMark(true, ids) }

// Unmark reverts Mark.
func (s *Store) Unmark(ids ...string) { s.setMark(false, ids) }

func (s *Store) setMark(marked bool, ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if e, ok := s.entries[id]; ok && e.marked != marked {
			e.marked = marked
			s.dirty[id] = true
			if e.claim != nil {
				s.Pools.notify(e.claim)
			}
		}
	}
}

// Nominate protects nodes that a scheduling result uses from disruption until the given time. An earlier time has no effect.
func (s *Store) Nominate(until time.Time, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if e, ok := s.entries[id]; ok && until.After(e.nominatedUntil) {
			e.nominatedUntil = until
			s.dirty[id] = true
		}
	}
}

// UpdatePod applies the current version of a pod.
func (s *Store) UpdatePod(pod *corev1.Pod) {
	uid := string(pod.UID)
	if podrules.Terminal(pod) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.consolidation.recordChange(s.dropPod(uid))
		return
	}
	var p *model.Pod
	if len(translate.VolumeClaims(pod)) == 0 {
		p = s.translator.Pod(pod)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applyLivePod(pod, p)
}

// UpdatePods applies many pods as UpdatePod does, and translates them concurrently.
func (s *Store) UpdatePods(pods []*corev1.Pod) {
	live := slices.DeleteFunc(slices.Clone(pods), podrules.Terminal)
	translated := s.translator.Pods(live)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range pods {
		if podrules.Terminal(pod) {
			s.consolidation.recordChange(s.dropPod(string(pod.UID)))
		}
	}
	for i, pod := range live {
		if len(translate.VolumeClaims(pod)) > 0 {
			translated[i] = nil
		}
		s.applyLivePod(pod, translated[i])
	}
}

// applyLivePod applies a live pod. p is its translation, or nil if that depends on the volumes in the Store.
func (s *Store) applyLivePod(pod *corev1.Pod, p *model.Pod) {
	uid := string(pod.UID)
	s.Volumes.storage.track(uid, pod)
	s.DefaultSpread.track(uid, pod)
	if p == nil {
		p = s.translate(pod)
	} else {
		p = s.DefaultSpread.spread(p, pod)
	}
	s.nominated.see(uid, nominationOf(pod), podrules.Unplaced(pod))
	s.putPod(p, podrules.Unplaced(pod))
}

// putPod sets a live pod; waiting reports whether it is pending. A pending pod does not ask for capacity if it is nominated to a node that can
// take it.
func (s *Store) putPod(p *model.Pod, waiting bool) {
	p = s.translator.Offered(p) // it may have been translated before the last call of offerResources
	uid := p.UID
	if at, ok := s.podNode[uid]; ok && at != p.Node {
		s.unbind(uid)
	}
	if p.Node != "" {
		s.bind(p)
	}
	waiting = !s.nominated.holds(p) && waiting
	s.PodGroups.see(uid, p, waiting)
	if waiting {
		s.pending.Put(uid, p)
		s.changed = true
		return
	}
	if _, known := s.pending.Get(uid); known {
		s.pending.Delete(uid)
		s.changed = true
	}
}

// DeletePod forgets a pod.
func (s *Store) DeletePod(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consolidation.recordChange(s.dropPod(uid))
}

// dropPod forgets a pod and reports whether it was known.
func (s *Store) dropPod(uid string) (known bool) {
	s.Volumes.storage.track(uid, nil)
	s.DefaultSpread.track(uid, nil)
	s.PodGroups.see(uid, nil, false)
	s.nominated.see(uid, "", false)
	s.Daemons.podGone(types.UID(uid))
	_, bound := s.podNode[uid]
	s.unbind(uid)
	_, waiting := s.pending.Get(uid)
	if waiting {
		s.pending.Delete(uid)
		s.changed = true
	}
	return bound || waiting
}

func (s *Store) bind(p *model.Pod) {
	if s.podsOn[p.Node] == nil {
		s.podsOn[p.Node] = map[string]*model.Pod{}
	}
	_, known := s.podsOn[p.Node][p.UID]
	s.consolidation.recordChange(!known)
	s.podsOn[p.Node][p.UID] = p
	s.podNode[p.UID] = p.Node
	s.markDirty(p.Node)
}

func (s *Store) unbind(uid string) {
	at, ok := s.podNode[uid]
	if !ok {
		return
	}
	delete(s.podNode, uid)
	delete(s.podsOn[at], uid)
	if len(s.podsOn[at]) == 0 {
		delete(s.podsOn, at)
	}
	s.markDirty(at)
}

func (s *Store) markDirty(name string) {
	if id, ok := s.nodeEntry[name]; ok {
		s.dirty[id] = true
	}
}
