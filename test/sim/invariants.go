package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// orphanBound is how long an instance may exist without its NodeClaim: garbage collection runs every few minutes, and may fail.
	orphanBound = 20 * time.Minute
	// mostAtOnce is the number of steps at one time: each takes some time, except where something is repeated without a delay.
	mostAtOnce = 5000
	// budgetWindow is how far back the number of nodes of a pool counts for its budget: controllers know it with a delay.
	budgetWindow = 2 * time.Minute
)

// invariants are checked after every write, and after every step. They look at the API server and the cloud themselves, never at what a
// controller believes.
type invariants struct {
	cluster *Cluster
	// began is the revision at which it began to look; revision is up to where it has looked.
	began    int64
	revision map[schema.GroupVersionKind]int64
	claims   map[types.UID]*v1.NodeClaim
	nodes    map[string]*corev1.Node
	inPool   map[string]int // nodes by pool
	pods     map[types.UID]*corev1.Pod
	pools    map[string]*v1.NodePool
	// attachments are the VolumeAttachments, by name.
	attachments map[string]*storagev1.VolumeAttachment
	// unmarked are the NodeClaims whose mark of disruption went while two processes acted: a deposed one takes those of the next for leftovers.
	unmarked map[types.UID]bool
	// forced counts the volumes that were attached to an instance that was ended at its deadline.
	forced int
	// used are the names of nodes that have had a pod.
	used map[string]bool
	// marked is since when a NodeClaim has a mark of disruption, by name; bound is when a pod was bound.
	marked map[string]time.Time
	bound  map[types.UID]time.Time
	// unready is since when a NodePool is not ready, lacking since when a static pool has too few nodes, and empty since when the node of a
	// NodeClaim is, by name. full are the static pools that have had all their nodes.
	unready, lacking, empty map[string]time.Time
	full                    map[string]bool
	// tallies are the NodeClaims by pool: to count them all takes longer than everything else that depends on time.
	tallies map[string]tally
	// closed is since when a node has the taint of a reboot without one, by the name of its NodeClaim.
	closed map[string]time.Time
	// unhealthy are the last times in which nodes were, by name.
	unhealthy map[string]spell
	// looked is when what depends on time was checked last.
	looked time.Time
	// sizes are the numbers of nodes of pools in the last budgetWindow.
	sizes map[string][]size
	// orphans has since when an instance has no NodeClaim.
	orphans map[string]time.Time
	// moved is when a NodeClaim was created or deleted last.
	moved time.Time
	// last is the time of the last step, and second its whole seconds. repeated is how many steps there have been at that time; busy is set when
	// these do not end.
	last, second time.Time
	repeated     int
	busy         bool
	// seen are violations that were reported.
	seen map[string]bool
}

type size struct {
	at    time.Time
	nodes int
}

func watchInvariants(c *Cluster) *invariants {
	i := &invariants{
		cluster: c, began: c.API.Registry.Revision(), revision: map[schema.GroupVersionKind]int64{}, claims: map[types.UID]*v1.NodeClaim{}, nodes: map[string]*corev1.Node{}, inPool: map[string]int{},
		pods: map[types.UID]*corev1.Pod{}, pools: map[string]*v1.NodePool{}, attachments: map[string]*storagev1.VolumeAttachment{}, unmarked: map[types.UID]bool{}, used: map[string]bool{}, marked: map[string]time.Time{}, bound: map[types.UID]time.Time{}, sizes: map[string][]size{},
		unready: map[string]time.Time{}, lacking: map[string]time.Time{}, empty: map[string]time.Time{}, full: map[string]bool{}, closed: map[string]time.Time{}, unhealthy: map[string]spell{}, tallies: map[string]tally{}, orphans: map[string]time.Time{}, last: time.Now(), seen: map[string]bool{},
	}
	c.API.onWrite(i.written)
	c.API.called, c.API.sent = i.called, i.sent
	c.World.check = i.step
	c.Datacenter.ending, c.Datacenter.rebooting = i.ending, i.rebooting
	return i
}

// violated records that an invariant does not hold.
func (i *invariants) violated(name, format string, args ...any) {
	text := fmt.Sprintf("%s: %s", name, fmt.Sprintf(format, args...))
	if i.seen[text] {
		return
	}
	i.seen[text] = true
	i.cluster.Broken = append(i.cluster.Broken, name)
	i.cluster.Violations = append(i.cluster.Violations, fmt.Sprintf("%s step %d %s", time.Now().UTC().Format(time.DateTime), i.cluster.World.Trace.Steps, text))
}

