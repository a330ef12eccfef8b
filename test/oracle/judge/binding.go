package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

const (
	// launches is how often each plan is launched at random, besides once with the cheapest nodes, and once for each zone with as much as
	// possible there.
	launches = 2
	// orders is in how many orders the pods of a launch are bound before the plan is called wrong.
	orders = 96
)

// arrival is a pod that the plan puts on a node.
type arrival struct {
	pod  *corev1.Pod
	node string
}

// launch is a plan with its nodes launched.
type launch struct {
	nodes []*corev1.Node
	// claims are the NodeClaims of new nodes.
	claims   []*v1.NodeClaim
	arrivals []arrival
	// names say what each new node is.
	names map[string]string
	// anywhere lets pods run on other nodes, too, where they cannot run on those of the plan.
	anywhere bool
	// closed are nodes that take no other pods than those of the plan.
	closed map[string]bool
}

// bindings launches the plan and binds its pods, several times. It leaves the last launch in the scheduler and returns it.
func (j *Judge) bindings(q *question) (launch, []Failure) {
	random := q.random()
	plan := q.simulation.Plan
	var failures []Failure
	candidates := q.allLaunchable()
	for i := range plan.NodeClaims {
		if len(candidates[i]) == 0 {
			failures = append(failures, Failure{Kind: Unlaunched, Text: fmt.Sprintf("NodeClaim %d of pool %s: no offering satisfies it", i+1, plan.NodeClaims[i].Pool)})
		}
	}
	if len(failures) > 0 {
		return launch{}, failures
	}
	if len(plan.NodeClaims)+len(plan.Placements) > 0 {
		j.Tally.Plans++
	}
	l := q.launch(cheapest(candidates), "", random)
	if f := j.bindAll(q, l, random); f != nil {
		return launch{}, []Failure{*f}
	}
	if len(plan.NodeClaims) == 0 {
		return l, nil // the next launches would be the same
	}
	for _, zone := range append(zonesOf(candidates), make([]string, launches)...) {
		l = q.launch(candidates, zone, random)
		if f := j.bindAll(q, l, random); f != nil {
			return launch{}, []Failure{*f}
		}
	}
	return l, nil
}

// allLaunchable are the nodes that a launch of each NodeClaim of the plan may give.
func (q *question) allLaunchable() [][]check.Candidate {
	candidates := make([][]check.Candidate, len(q.simulation.Claims))
	for i, claim := range q.simulation.Claims {
		candidates[i] = q.launchable(claim)
	}
	return candidates
}

// cheapest is the cheapest candidate of each NodeClaim, by which plans are priced.
func cheapest(candidates [][]check.Candidate) [][]check.Candidate {
	out := make([][]check.Candidate, len(candidates))
	for i, list := range candidates {
		out[i] = []check.Candidate{slices.MinFunc(list, func(a, b check.Candidate) int { return cmp.Compare(a.Price, b.Price) })}
	}
	return out
}

