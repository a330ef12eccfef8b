package disruption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/provisioning"
)

// life does what the other controllers do in a cluster: it launches nodes, drains those being deleted, and binds pods. It acts about
// once a second.
type life struct {
	*harness
	// launch is how long a node takes to become ready; negative for ever.
	launch atomic.Int64
	// born is when NodeClaims were seen first, moved the last pod event of nodes.
	born, moved map[string]time.Time
	serial      int
	// slow makes life act every ten minutes only.
	slow atomic.Bool
	// early lets nodes exist from the first moment, long before they are ready.
	early atomic.Bool
	// scheme is that of the provider IDs of instances that are launched, if set.
	scheme string
	// stuck keeps nodes being deleted from being drained.
	stuck atomic.Bool
	// taint is what another controller adds to new nodes; nil for none.
	taint *corev1.Taint
	// history is what happened to nodes: "+name" for one that became ready, "-name" for one that is gone.
	history []string
}

// live starts life and the provisioner, in a cloud that offers these instance types.
func (w *harness) live(types []*cloud.InstanceType) *life {
	l := w.provisioned(types)
	w.begin(func(ctx context.Context) error {
		for {
			// Passes follow changes by a second: they must not fall between the end of a pod and the beginning of the next one.
			pause := 900 * time.Millisecond
			if l.slow.Load() {
				pause = 10 * time.Minute
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
				l.step(ctx)
			}
		}
	})
	return l
}

// provisioned starts the provisioner, in a cloud that offers these instance types.
func (w *harness) provisioned(types []*cloud.InstanceType) *life {
	w.provider.types = types
	l := &life{harness: w, born: map[string]time.Time{}, moved: map[string]time.Time{}}
	l.launch.Store(int64(5 * time.Second))
	scheduling := w.deps.Scheduling
	if scheduling.BatchIdleDuration == 0 {
		scheduling.BatchIdleDuration, scheduling.BatchMaxDuration = time.Second, 10*time.Second
	}
	p := provisioning.New(provisioning.Deps{
		Shared: deps.Shared{
			Client: w.deps.Client, Clock: w.deps.Clock, Cloud: w.deps.Cloud, Recorder: w.deps.Recorder, Metrics: w.deps.Metrics,
			Creations: w.deps.Creations,
		},
		Store: w.store, Feed: w.feed, Translator: w.deps.Translator, Log: w.deps.Log,
		Scheduling: scheduling,
	})
	if err := p.Register(fakeManager{w: w}); err != nil {
		w.Fatal(err)
	}
	w.begin(p.Start)
	return l
}

// oversized is life with a node of eight cores, "a", whose only pod requests one: a node of one core would do, and is offered.
func (w *harness) oversized() *life {
	l := w.live(ondemand(1, 8))
	w.pool("pool", budget("100%"), underutilized)
	l.of("pool", "a", "x8")
	w.pod("a", "web", asks(900))
	return l
}

func (l *life) step(ctx context.Context) {
	var claims v1.NodeClaimList
	if err := l.client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	for i := range claims.Items {
		claim := &claims.Items[i] // shared with the watches: most steps change nothing, and a copy of each costs more than all else
		switch {
		case !claim.DeletionTimestamp.IsZero():
			l.drain(ctx, claim.DeepCopy())
		case condition.Status(claim, v1.ConditionTypeInitialized) != "True":
			l.join(ctx, claim.DeepCopy())
		default:
			l.quiet(ctx, claim)
		}
	}
	l.bind(ctx)
}

// join makes a node of a NodeClaim: the cheapest instance type that it lists.
func (l *life) join(ctx context.Context, claim *v1.NodeClaim) {
	if l.born[claim.Name].IsZero() {
		l.born[claim.Name] = time.Now()
	}
	if l.early.Load() && claim.Status.ProviderID == "" {
		l.exist(ctx, claim)
		return
	}
	if launch := time.Duration(l.launch.Load()); launch < 0 || time.Since(l.born[claim.Name]) < launch {
		return
	}
	it, offering := l.choose(claim)
	if it == nil {
		return
	}
	pool := claim.Labels[v1.NodePoolLabelKey]
	l.addNodeOf(pool, claim.Name, it, offering, claim)
	l.history = append(l.history, "+"+it.Name)
	_ = ctx
}