// news calls f for each change of a kind since the last call.
func (i *invariants) news(gvk schema.GroupVersionKind, f func(change)) {
	events, revision, err := i.cluster.API.eventsAfter(gvk, max(i.began, i.revision[gvk]))
	if err != nil {
		panic(err)
	}
	i.revision[gvk] = revision
	for _, e := range events {
		f(e)
	}
}

// defective reports a panic of an invariant: the controllers recover from panics of what they call. It is deferred.
func (i *invariants) defective() {
	if p := recover(); p != nil {
		i.violated("invariant panicked", "%v", p)
		panic(p)
	}
}

func (i *invariants) written() {
	defer i.defective()
	i.news(v1.SchemeGroupVersion.WithKind("NodePool"), i.pool)
	i.news(v1.SchemeGroupVersion.WithKind("NodeClaim"), i.claim)
	i.news(corev1.SchemeGroupVersion.WithKind("Node"), i.node)
	i.news(corev1.SchemeGroupVersion.WithKind("Pod"), i.pod)
	i.news(storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"), i.attachment)
}

func (i *invariants) pool(e change) {
	pool, _ := e.object.(*v1.NodePool)
	if e.kind == watch.Deleted {
		delete(i.pools, pool.Name)
		return
	}
	i.pools[pool.Name] = pool
}

func (i *invariants) pod(e change) {
	pod, _ := e.object.(*corev1.Pod)
	if e.kind == watch.Deleted {
		delete(i.pods, pod.UID)
		delete(i.bound, pod.UID)
		return
	}
	i.pods[pod.UID] = pod
	if pod.Spec.NodeName != "" {
		i.used[pod.Spec.NodeName] = true
		if _, known := i.bound[pod.UID]; !known {
			i.bound[pod.UID] = time.Now()
		}
	}
}

func (i *invariants) claim(e change) {
	claim, _ := e.object.(*v1.NodeClaim)
	old := i.claims[claim.UID]
	i.count(old, -1)
	switch {
	case e.kind == watch.Deleted:
		delete(i.claims, claim.UID)
		delete(i.unmarked, claim.UID)
		i.moved = time.Now()
		i.claimGone(claim)
		return
	case old == nil:
		i.moved = time.Now()
		i.created(claim)
	case old.DeletionTimestamp == nil && claim.DeletionTimestamp != nil:
		i.claimDeleted(claim)
	}
	marked := func(c *v1.NodeClaim) bool {
		return c != nil && condition.Status(c, v1.ConditionTypeDisruptionReason) == metav1.ConditionTrue
	}
	i.unmarked[claim.UID] = !marked(claim) && (i.unmarked[claim.UID] || marked(old) && i.cluster.contested())
	i.claims[claim.UID] = claim
	i.count(claim, 1)
	i.launchedWell(claim)
	i.labeled(claim)
	i.registeredWell(old, claim)
	i.initializedWell(old, claim)
	i.returned(old, claim)
	i.repaired(old, claim)
	if limit := i.cluster.User.scene.Cap; limit != "" && !i.cluster.Faults.Off && (old == nil || old.Status.ProviderID != claim.Status.ProviderID) {
		if most, _ := strconv.ParseFloat(limit, 64); i.cost() > most+1e-6 {
			i.violated("cap on cost", "nodes cost %.4f after the launch of %s, the cap is %s", i.cost(), claim.Name, limit)
		}
	}
}

// claimGone: the finalizer of a NodeClaim goes after its instance. Of launches whose answer was lost nothing is known.
func (i *invariants) claimGone(claim *v1.NodeClaim) {
	if id := claim.Status.ProviderID; id != "" && i.cluster.Datacenter.Instances()[id] != nil {
		i.violated("instance outlives its NodeClaim", "%s of %s", id, claim.Name)
	}
}

// ending: an instance is ended once its pods are gone. It is called by the cloud.
func (i *invariants) ending(id string) {
	name := nodeName(id)
	i.endedFor(i.cluster.Datacenter.instances[id].Owner, id)
	for _, pod := range i.pods {
		if pod.Spec.NodeName == name && i.nodes[name] != nil && i.awaited(pod) {
			i.violated("instance ended before its pods", "%s with pod %s", id, pod.Name)
		}
	}
	i.detached(id, name)
}

// claimDeleted: what Karpenter deletes by choice has no pod that must not be disrupted.
func (i *invariants) claimDeleted(claim *v1.NodeClaim) {
	if condition.Status(claim, v1.ConditionTypeDisruptionReason) != metav1.ConditionTrue || i.deletedBeside(claim) {
		return
	}
	i.disruptedFor(claim)
	for _, pod := range i.pods {
		if pod.Spec.NodeName == claim.Status.NodeName && claim.Status.NodeName != "" && pod.Annotations[v1.DoNotDisruptAnnotationKey] == "true" &&
			pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && deadline(claim) == nil {
			i.violated("do-not-disrupt", "%s was deleted with pod %s", claim.Name, pod.Name)
		}
	}
}

func disrupted(node *corev1.Node) bool { return hasTaint(node, v1.DisruptedNoScheduleTaint()) }

func hasTaint(node *corev1.Node, taint corev1.Taint) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}

