package manager

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
	"github.com/karpenter-anew/karpenter/embedded/view"
	"github.com/karpenter-anew/karpenter/test/sim"
)

const (
	// look is the most time between two looks at the invariants.
	look = 10 * time.Second
	// orphanBound is how long an instance may exist without its NodeClaim.
	orphanBound = 20 * time.Minute
	// budgetPercent is the budget of pools, and budgetWindow how far back the number of nodes of a pool counts for it.
	budgetPercent = 30
	budgetWindow  = 2 * time.Minute
	// pendingBound is how long a pod may wait for a node while things fail, and drainBound how long a node may stay after its termination grace period.
	pendingBound = 30 * time.Minute
	drainBound   = 5 * time.Minute
	// expiryBound is how long a NodeClaim may stay undeleted after its expiry: a controller may be without a lease for a while.
	expiryBound = 5 * time.Minute
)

// checks are invariants that are checked in what the API server and the cloud have. They look about once a second where something changes.
type checks struct {
	cluster  *Cluster
	registry *registry.Registry
	kind     *kind.Kind

	revision int64
	claims   map[types.UID]*v1.NodeClaim
	pods     []*corev1.Pod
	nodes    []*corev1.Node
	// moved is when a NodeClaim came or went last. orphans has since when an instance has no NodeClaim.
	moved   time.Time
	orphans map[string]time.Time
	// sizes are the numbers of nodes of pools in the last budgetWindow; disrupted are the nodes with a mark at the last look.
	sizes     map[string][]size
	disrupted map[string]bool
	// nodeHours are those of all nodes together, peak the most nodes at a time, up to looked.
	nodeHours float64
	peak      int
	looked    time.Time
}

type size struct {
	at    time.Time
	nodes int
}

func newChecks(c *Cluster, r *registry.Registry) (*checks, error) {
	k := r.Kind(v1.SchemeGroupVersion.WithResource("nodeclaims"))
	if k == nil {
		return nil, fmt.Errorf("NodeClaims are not served")
	}
	return &checks{
		cluster: c, registry: r, kind: k, claims: map[types.UID]*v1.NodeClaim{}, orphans: map[string]time.Time{}, sizes: map[string][]size{},
		disrupted: map[string]bool{}, looked: time.Now(), moved: time.Now(),
	}, nil
}

// look checks everything. It wants the registry.
func (c *checks) look(v *view.View) {
	now := time.Now()
	var err error
	if c.pods, err = view.List[corev1.Pod](v); err != nil {
		panic(err)
	}
	if c.nodes, err = view.List[corev1.Node](v); err != nil {
		panic(err)
	}
	c.nodeHours += float64(len(c.nodes)) * now.Sub(c.looked).Hours()
	c.peak, c.looked = max(c.peak, len(c.nodes)), now
	c.readClaims()
	c.instances(now)
	c.budgets(now)
	for _, claim := range c.claims {
		c.overdue(claim, now)
	}
	for _, pod := range c.pods {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && now.Sub(pod.CreationTimestamp.Time) > pendingBound {
			c.cluster.violated("pod waits", "%s", pod.Name)
		}
	}
}

// readClaims reads the NodeClaims if they have changed.
func (c *checks) readClaims() {
	if changed := c.registry.Changed(c.kind); changed == c.revision {
		return
	}
	c.revision = c.registry.Changed(c.kind)
	list, err := c.registry.List(&registry.Request{Kind: c.kind}, registry.ListOptions{})
	if err != nil {
		panic(err)
	}
	now := map[types.UID]*v1.NodeClaim{}
	for i := range list.Items {
		u := &list.Items[i]
		have := c.claims[u.GetUID()]
		if have == nil || have.ResourceVersion != u.GetResourceVersion() {
			next := &v1.NodeClaim{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, next); err != nil {
				panic(err)
			}
			c.changed(have, next)
			have = next
		}
		now[u.GetUID()] = have
	}
	_, exist := c.cluster.datacenter.owners()
	for uid, claim := range c.claims {
		if now[uid] != nil {
			continue
		}
		c.moved = time.Now()
		if id := claim.Status.ProviderID; id != "" && slices.Contains(exist, id) {
			c.cluster.violated("instance outlives its NodeClaim", "%s of %s", id, claim.Name)
		}
	}
	c.claims = now
}