// exist says what a NodeClaim has become, as launches do.
func (l *life) exist(ctx context.Context, claim *v1.NodeClaim) {
	it, _ := l.choose(claim)
	if it == nil {
		return
	}
	stored := claim.DeepCopy()
	claim.Status.ProviderID, claim.Status.Capacity, claim.Status.Allocatable = "test://"+claim.Name, it.Capacity, it.Capacity
	condition.For(claim, time.Now()).True(v1.ConditionTypeLaunched)
	if err := l.client.Status().Patch(ctx, claim, client.MergeFrom(stored)); err != nil {
		l.Error(err)
	}
}

func (l *life) choose(claim *v1.NodeClaim) (*cloud.InstanceType, *cloud.Offering) {
	allows := func(key, value string) bool {
		for _, r := range claim.Spec.Requirements {
			if r.Key == key && r.Operator == corev1.NodeSelectorOpIn && !slices.Contains(r.Values, value) {
				return false
			}
		}
		return true
	}
	var best *cloud.InstanceType
	var at *cloud.Offering
	for _, it := range l.provider.types {
		if !allows(corev1.LabelInstanceTypeStable, it.Name) {
			continue
		}
		for i := range it.Offerings {
			o := &it.Offerings[i]
			if o.Available && allows(corev1.LabelTopologyZone, o.Zone()) && allows(v1.CapacityTypeLabelKey, o.CapacityType()) &&
				(at == nil || o.Price < at.Price) {
				best, at = it, o
			}
		}
	}
	return best, at
}

// addNodeOf adds a ready node of an instance type, with a new NodeClaim unless there is one.
func (l *life) addNodeOf(pool, name string, it *cloud.InstanceType, o *cloud.Offering, claim *v1.NodeClaim) {
	change := func(m *nodeAndClaim) {
		m.node.Labels[corev1.LabelInstanceTypeStable] = it.Name
		m.node.Labels[corev1.LabelTopologyZone] = o.Zone()
		m.node.Labels[v1.CapacityTypeLabelKey] = o.CapacityType()
		m.node.Labels[corev1.LabelHostname] = name
		m.node.Status.Capacity, m.node.Status.Allocatable = it.Capacity, it.Capacity
		if l.taint != nil {
			m.node.Spec.Taints = append(m.node.Spec.Taints, *l.taint)
		}
		m.claim.Labels[v1.CapacityTypeLabelKey] = o.CapacityType()
		m.claim.Labels[corev1.LabelInstanceTypeStable], m.claim.Labels[corev1.LabelTopologyZone] = it.Name, o.Zone()
		if claim == nil {
			return
		}
		if l.scheme != "" {
			m.node.Spec.ProviderID, m.claim.Status.ProviderID = l.scheme+name, l.scheme+name
		}
		status, labels := m.claim.Status, m.node.Labels
		m.claim = nil
		stored := claim.DeepCopy()
		claim.Labels = labels
		if err := l.client.Patch(l.Context(), claim, client.MergeFrom(stored)); err != nil {
			l.Error(err)
		}
		stored = claim.DeepCopy()
		claim.Status = status
		condition.For(claim, time.Now()).Clear(v1.ConditionTypeConsolidatable)
		if err := l.client.Status().Patch(l.Context(), claim, client.MergeFrom(stored)); err != nil {
			l.Error(err)
		}
	}
	l.addNode(pool, name, change)
	l.moved[name] = time.Now()
}

// of adds a ready node of the instance type of that name.
func (l *life) of(pool, name, instanceType string) {
	l.Helper()
	for _, it := range l.provider.types {
		if it.Name == instanceType {
			l.addNodeOf(pool, name, it, &it.Offerings[0], nil)
			return
		}
	}
	l.Fatalf("no instance type %q", instanceType)
}