func (i *invariants) node(e change) {
	node, _ := e.object.(*corev1.Node)
	old := i.nodes[node.Name]
	if old != nil {
		i.inPool[old.Labels[v1.NodePoolLabelKey]]--
	}
	if e.kind == watch.Deleted {
		delete(i.nodes, node.Name)
		delete(i.used, node.Name)
		delete(i.unhealthy, node.Name)
		i.nodeGone(node)
	} else {
		i.nodes[node.Name] = node
		i.inPool[node.Labels[v1.NodePoolLabelKey]]++
		i.opened(old, node)
		i.health(node)
		i.bounded(node, nil, node.Spec.Taints)
	}
	pool := node.Labels[v1.NodePoolLabelKey]
	i.sized(pool)
	if e.kind != watch.Deleted && disrupted(node) && node.DeletionTimestamp == nil && (old == nil || !disrupted(old)) {
		i.budget(pool)
		i.chosen(node)
	}
}

// sized records how many nodes a pool has.
func (i *invariants) sized(pool string) {
	sizes := slices.DeleteFunc(i.sizes[pool], func(s size) bool { return time.Since(s.at) > budgetWindow })
	if last := len(sizes) - 1; last >= 0 && sizes[last].nodes == i.inPool[pool] {
		sizes[last].at = time.Now()
	} else {
		sizes = append(sizes, size{time.Now(), i.inPool[pool]})
	}
	i.sizes[pool] = sizes
}

// budget: no more nodes of a pool are disrupted at a time than its strictest budget allows. While a deposed process acts, each of the two keeps
// the budget, and neither knows what the other is about to choose.
func (i *invariants) budget(pool string) {
	chosen, most := 0, 0
	for _, node := range i.nodes {
		if node.Labels[v1.NodePoolLabelKey] == pool && disrupted(node) && node.DeletionTimestamp == nil {
			chosen++
		}
	}
	for _, s := range i.sizes[pool] {
		most = max(most, s.nodes)
	}
	allowed := (most*i.cluster.User.scene.Budget + 99) / 100
	if i.cluster.contested() {
		allowed *= 2
	}
	if chosen > allowed {
		i.violated("budget", "%d nodes of %s are disrupted, %d of %d allowed", chosen, pool, allowed, most)
	}
}

// step checks what depends on time.
func (i *invariants) step() {
	now := time.Now()
	i.cluster.NodeHours += float64(len(i.nodes)) * now.Sub(i.last).Hours()
	if i.repeated++; !now.Equal(i.last) {
		i.repeated = 0
	} else if i.repeated > mostAtOnce && !i.busy {
		i.busy = true
		i.violated("busy loop", "the time stands still after %s", i.cluster.World.acting())
	}
	i.last = now
	if s := now.Truncate(time.Second); s.After(i.second) {
		i.second = s
		i.waiting()
	}
	if now.Sub(i.looked) < look {
		return
	}
	i.looked = now
	i.expired()
	i.marks()
	i.launches()
	i.ready()
	i.overdue()
	i.filled()
	i.emptied()
	i.reboots()
	owners := map[types.UID]string{}
	instances := i.cluster.Datacenter.Instances()
	for _, id := range slices.Sorted(maps.Keys(instances)) {
		instance := instances[id]
		if instance.Ending {
			continue
		}
		if other := owners[instance.Owner]; other != "" {
			i.violated("two instances for one NodeClaim", "%s and %s", other, id)
		}
		owners[instance.Owner] = id
		if i.claims[instance.Owner] != nil {
			delete(i.orphans, id)
			continue
		}
		since, known := i.orphans[id]
		if !known {
			i.orphans[id] = time.Now()
		} else if time.Since(since) > orphanBound {
			i.violated("instance without an owner", "%s", id)
		}
	}
}

// settled says what is not as it should be once faults have stopped and time has passed; "" if all is well.
func (i *invariants) settled() []string {
	instances := slices.Collect(maps.Keys(i.cluster.Datacenter.Instances()))
	out := Unsettled(slices.Collect(maps.Values(i.pods)), slices.Collect(maps.Values(i.nodes)), slices.Collect(maps.Values(i.claims)), instances)
	out = slices.Concat(out, i.unsettled(), i.spare(), i.unrepaired())
	slices.Sort(out)
	return out
}
