package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

// perGroup is how many candidates of one pool, zone and capacity type are tried for a refused pod.
const perGroup = 3

// refusedPods are refused pods of equal spec.
type refusedPods struct {
	pod     *corev1.Pod
	options []option
	reasons []unschedulable.Code
}

// option is a new node that a refused pod may be tried on.
type option struct {
	node *corev1.Node
	text string
	// pool is the pool of the node, and alike are the candidates that a NodeClaim for the pod may list beside it.
	pool  *v1.NodePool
	alike []check.Candidate
}

// codes are what the engine says about refused pods, without the pools.
func codes(reasons []unschedulable.Reason) []unschedulable.Code {
	out := make([]unschedulable.Code, len(reasons))
	for i := range reasons {
		out[i] = reasons[i].Code
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (q *question) refused() (out []refusedPods) {
	seen := map[string]bool{}
	for _, u := range q.simulation.Plan.Unschedulable {
		for _, pod := range q.podsOf(u.Pods) {
			key := fmt.Sprint(pod.Namespace, pod.Labels, pod.Spec.String())
			if seen[key] {
				continue
			}
			seen[key] = true
			out = append(out, refusedPods{pod: pod, options: q.options(pod), reasons: codes(u.Reasons)})
		}
	}
	return out
}

// refusals tries the refused pods on all nodes and on new ones, as the cluster is in the scheduler. A place counts if kube-scheduler
// accepts it with the domains that there are and with those that pools can open.
func (j *Judge) refusals(q *question) (failures []Failure) {
	for _, g := range q.refused() {
		j.Tally.Refusals++
		places := j.placesFor(q, g)
		if len(places) > 0 {
			empty := q.emptyNodes(g.pod)
			j.scheduler.Join(empty)
			wider := j.placesFor(q, g)
			j.scheduler.Leave(len(empty))
			places = slices.DeleteFunc(places, func(place string) bool { return !slices.Contains(wider, place) })
		}
		if len(places) > 0 {
			failures = append(failures, Failure{
				Kind: Refused, Text: fmt.Sprintf("pod %s is refused and could run on %s", g.pod.Name, strings.Join(places[:min(len(places), 4)], ", ")),
				Reasons: g.reasons, Workloads: []string{workloadOf(g.pod)},
			})
		}
	}
	return failures
}

func (j *Judge) placesFor(q *question, g refusedPods) (places []string) {
	for _, node := range q.nodes {
		if node.DeletionTimestamp == nil && j.scheduler.Refusal(g.pod, node.Name) == "" {
			places = append(places, "node "+node.Name)
		}
	}
	for _, o := range g.options {
		if j.holdsOnNew(g.pod, o.node, q.daemonsFor(o.node)) && j.enoughHold(q, g.pod, o) {
			places = append(places, o.text)
		}
	}
	return places
}

// enoughHold reports whether the candidates on which kube-scheduler accepts the pod have the values that minValues of the pool ask for: a
// NodeClaim lists no others.
func (j *Judge) enoughHold(q *question, pod *corev1.Pod, o option) bool {
	if q.Problem.BestEffort || !tooFew(o.pool, nil) {
		return true
	}
	var hold []check.Candidate
	for _, c := range o.alike {
		node := nodeFrom(c, "tried")
		if j.holdsOnNew(pod, node, q.daemonsFor(node)) {
			hold = append(hold, c)
		}
	}
	return len(enough(pod, o.pool, hold)) > 0
}

// holdsOnNew reports whether kube-scheduler accepts the pod on a new node, whichever pod of a DaemonSet is bound first: it may keep others off
// the node, with its host port or anti-affinity, and no plan determines which it is.
func (j *Judge) holdsOnNew(pod *corev1.Pod, node *corev1.Node, daemons []*corev1.Pod) bool {
	for first := range max(1, len(daemons)) {
		if j.scheduler.RefusalOnNew(pod, node, slices.Concat(daemons[first:], daemons[:first])) != "" {
			return false
		}
	}
	return true
}

// emptyNodes are nodes without capacity in every domain that pools can open: the engine spreads pods over these domains, too, while
// kube-scheduler knows those of nodes alone. There is one for each pool, zone, capacity type and custom labels that the pod selects, and
// one that it does not.
func (q *question) emptyNodes(pod *corev1.Pod) []*corev1.Node {
	var out []*corev1.Node
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(q.types)) {
		pool := q.pools[name]
		for _, labels := range q.customLabels(nil, pool) {
			for _, o := range q.launchableFrom(pool, labels) {
				is := o.Node.Labels
				key := fmt.Sprint(labels, is[corev1.LabelTopologyZone], is[v1.CapacityTypeLabelKey], is[corev1.LabelArchStable], matches(pod, o.Node))
				if seen[key] {
					continue
				}
				seen[key] = true
				out = append(out, nodeFrom(check.Candidate{Node: o.Node}, fmt.Sprintf("empty-%d", len(out))))
			}
		}
	}
	return out
}

// options are new nodes that hold the pod by their labels, taints and size, within the limits of their pools.
func (q *question) options(pod *corev1.Pod) []option {
	var out []option
	for _, name := range slices.Sorted(maps.Keys(q.types)) {
		pool := q.pools[name]
		if !tolerates(pod, pool.Spec.Template.Spec.Taints) {
			continue
		}
		groups := map[string][]check.Candidate{}
		for _, labels := range q.customLabels(pod, pool) {
			for _, c := range q.fitting(pod, pool, labels) {
				key := fmt.Sprint(labels, c.Node.Labels[corev1.LabelTopologyZone], c.Node.Labels[v1.CapacityTypeLabelKey])
				groups[key] = append(groups[key], c)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(groups)) {
			list := groups[key]
			if !q.Problem.BestEffort {
				list = enough(pod, pool, list)
			}
			for i := 0; i < len(list); i += max(1, len(list)/perGroup) {
				out = append(out, option{
					node: nodeFrom(list[i], "tried"), pool: pool, alike: list,
					text: fmt.Sprintf("a new %s of pool %s in %s (%s)", list[i].Node.Labels[corev1.LabelInstanceTypeStable], name, list[i].Node.Labels[corev1.LabelTopologyZone], list[i].Node.Labels[v1.CapacityTypeLabelKey]),
				})
			}
		}
	}
	return out
}

// fitting are the candidates of a pool that the pod fits by itself, beside the pods of DaemonSets.
func (q *question) fitting(pod *corev1.Pod, pool *v1.NodePool, labels map[string]string) []check.Candidate {
	var out []check.Candidate
	used := q.used(pool.Name)
	held := map[*cloud.InstanceType]bool{} // whether the limits hold with one more node of the type
	for _, t := range q.types[pool.Name] {
		after := used.DeepCopy()
		add(after, t.Capacity)
		add(after, oneNode)
		held[t] = covers(corev1.ResourceList(pool.Spec.Limits), limited(after, pool.Spec.Limits))
	}
	for _, c := range q.launchableFrom(pool, labels) {
		if !held[c.of] || !matches(pod, c.Node) {
			continue
		}
		total := corev1.ResourceList{}
		for _, p := range append(q.daemonsFor(c.Node), pod) {
			add(total, podresource.PodRequests(p, podresource.PodResourcesOptions{}))
		}
		if covers(c.Allocatable, total) {
			out = append(out, c.Candidate)
		}
	}
	return out
}

// offered is a candidate with its instance type.
type offered struct {
	check.Candidate
	of *cloud.InstanceType
}

// launchableFrom are the candidates of a pool with these custom labels. They are the same for all pods of the question.
func (q *question) launchableFrom(pool *v1.NodePool, labels map[string]string) []offered {
	key := fmt.Sprint(pool.Name, labels)
	if known, ok := q.offered[key]; ok {
		return known
	}
	var out []offered
	for _, t := range q.types[pool.Name] {
		for _, c := range check.Candidates(t, labels, pool.Spec.Template.Spec.Taints) {
			if check.Allowed(pool.Spec.Template.Spec.Requirements, c.Node.Labels) {
				out = append(out, offered{c, t})
			}
		}
	}
	q.offered[key] = out
	return out
}

// limited are the resources that limits name.
func limited(list corev1.ResourceList, limits v1.Limits) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name := range limits {
		out[name] = list[name]
	}
	return out
}

// enough are the candidates that a NodeClaim with minValues of the pool may list for the pod. Requirements of a NodeClaim are a conjunction:
// it follows one term of the pod's node affinity.
func enough(pod *corev1.Pod, pool *v1.NodePool, list []check.Candidate) []check.Candidate {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return unlessFew(pool, list)
	}
	var out []check.Candidate
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		of := pod.DeepCopy()
		of.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = []corev1.NodeSelectorTerm{term}
		out = append(out, unlessFew(pool, slices.DeleteFunc(slices.Clone(list), func(c check.Candidate) bool { return !matches(of, c.Node) }))...)
	}
	return out
}

