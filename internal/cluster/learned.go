package cluster

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// learned remembers what the newest nodes of each pool had.
//
// Problem: which features a node will declare depends on its image, and is known only once its kubelet runs. If a node turns out to lack
// a feature, the pod that it was launched for stays pending, and the next pass must not launch another one. Approach: of each operating
// system and architecture of a pool, the newest node that is ready is the estimate for the next one, even after it is gone. What was learned
// of a pool is dropped with the pool. Invariant: a node counts as soon as the pod can no longer be placed on it. Cost: one comparison each
// time a node changes.
type learned struct {
	pools   map[string]map[platform]observation
	classes map[string]observation
	kubelet observation
	// classOf is the node class of each NodePool that exists.
	classOf map[string]string
	// deleted are NodePools that do not exist, and had nodes when a NodePool was deleted the last time: nothing is learned from these.
	deleted map[string]bool
	// published is the current result; its maps are replaced and never changed.
	published model.LearnedFeatures
}

// platform is an operating system and an architecture: nodes of one pool with different ones have different images.
type platform struct{ os, arch string }

// observation is what one node had.
type observation struct {
	created  time.Time
	node     string
	hash     string
	features []string
	lacked   []string
	kubelet  int
}

func newLearned() *learned {
	return &learned{pools: map[string]map[platform]observation{}, classes: map[string]observation{}, classOf: map[string]string{}, deleted: map[string]bool{}}
}

// UpdateNodePool applies the current version of a NodePool, of which only its node class is used, and that it exists.
func (p *Pools) UpdateNodePool(pool *v1.NodePool) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.learned.classOf[pool.Name] = classKey(pool.Spec.Template.Spec.NodeClassRef)
	delete(p.store.learned.deleted, pool.Name)
}

// DeleteNodePool drops what was learned of a NodePool. Its nodes may still exist.
func (p *Pools) DeleteNodePool(name string) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	remaining := map[string]bool{}
	for _, n := range p.store.nodes.All() {
		remaining[n.Pool] = true
	}
	for _, e := range p.store.entries { // those that no snapshot has yet
		if e.node != nil {
			remaining[e.node.Labels[v1.NodePoolLabelKey]] = true
		}
	}
	if p.store.learned.forget(name, remaining) {
		p.store.changed = true
	}
}

// forget drops what was learned of a pool, and of classes that no pool uses; that of the pool itself is kept, for a successor. remaining are
// the pools of existing nodes. It reports whether that changed the result.
func (l *learned) forget(pool string, remaining map[string]bool) bool {
	kept := map[string]bool{l.classOf[pool]: true}
	delete(l.classOf, pool)
	for _, class := range l.classOf {
		kept[class] = true
	}
	l.deleted[pool] = true
	maps.DeleteFunc(l.deleted, func(name string, _ bool) bool { return !remaining[name] })
	pools, classes := len(l.pools), len(l.classes)
	delete(l.pools, pool)
	maps.DeleteFunc(l.classes, func(class string, _ observation) bool { return !kept[class] })
	if len(l.pools) == pools && len(l.classes) == classes {
		return false
	}
	l.publish()
	return true
}

// classKey names a node class; empty without a reference.
func classKey(ref *v1.NodeClassReference) string {
	if ref == nil {
		return ""
	}
	return v1.NodeClassLabelKey(ref.Group, ref.Kind) + "=" + ref.Name
}

// observe takes a managed node into account once nothing is expected of it that it has not reported, and reports whether that changed the result.
func (l *learned) observe(n *model.Node, node *corev1.Node, claim *v1.NodeClaim, lacked []string) bool {
	if node == nil || claim == nil || n.Pool == "" || n.FeaturesExpected || l.deleted[n.Pool] {
		return false
	}
	seen := observation{
		created: node.CreationTimestamp.Time, node: node.Name, hash: claim.Annotations[v1.NodePoolHashAnnotationKey],
		features: n.NodeFeatures, lacked: lacked, kubelet: kubeletMinor(node),
	}
	os := platform{node.Labels[corev1.LabelOSStable], node.Labels[corev1.LabelArchStable]}
	if l.pools[n.Pool] == nil {
		l.pools[n.Pool] = map[platform]observation{}
	}
	changed := false
	if latest := l.pools[n.Pool][os]; seen.replaces(latest) {
		l.pools[n.Pool][os] = seen
		changed = true
	}
	if class := classKey(claim.Spec.NodeClassRef); class != "" {
		if seen.replaces(l.classes[class]) {
			l.classes[class] = seen
			changed = true
		}
	}
	if seen.replaces(l.kubelet) {
		l.kubelet = seen
		changed = true
	}
	if changed {
		l.publish()
	}
	return changed
}

// replaces reports whether an observation says more about the next node than an earlier one: it is of a newer node, or it is the present
// state of the same one.
func (o observation) replaces(latest observation) bool {
	switch {
	case latest.node == "":
		return true
	case o.node == latest.node && o.created.Equal(latest.created):
		return !slices.Equal(o.features, latest.features) || !slices.Equal(o.lacked, latest.lacked) || o.kubelet != latest.kubelet || o.hash != latest.hash
	}
	return o.created.After(latest.created) || o.created.Equal(latest.created) && o.node > latest.node
}

func (l *learned) publish() {
	out := model.LearnedFeatures{Pools: map[string]model.PoolFeatures{}, Classes: map[string]model.PoolFeatures{}, Kubelet: l.kubelet.kubelet}
	for pool, platforms := range l.pools {
		list := make([]observation, 0, len(platforms))
		for _, o := range platforms {
			list = append(list, o)
		}
		out.Pools[pool] = common(list)
	}
	for class, o := range l.classes {
		out.Classes[class] = common([]observation{o})
	}
	l.published = out
}

// common is what can be relied on if the next node may be like any of those observed: the features of all, and the drivers that all have.
// Those of an earlier version of the NodePool do not count.
func common(list []observation) model.PoolFeatures {
	newest := list[0]
	for _, o := range list[1:] {
		if o.created.After(newest.created) {
			newest = o
		}
	}
	out := model.PoolFeatures{Hash: newest.hash, NodeFeatures: newest.features}
	for _, o := range list {
		if o.hash != newest.hash {
			continue
		}
		out.NodeFeatures = slices.DeleteFunc(slices.Clone(out.NodeFeatures), func(name string) bool { return !slices.Contains(o.features, name) })
		out.LackedDrivers = append(out.LackedDrivers, o.lacked...)
	}
	slices.Sort(out.LackedDrivers)
	out.LackedDrivers = slices.Compact(out.LackedDrivers)
	return out
}

// kubeletMinor is the minor version of a node's kubelet; 0 if it is unknown.
func kubeletMinor(node *corev1.Node) int {
	v, err := utilversion.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
	if err != nil {
		return 0
	}
	return int(v.Minor()) //nolint:gosec // a minor version
}