// zonesOf are the zones in which claims may be launched that may be launched in several.
func zonesOf(candidates [][]check.Candidate) []string {
	all := map[string]bool{}
	for _, list := range candidates {
		zones := map[string]bool{}
		for _, c := range list {
			zones[c.Node.Labels[corev1.LabelTopologyZone]] = true
		}
		if len(zones) > 1 {
			maps.Copy(all, zones)
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// inZone are the candidates in a zone, or all if there are none.
func inZone(list []check.Candidate, zone string) []check.Candidate {
	there := slices.DeleteFunc(slices.Clone(list), func(c check.Candidate) bool { return c.Node.Labels[corev1.LabelTopologyZone] != zone })
	if len(there) == 0 {
		return list
	}
	return there
}

// launch launches each claim as a random candidate, in the zone if it can be launched there.
func (q *question) launch(candidates [][]check.Candidate, zone string, random *rand.Rand) launch {
	l := launch{nodes: slices.Clone(q.nodes), names: map[string]string{}}
	plan := q.simulation.Plan
	for i, c := range plan.NodeClaims {
		list := inZone(candidates[i], zone)
		chosen := list[random.IntN(len(list))]
		node := nodeFrom(chosen, fmt.Sprintf("new-%d-%d", q.pass, i+1))
		node.Spec.ProviderID = "kwok://" + node.Name
		l.nodes = append(l.nodes, node)
		l.claims = append(l.claims, claimOf(q.simulation.Claims[i], node))
		l.names[node.Name] = fmt.Sprintf("%s, a %s of pool %s in %s", node.Name, node.Labels[corev1.LabelInstanceTypeStable], c.Pool, node.Labels[corev1.LabelTopologyZone])
		for _, pod := range q.podsOf(c.Pods) {
			l.arrivals = append(l.arrivals, arrival{pod, node.Name})
		}
	}
	for _, at := range plan.Placements {
		for _, pod := range q.podsOf(at.Pods) {
			l.arrivals = append(l.arrivals, arrival{pod, at.Node.NodeName})
		}
	}
	return l
}

// bindAll binds the pods of a launch in some order. It returns what is wrong if none binds all.
func (j *Judge) bindAll(q *question, l launch, random *rand.Rand) *Failure {
	var failure *Failure
	late := map[*corev1.Pod]int{} // how often a pod was left over: such pods are first in the next order
	rank := ranks(l.arrivals)
	for try := range orders {
		list := slices.Clone(l.arrivals)
		random.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		switch try % 4 {
		case 0:
			slices.SortStableFunc(list, func(a, b arrival) int {
				return cmp.Or(late[b.pod]-late[a.pod], constraints(b.pod)-constraints(a.pod))
			})
		case 2:
			slices.SortStableFunc(list, func(a, b arrival) int {
				return cmp.Or(rank[a.pod]-rank[b.pod], late[b.pod]-late[a.pod])
			})
		case 3: // one workload after the other: where they count each other, one of them may have to be first
			turn := turns(list)
			slices.SortStableFunc(list, func(a, b arrival) int { return turn[a.pod] - turn[b.pod] })
		}
		var left []arrival
		if left, failure = j.bindInOrder(q, l, list); failure == nil {
			return nil
		}
		for _, a := range left {
			late[a.pod]++
		}
	}
	return failure
}

// constraints counts what a pod requires of other pods. Spreads over domains with several nodes count more: pods that they count, and that
// may be bound at any time, close domains to their owners.
func constraints(pod *corev1.Pod) int {
	n := 0
	for i := range pod.Spec.TopologySpreadConstraints {
		if n++; pod.Spec.TopologySpreadConstraints[i].TopologyKey != corev1.LabelHostname {
			n += 2
		}
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		n += len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		n += len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return n
}

// ranks orders the pods by who counts whom. A pod that counts toward a required spread without having it closes domains to the owners of the
// spread, and may be bound after them. The rank of a pod is above the ranks of those that count it, as far as they do not count each other.
func ranks(list []arrival) map[*corev1.Pod]int {
	after := map[*corev1.Pod][]*corev1.Pod{} // the pods that may be bound after a pod
	for _, owner := range list {
		for i := range owner.pod.Spec.TopologySpreadConstraints {
			c := &owner.pod.Spec.TopologySpreadConstraints[i]
			selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
			if err != nil || c.WhenUnsatisfiable != corev1.DoNotSchedule {
				continue
			}
			for _, other := range list {
				if other.pod.Namespace == owner.pod.Namespace && selector.Matches(labels.Set(other.pod.Labels)) && !owns(other.pod, c) {
					after[owner.pod] = append(after[owner.pod], other.pod)
				}
			}
		}
	}
	out := map[*corev1.Pod]int{}
	for range list { // no path is longer
		for _, a := range list {
			for _, other := range after[a.pod] {
				out[other] = min(max(out[other], out[a.pod]+1), len(list))
			}
		}
	}
	return out
}

// turns gives each pod the position of the first pod in the list that has the same labels and constraints.
func turns(list []arrival) map[*corev1.Pod]int {
	first, out := map[string]int{}, map[*corev1.Pod]int{}
	for at, a := range list {
		// Selectors are pointers: only as text are equal ones equal.
		text, err := json.Marshal([]any{a.pod.Namespace, a.pod.Labels, a.pod.Spec.TopologySpreadConstraints, a.pod.Spec.Affinity})
		if err != nil {
			panic(err) // these types have no values that JSON lacks
		}
		if _, ok := first[string(text)]; !ok {
			first[string(text)] = at
		}
		out[a.pod] = first[string(text)]
	}
	return out
}

// owns reports whether a pod has a required spread over the same label that counts the same pods.
func owns(pod *corev1.Pod, c *corev1.TopologySpreadConstraint) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(own corev1.TopologySpreadConstraint) bool {
		return own.WhenUnsatisfiable == c.WhenUnsatisfiable && own.TopologyKey == c.TopologyKey && reflect.DeepEqual(own.LabelSelector, c.LabelSelector)
	})
}

// bindInOrder binds the first pod of the list that can be bound, repeatedly: a pod may have to wait for another one, and others behind
// it have to wait, too. It returns the pods that are left over.
func (j *Judge) bindInOrder(q *question, l launch, list []arrival) ([]arrival, *Failure) {
	if err := j.prepare(q, l); err != nil {
		return nil, &Failure{Kind: Unreadable, Text: err.Error()}
	}
	for {
		left, whys, err := j.bindAsPlanned(list)
		if err == nil && len(left) > 0 && l.anywhere {
			var elsewhere bool
			if elsewhere, err = j.bindElsewhere(l, left); elsewhere && err == nil {
				list = left[1:]
				continue
			}
		}
		switch {
		case err != nil:
			return nil, &Failure{Kind: Unreadable, Text: err.Error()}
		case len(left) > 0:
			return left, l.unbound(left, whys)
		}
		return nil, nil
	}
}

// bindAsPlanned binds the first pod of the list that can be bound where it is planned, repeatedly. It returns the others, with the reasons.
func (j *Judge) bindAsPlanned(list []arrival) (left []arrival, whys []string, err error) {
	whys = make([]string, 0, len(list))
	for at := 0; at < len(list); {
		a := list[at]
		if why := j.refusal(a.pod, a.node); why != "" {
			whys = append(whys, why)
			at++
			continue
		}
		if err := j.scheduler.Bind(a.pod, a.node); err != nil {
			return nil, nil, err
		}
		list = slices.Delete(list, at, at+1)
		at, whys = 0, whys[:0]
	}
	return list, whys, nil
}

// bindElsewhere binds one of the pods to any node, and moves it to the front of the list. It reports whether there was one.
func (j *Judge) bindElsewhere(l launch, list []arrival) (bool, error) {
	var names []string
	for _, node := range l.nodes {
		if !l.closed[node.Name] {
			names = append(names, node.Name)
		}
	}
	for at, a := range list {
		if found := slices.Index(j.scheduler.Refusals(a.pod, names), ""); found >= 0 {
			list[0], list[at] = list[at], list[0]
			return true, j.scheduler.Bind(a.pod, names[found])
		}
	}
	return false, nil
}

// prepare puts the nodes of a launch into the scheduler, with the pods that run and those of DaemonSets.
func (j *Judge) prepare(q *question, l launch) error {
	if err := j.scheduler.Load(q.objects); err != nil {
		return err
	}
	moved := map[types.UID]bool{}
	for _, a := range l.arrivals {
		moved[a.pod.UID] = true
	}
	j.scheduler.SetNodes(l.nodes, slices.DeleteFunc(slices.Clone(q.bound), func(pod *corev1.Pod) bool { return moved[pod.UID] }))
	for _, node := range l.nodes {
		for _, daemon := range q.daemonsFor(node) {
			if q.runs(daemon, node.Name) {
				continue
			}
			if j.scheduler.Refusal(daemon, node.Name) != "" {
				continue
			}
			if err := j.scheduler.Bind(daemon, node.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// unbound describes the pods that wait.
func (l launch) unbound(waiting []arrival, whys []string) *Failure {
	texts, workloads := make([]string, len(waiting)), make([]string, len(waiting))
	for i, a := range waiting {
		name := l.names[a.node]
		if name == "" {
			name = a.node
		}
		texts[i], workloads[i] = fmt.Sprintf("pod %s on %s: %s", a.pod.Name, name, whys[i]), workloadOf(a.pod)
	}
	slices.Sort(texts)
	plugins := make([]string, len(whys))
	for i, why := range whys {
		plugins[i], _, _ = strings.Cut(why, ":")
	}
	slices.Sort(plugins)
	slices.Sort(workloads)
	return &Failure{Kind: Unbound, Text: strings.Join(texts, "; "), Plugins: slices.Compact(plugins), Workloads: slices.Compact(workloads)}
}
