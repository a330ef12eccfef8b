package judge

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

// anyOrders is in how many random orders the pods of a launch are bound to see whether their order matters.
const anyOrders = 24

// Standing is what a cheaper plan of another scheduler is worth beside the plan of the engine.
type Standing int

const (
	// Sound plans can be compared by price.
	Sound Standing = iota
	// Weaker plans hold in fewer circumstances.
	Weaker
	// Later plans launch nodes from pools although pools that are tried before take the pods on these nodes.
	Later
	// Unsettled plans hold in some circumstances only, and so does that of the engine: which of them costs less depends on these.
	Unsettled
)

// Standing compares the plan of another scheduler with that of the engine without preferences. Both are put to the same tests. One is
// nodes in every domain, such as a zone, that pools can open: such a node lowers the minimum count of topology spread constraints. Another
// is the order in which kube-scheduler binds the pods, which no plan determines. The last is both at once.
func (j *Judge) Standing(p Problem, plan OtherPlan) (Standing, error) {
	counted := j.Tally
	defer func() { j.Tally = counted }()
	objects, err := p.objects(j.reader, j.cloud)
	if err != nil {
		return Sound, err
	}
	settings := p.settings()
	settings.Preferences = model.IgnorePreferences
	result, err := simulation.Run(context.Background(), objects, j.cloud, settings)
	if err != nil {
		return Sound, err
	}
	ours, err := j.question(p, objects, 0, result)
	if err != nil {
		return Sound, err
	}
	theirs, err := j.other(p, objects, plan)
	if err != nil {
		return Sound, err
	}
	if later(theirs, ours) {
		return Later, nil
	}
	standing := Sound
	for _, holds := range []func(*question) bool{j.holdsBesideOpenDomains, j.holdsInAnyOrder, j.holdsInAnyOrderBesideOpenDomains} {
		switch {
		case holds(theirs):
		case holds(ours):
			return Weaker, nil
		default:
			standing = Unsettled
		}
	}
	return standing, nil
}

// later reports whether a plan launches a node that another plan would not: it launches pods of it from pools that are tried before, and none
// from the same or a later pool. A node that such a pod needs may take others along, whatever pools these could have. Equal pods stand for each
// other: either may be the one that an existing node takes.
func later(q, other *question) bool {
	pools, theirs := other.poolsOfLaunched(), q.poolsOfLaunched()
	poolOf := func(pod *model.Pod) (pool string, launched bool) {
		if pool, launched = pools[pod.UID]; launched {
			return pool, true
		}
		for uid, of := range pools { // the order does not matter
			if _, both := theirs[uid]; !both && alike(q.pods[uid], q.pods[pod.UID]) && (!launched || q.compareTrial(pod.UID, of, pool) > 0) {
				pool, launched = of, true
			}
		}
		return pool, launched
	}
	return slices.ContainsFunc(q.simulation.Plan.NodeClaims, func(c solve.NodeClaim) bool {
		before := 0
		for _, pod := range c.Pods {
			pool, launched := poolOf(pod)
			if launched && q.compareTrial(pod.UID, c.Pool, pool) <= 0 {
				return false
			}
			if launched {
				before++
			}
		}
		return before > 0
	})
}

// poolsOfLaunched are the pools from which the plan launches nodes for pods, by the UID of the pod.
func (q *question) poolsOfLaunched() map[string]string {
	pools := map[string]string{}
	for _, c := range q.simulation.Plan.NodeClaims {
		for _, pod := range c.Pods {
			pools[pod.UID] = c.Pool
		}
	}
	return pools
}

// alike reports whether two pods have the same labels and spec.
func alike(a, b *corev1.Pod) bool {
	return a.Namespace == b.Namespace && equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// compareTrial compares two pools by the order in which they are tried for a pod: those that prefer not to have it last, then by weight, and by
// name in reverse where that is equal. Source: scheduling specification, 1.9, checklist L087, L197.
func (q *question) compareTrial(uid, a, b string) int {
	return cmp.Or(q.unwelcome(uid, a)-q.unwelcome(uid, b), cmp.Compare(q.weight(b), q.weight(a)), strings.Compare(b, a))
}

// unwelcome is 1 for a pod that does not tolerate a PreferNoSchedule taint of a pool, 0 for others.
func (q *question) unwelcome(uid, pool string) int {
	pod, p := q.pods[uid], q.pools[pool]
	if pod == nil || p == nil {
		return 0
	}
	if _, repelled := schedulingcorev1.FindMatchingUntoleratedTaint(klog.Logger{}, p.Spec.Template.Spec.Taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }, true); repelled {
		return 1
	}
	return 0
}

func (q *question) weight(pool string) int32 {
	if p := q.pools[pool]; p != nil && p.Spec.Weight != nil {
		return *p.Spec.Weight
	}
	return 0
}

// holdsInAnyOrder reports whether kube-scheduler binds the pods of the plan in each of the orders that are tried, on the nodes by whose prices
// plans are compared and on others.
func (j *Judge) holdsInAnyOrder(q *question) bool {
	random, candidates := q.random(), q.allLaunchable()
	if slices.ContainsFunc(candidates, func(list []check.Candidate) bool { return len(list) == 0 }) {
		return false
	}
	launched := []launch{q.launch(cheapest(candidates), "", random)}
	for _, zone := range append(zonesOf(candidates), "") {
		launched = append(launched, q.launch(candidates, zone, random))
	}
	for _, l := range launched {
		for range anyOrders {
			random.Shuffle(len(l.arrivals), func(a, b int) { l.arrivals[a], l.arrivals[b] = l.arrivals[b], l.arrivals[a] })
			if _, failure := j.bindInOrder(q, l, slices.Clone(l.arrivals)); failure != nil {
				return false
			}
		}
	}
	return true
}

// other is the question with the plan of another scheduler as the answer.
func (j *Judge) other(p Problem, objects []client.Object, plan OtherPlan) (*question, error) {
	q, err := j.question(p, objects, 0, simulation.Result{})
	if err != nil {
		return nil, err
	}
	plan.fill(&q.simulation)
	return q, nil
}

// holdsBesideOpenDomains reports whether kube-scheduler binds the pods of the plan in some order beside empty nodes in every domain that
// pools can open.
func (j *Judge) holdsBesideOpenDomains(q *question) bool {
	defer j.besideOpenDomains(q)()
	_, failures := j.bindings(q)
	return len(failures) == 0
}

// holdsInAnyOrderBesideOpenDomains is both tests at once.
func (j *Judge) holdsInAnyOrderBesideOpenDomains(q *question) bool {
	defer j.besideOpenDomains(q)()
	return j.holdsInAnyOrder(q)
}

// besideOpenDomains imagines empty nodes in every domain that pools can open, until the function is called that it returns.
func (j *Judge) besideOpenDomains(q *question) (end func()) {
	known := map[types.UID][]*corev1.Node{}
	j.beside = func(pod *corev1.Pod) []*corev1.Node {
		if _, ok := known[pod.UID]; !ok {
			known[pod.UID] = q.emptyNodes(pod)
		}
		return known[pod.UID]
	}
	return func() { j.beside = nil }
}

// refusal is why kube-scheduler refuses the pod on the node, beside the nodes that are to be imagined; empty if it does not.
func (j *Judge) refusal(pod *corev1.Pod, node string) string {
	why := j.scheduler.Refusal(pod, node)
	if why != "" || j.beside == nil {
		return why
	}
	empty := j.beside(pod)
	j.scheduler.Join(empty)
	defer j.scheduler.Leave(len(empty))
	return j.scheduler.Refusal(pod, node)
}
