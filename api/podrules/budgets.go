package podrules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Strictness is how sure a budget must be to count as blocking.
type Strictness int

const (
	// ZeroDisruptions blocks while the budget allows no disruption right now. It qualifies disruption candidates.
	ZeroDisruptions Strictness = iota
	// FullyBlocking blocks only when the budget can never allow a disruption. It keeps pods out of simulations.
	FullyBlocking
)

// Budgets is a set of PodDisruptionBudgets compiled for many questions; build it once per pass with [NewBudgets]. The
// zero value holds no budget and blocks nothing.
type Budgets struct {
	byNamespace map[string][]budget
}

type budget struct {
	key      types.NamespacedName
	selector labels.Selector
	// zero and full say whether the budget blocks at the two strictness levels.
	zero, full bool
	// sparesUnready is set when unready pods may always be evicted.
	sparesUnready bool
}

// Block says which budgets stand in the way of a pod.
type Block struct {
	Pod     types.NamespacedName
	Budgets []types.NamespacedName
}

// Multiple reports whether the pod is blocked because several budgets select it, which the eviction API refuses
// whatever they allow.
func (b Block) Multiple() bool { return len(b.Budgets) > 1 }

// NewBudgets compiles the budgets of a cluster. A budget whose selector cannot be parsed is left out and reported in
// the error; the result holds all the others.
func NewBudgets(list []policyv1.PodDisruptionBudget) (Budgets, error) {
	out := Budgets{byNamespace: map[string][]budget{}}
	var errs []error
	for i := range list {
		pdb := &list[i]
		// A nil selector becomes one that matches nothing, an empty one matches every pod.
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil {
			errs = append(errs, fmt.Errorf("parsing the selector of poddisruptionbudget %s/%s: %w", pdb.Namespace, pdb.Name, err))
			continue
		}
		policy := pdb.Spec.UnhealthyPodEvictionPolicy
		out.byNamespace[pdb.Namespace] = append(out.byNamespace[pdb.Namespace], budget{
			key:           types.NamespacedName{Namespace: pdb.Namespace, Name: pdb.Name},
			selector:      selector,
			zero:          pdb.Status.DisruptionsAllowed == 0,
			full:          SpecNeverAllows(pdb),
			sparesUnready: policy != nil && *policy == policyv1.AlwaysAllow,
		})
	}
	// Lists come from caches in any order; what is said of a pod must not change with it.
	for _, list := range out.byNamespace {
		slices.SortFunc(list, func(a, b budget) int { return strings.Compare(a.key.Name, b.key.Name) })
	}
	return out, errors.Join(errs...)
}

// SpecNeverAllows recognises the budgets that rule out every voluntary disruption by their spec alone. An integer
// minAvailable is not considered: it depends on the number of replicas.
func SpecNeverAllows(pdb *policyv1.PodDisruptionBudget) bool {
	if most := pdb.Spec.MaxUnavailable; most != nil {
		if most.Type == intstr.Int && most.IntVal == 0 || most.Type == intstr.String && most.StrVal == "0%" {
			return true
		}
	}
	least := pdb.Spec.MinAvailable
	return least != nil && least.Type == intstr.String && least.StrVal == "100%"
}

// Blocked reports whether budgets forbid to evict the pod at now, and which. Pods that are not evictable are never
// blocked by budgets.
func (b Budgets) Blocked(pod *corev1.Pod, now time.Time, level Strictness) (Block, bool) {
	candidates := b.byNamespace[pod.Namespace]
	if len(candidates) == 0 || !Evictable(pod, now) {
		return Block{}, false
	}
	block := Block{Pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}}
	var only budget
	for _, c := range candidates {
		if c.selector.Matches(labels.Set(pod.Labels)) {
			block.Budgets = append(block.Budgets, c.key)
			only = c
		}
	}
	switch {
	case len(block.Budgets) == 0:
		return Block{}, false
	case block.Multiple():
		return block, true
	case only.sparesUnready && notReady(pod):
		return Block{}, false
	case level == FullyBlocking && only.full, level == ZeroDisruptions && only.zero:
		return block, true
	}
	return Block{}, false
}

// Select reports whether some budget selects the pod.
func (b Budgets) Select(pod *corev1.Pod) bool {
	return slices.ContainsFunc(b.byNamespace[pod.Namespace], func(c budget) bool { return c.selector.Matches(labels.Set(pod.Labels)) })
}

// FirstBlocked returns the first of the pods that budgets block. Each pod is judged on its own: two pods behind one
// budget that allows a single disruption both pass.
func (b Budgets) FirstBlocked(pods []*corev1.Pod, now time.Time, level Strictness) (Block, bool) {
	for _, pod := range pods {
		if block, blocked := b.Blocked(pod, now, level); blocked {
			return block, true
		}
	}
	return Block{}, false
}

// notReady reports whether the pod says of itself that it is not ready; a missing condition does not count.
func notReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return pod.Status.Conditions[i].Status == corev1.ConditionFalse
		}
	}
	return false
}