// drain evicts the pods of a node being deleted, one pass after the other, and removes it when it is empty.
func (l *life) drain(ctx context.Context, claim *v1.NodeClaim) {
	if l.stuck.Load() {
		return
	}
	left := false
	for _, pod := range l.pods(ctx) {
		if pod.Spec.NodeName != claim.Name || pod.Spec.NodeName == "" {
			continue
		}
		left = true
		l.evict(ctx, pod)
	}
	if left {
		return
	}
	stored := claim.DeepCopy()
	controllerutil.RemoveFinalizer(claim, v1.TerminationFinalizer)
	if err := l.client.Patch(ctx, claim, client.MergeFrom(stored)); err != nil && !apierrors.IsNotFound(err) {
		return
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}}
	if err := l.client.Delete(ctx, node); client.IgnoreNotFound(err) != nil {
		l.Error(err)
	}
	l.history = append(l.history, "-"+claim.Labels[corev1.LabelInstanceTypeStable])
}

// evict lets the owner of a pod put another one in its place.
func (l *life) evict(ctx context.Context, pod *corev1.Pod) {
	if err := l.client.Delete(ctx, pod); err != nil {
		return
	}
	l.serial++
	base, _, _ := strings.Cut(pod.Name, ".")
	again := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("%s.%d", base, l.serial), Labels: pod.Labels, Annotations: pod.Annotations},
		Spec:       pod.Spec,
	}
	again.UID, again.CreationTimestamp = types.UID(again.Name), metav1.Now()
	again.Spec.NodeName = ""
	again.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if err := l.client.Create(ctx, again); err != nil {
		l.Error(err)
	}
}

// pods are all pods by name, shared with the watches.
func (l *life) pods(ctx context.Context) []*corev1.Pod {
	var list corev1.PodList
	if err := l.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	out := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// bind does what kube-scheduler does: a pod goes to the fullest node that has capacity.
func (l *life) bind(ctx context.Context) {
	var nodes corev1.NodeList
	if err := l.client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	free, going := map[string]int64{}, l.deleted()
	for i := range nodes.Items {
		if n := &nodes.Items[i]; l.taint == nil && !disrupted(n) && n.DeletionTimestamp.IsZero() && !slices.Contains(going, n.Name) {
			free[n.Name] = n.Status.Allocatable.Cpu().MilliValue()
		}
	}
	pods := l.pods(ctx)
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			free[pod.Spec.NodeName] -= cpuOf(pod)
		}
	}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			continue
		}
		home := ""
		for name, capacity := range free {
			if capacity >= cpuOf(pod) && (home == "" || capacity < free[home] || capacity == free[home] && name < home) {
				home = name
			}
		}
		if home != "" {
			free[home] -= cpuOf(pod)
		}
		l.write(ctx, pod, home)
	}
}

// write binds a pod to a node, or marks it as unschedulable where there is none.
func (l *life) write(ctx context.Context, pod *corev1.Pod, home string) {
	stored := pod
	pod = pod.DeepCopy()
	if home == "" {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
		if len(stored.Status.Conditions) > 0 && stored.Status.Conditions[0].Reason == corev1.PodReasonUnschedulable {
			return
		}
	} else {
		l.moved[home] = time.Now()
		pod.Spec.NodeName, pod.Status = home, corev1.PodStatus{Phase: corev1.PodRunning}
	}
	wanted := pod.DeepCopy()
	if err := l.client.Update(ctx, pod); err != nil {
		l.Error(err)
	}
	if err := l.client.Status().Patch(ctx, wanted, client.MergeFrom(stored)); err != nil {
		l.Error(err)
	}
}

func cpuOf(pod *corev1.Pod) int64 {
	if len(pod.Spec.Containers) == 0 {
		return 0
	}
	return pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
}