func unlessFew(pool *v1.NodePool, list []check.Candidate) []check.Candidate {
	if tooFew(pool, list) {
		return nil
	}
	return list
}

// tooFew reports whether candidates have fewer values than minValues of the pool. Values of instance types count, and no instance type has a
// custom label.
func tooFew(pool *v1.NodePool, list []check.Candidate) bool {
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if r.MinValues == nil {
			continue
		}
		values := map[string]bool{}
		for _, c := range list {
			if value, ok := c.Node.Labels[r.Key]; ok && !strings.HasPrefix(r.Key, CustomDomain) {
				values[value] = true
			}
		}
		if len(values) < *r.MinValues {
			return true
		}
	}
	return false
}

// customLabels are the labels that a node of the pool may have besides those of its instance type: each value that the pool lists for a
// key.
func (q *question) customLabels(_ *corev1.Pod, pool *v1.NodePool) []map[string]string {
	base := map[string]string{v1.NodePoolLabelKey: pool.Name}
	maps.Copy(base, pool.Spec.Template.Labels)
	ref := pool.Spec.Template.Spec.NodeClassRef
	base[v1.NodeClassLabelKey(ref.Group, ref.Kind)] = ref.Name
	out := []map[string]string{base}
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if !strings.HasPrefix(r.Key, CustomDomain) || r.Operator != corev1.NodeSelectorOpIn || base[r.Key] != "" {
			continue
		}
		var next []map[string]string
		for _, have := range out {
			for _, value := range r.Values {
				with := maps.Clone(have)
				with[r.Key] = value
				next = append(next, with)
			}
		}
		out = next
	}
	return out
}

// CustomDomain is the domain of labels that only pools and nodes define.
const CustomDomain = "example.com/"