// changed checks one change of a NodeClaim; old is nil for a new one.
func (c *checks) changed(old, claim *v1.NodeClaim) {
	if old == nil {
		c.moved = time.Now()
	}
	if condition.Status(claim, v1.ConditionTypeLaunched) == metav1.ConditionTrue && claim.DeletionTimestamp == nil &&
		!slices.Contains(claim.Finalizers, v1.TerminationFinalizer) {
		c.cluster.violated("launched without a finalizer", "%s", claim.Name)
	}
	deleted := claim.DeletionTimestamp != nil && old != nil && old.DeletionTimestamp == nil
	if !deleted || condition.Status(claim, v1.ConditionTypeDisruptionReason) != metav1.ConditionTrue || claim.Spec.TerminationGracePeriod != nil {
		return
	}
	for _, pod := range c.pods {
		if pod.Spec.NodeName == claim.Status.NodeName && claim.Status.NodeName != "" && pod.Annotations[v1.DoNotDisruptAnnotationKey] == "true" &&
			pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			c.cluster.violated("do-not-disrupt", "%s was deleted with pod %s", claim.Name, pod.Name)
		}
	}
}

// instances: each belongs to one NodeClaim.
func (c *checks) instances(now time.Time) {
	running, _ := c.cluster.datacenter.owners()
	owners := map[types.UID]string{}
	for _, id := range slices.Sorted(maps.Keys(running)) {
		owner := running[id]
		if other := owners[owner]; other != "" {
			c.cluster.violated("two instances for one NodeClaim", "%s and %s", other, id)
		}
		owners[owner] = id
		if c.claims[owner] != nil {
			delete(c.orphans, id)
			continue
		}
		if since, known := c.orphans[id]; !known {
			c.orphans[id] = now
		} else if now.Sub(since) > orphanBound {
			c.cluster.violated("instance without an owner", "%s", id)
		}
	}
}

// marked reports whether a node is being disrupted, and not deleted yet.
func marked(node *corev1.Node) bool {
	taint := v1.DisruptedNoScheduleTaint()
	return node.DeletionTimestamp == nil && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}

// budgets: no more nodes of a pool are disrupted at a time than its budget allows. It is checked when one more is.
func (c *checks) budgets(now time.Time) {
	nodes, chosen, more, before := map[string]int{}, map[string]int{}, map[string]bool{}, c.disrupted
	c.disrupted = map[string]bool{}
	for _, node := range c.nodes {
		pool := node.Labels[v1.NodePoolLabelKey]
		if nodes[pool]++; !marked(node) {
			continue
		}
		chosen[pool]++
		c.disrupted[node.Name] = true
		more[pool] = more[pool] || !before[node.Name]
	}
	for pool, n := range nodes {
		c.sizes[pool] = append(slices.DeleteFunc(c.sizes[pool], func(s size) bool { return now.Sub(s.at) > budgetWindow }), size{now, n})
		most := 0
		for _, s := range c.sizes[pool] {
			most = max(most, s.nodes)
		}
		if allowed := (most*budgetPercent + 99) / 100; more[pool] && chosen[pool] > allowed {
			c.cluster.violated("budget", "%d nodes of %s are disrupted, %d of %d allowed", chosen[pool], pool, allowed, most)
		}
	}
}

// overdue: NodeClaims are deleted when they expire, and gone after their termination grace period.
func (c *checks) overdue(claim *v1.NodeClaim, now time.Time) {
	after, grace := claim.Spec.ExpireAfter.Duration, claim.Spec.TerminationGracePeriod
	switch {
	case claim.DeletionTimestamp == nil:
		if after != nil && now.Sub(claim.CreationTimestamp.Time) > *after+expiryBound {
			c.cluster.violated("expired NodeClaim stays", "%s", claim.Name)
		}
	case grace != nil && now.Sub(claim.DeletionTimestamp.Time) > grace.Duration+drainBound:
		c.cluster.violated("node outlives its termination grace period", "%s", claim.Name)
	}
}

// unsettled says what is not as it should be once faults have stopped and time has passed.
func (c *checks) unsettled() []string {
	_, exist := c.cluster.datacenter.owners()
	if c.cluster.simulated {
		for _, node := range c.nodes {
			exist = append(exist, node.Spec.ProviderID)
		}
	}
	out := sim.Unsettled(c.pods, c.nodes, slices.Collect(maps.Values(c.claims)), exist)
	slices.Sort(out)
	return out
}

// look says what is not as it should be in a cluster at rest, and when a NodeClaim came or went last.
func (c *Cluster) look() (open []string, moved time.Time) {
	_ = c.server.Do(func(*registry.Registry) error {
		open, moved = c.checks.unsettled(), c.checks.moved
		return nil
	})
	return open, moved
}

// nodes are the hours of all nodes together, and the most nodes at a time.
func (c *Cluster) nodes() (hours float64, peak int) {
	_ = c.server.Do(func(*registry.Registry) error {
		hours, peak = c.checks.nodeHours, c.checks.peak
		return nil
	})
	return hours, peak
}

// nodeCount is the number of nodes now.
func (c *Cluster) nodeCount() (n int) {
	_ = c.server.Do(func(*registry.Registry) error {
		n = len(c.checks.nodes)
		return nil
	})
	return n
}