// quiet keeps the condition Consolidatable of a NodeClaim, which it leaves as it is.
func (l *life) quiet(ctx context.Context, claim *v1.NodeClaim) {
	pool := &v1.NodePool{}
	if err := l.client.Get(ctx, client.ObjectKey{Name: claim.Labels[v1.NodePoolLabelKey]}, pool); err != nil {
		return
	}
	after := pool.Spec.Disruption.ConsolidateAfter.Duration
	last, moved := claim.Status.LastPodEventTime.Time, false
	if event := l.moved[claim.Name].Truncate(time.Second); event.After(last) {
		last, moved = event, true
	}
	consolidatable := after != nil && time.Since(last) >= *after
	if !moved && consolidatable == (condition.Status(claim, v1.ConditionTypeConsolidatable) == metav1.ConditionTrue) {
		return
	}
	changed := claim.DeepCopy()
	changed.Status.LastPodEventTime = metav1.NewTime(last)
	if set := condition.For(changed, time.Now()); consolidatable {
		set.True(v1.ConditionTypeConsolidatable)
	} else {
		set.Clear(v1.ConditionTypeConsolidatable)
	}
	if err := l.client.Status().Patch(ctx, changed, client.MergeFrom(claim)); client.IgnoreNotFound(err) != nil {
		l.Error(err)
	}
}

// sized is an instance type with so many cores, on offer at these prices, which are "capacity type" → dollars.
func sized(name string, cores int64, prices map[string]float64) *cloud.InstanceType {
	it := &cloud.InstanceType{
		Name: name,
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods: resource.MustParse("110"),
		},
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelInstanceTypeStable, name), cloud.In(corev1.LabelTopologyZone, "zone-1"),
			cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand, v1.CapacityTypeSpot),
		},
	}
	for _, kind := range []string{v1.CapacityTypeOnDemand, v1.CapacityTypeSpot} {
		if price, ok := prices[kind]; ok {
			it.Offerings = append(it.Offerings, cloud.Offering{
				Requirements: []v1.NodeSelectorRequirementWithMinValues{
					cloud.In(corev1.LabelTopologyZone, "zone-1"), cloud.In(v1.CapacityTypeLabelKey, kind),
				},
				Price: price, Available: true,
			})
		}
	}
	return it
}

// ondemand is sized, on demand only, at a dollar for each core.
func ondemand(cores ...int64) []*cloud.InstanceType {
	var out []*cloud.InstanceType
	for _, n := range cores {
		out = append(out, sized(fmt.Sprintf("x%d", n), n, map[string]float64{v1.CapacityTypeOnDemand: float64(n)}))
	}
	return out
}

// asks sets the CPU request of a pod, in thousandths of a core.
func asks(milli int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI),
		}}}}
	}
}

// underutilized lets a pool's nodes be consolidated and makes the pool usable.
func underutilized(p *v1.NodePool) {
	p.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyWhenEmptyOrUnderutilized
	usable(p)
}

// usable makes a pool ready.
func usable(p *v1.NodePool) {
	set := condition.For(p, time.Now())
	set.True(v1.ConditionTypeValidationSucceeded)
	set.True(v1.ConditionTypeNodeClassReady)
}

// instanceTypes are those of the nodes that exist, sorted.
func (l *life) instanceTypes() string {
	var nodes corev1.NodeList
	if err := l.client.List(l.Context(), &nodes); err != nil {
		l.Fatal(err)
	}
	var out []string
	for i := range nodes.Items {
		out = append(out, nodes.Items[i].Labels[corev1.LabelInstanceTypeStable])
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (l *life) wantInstanceTypes(want string) {
	l.Helper()
	if got := l.instanceTypes(); got != want {
		l.Errorf("after %s: instance types %q, want %q; history %v", l.age(), got, want, l.history)
	}
}

// wantNoChange checks that nothing happens to nodes for a day.
func (l *life) wantNoChange() {
	l.Helper()
	before := len(l.history)
	l.slow.Store(true)
	defer l.slow.Store(false)
	l.pass(24 * time.Hour)
	if l.history = l.history[before:]; len(l.history) > 0 {
		l.Errorf("no rest: %v", l.history)
	}
}
