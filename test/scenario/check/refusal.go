package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// refusals tries every refused pod, by brute force, on an empty new node of every pool without limits.
func (j *judge) refusals() {
	seen := map[string]bool{}
	compares := func(t corev1.Toleration) bool {
		return t.Operator == corev1.TolerationOpLt || t.Operator == corev1.TolerationOpGt
	}
	for _, uid := range j.Refused {
		pod, ok := j.pods[uid]
		question := fmt.Sprint(pod.Namespace, pod.Labels, pod.Spec.String())
		if !ok || seen[question] {
			continue
		}
		seen[question] = true
		if usesDevices(&pod.Spec) || !neededFeatures(pod).IsEmpty() || len(j.requiredDrivers(pod)) > 0 {
			continue // what a new node has is an estimate
		}
		if slices.ContainsFunc(pod.Spec.Tolerations, compares) {
			continue // which a gate decides
		}
		if j.daemonsDecide(pod) {
			continue
		}
		if j.DefaultSpread && len(pod.Spec.TopologySpreadConstraints) == 0 {
			continue
		}
		if j.excused(pod, func(other *corev1.Pod) bool { t, _ := j.somewhere(other); return t != "" }) {
			continue
		}
		if t, name := j.somewhere(pod); t != "" {
			j.fail("pod %s is refused, but would fit a %s of pool %s", pod.Name, t, name)
		}
	}
}

// somewhere names an instance type on which the pod could run alone, and its pool, among the pools whose answer does not depend on other
// nodes; both are empty if there is none.
func (j *judge) somewhere(pod *corev1.Pod) (instanceType, pool string) {
	for _, name := range slices.Sorted(maps.Keys(j.Types)) {
		if pool := j.pools[name]; len(pool.Spec.Limits) == 0 && !hasMinValues(pool) {
			if t, ok := j.fits(pod, pool); ok {
				return t, name
			}
		}
	}
	return "", ""
}

// daemonsDecide reports whether where the pod may go depends on the DaemonSet pods of other nodes. How many these are is known only once the
// nodes are launched, which the oracle does.
func (j *judge) daemonsDecide(pod *corev1.Pod) bool {
	var terms []corev1.PodAffinityTerm
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		terms = slices.DeleteFunc(slices.Clone(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution), func(term corev1.PodAffinityTerm) bool {
			return term.TopologyKey == corev1.LabelHostname
		})
	}
	return slices.ContainsFunc(spreads(pod), j.countsDaemons) || slices.ContainsFunc(j.daemons, func(d *corev1.Pod) bool {
		return slices.ContainsFunc(terms, func(term corev1.PodAffinityTerm) bool { return j.termSelects(&term, pod, d) })
	})
}

func hasMinValues(pool *v1.NodePool) bool {
	return slices.ContainsFunc(pool.Spec.Template.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
		return r.MinValues != nil
	})
}

// fits names an instance type of the pool on which the pod could run alone, beside the DaemonSet pods, with all other pods where they
// are.
func (j *judge) fits(pod *corev1.Pod, pool *v1.NodePool) (string, bool) {
	if !tolerates(pod, pool.Spec.Template.Spec.Taints) {
		return "", false
	}
	combinations := j.customLabels(pod, pool)
	for _, t := range j.Types[pool.Name] {
		possible := j.candidatesOf(t, pool, combinations)
		possible = slices.DeleteFunc(slices.Clone(possible), func(m Candidate) bool { return !matchesNode(pod, m.Node) })
		daemons := j.daemonsOnAny(possible)
		if _, taken := samePort(append(daemons, pod)); taken {
			continue
		}
		asked := sum(append(daemons, pod))
		for _, m := range possible {
			if _, over := short(asked, m.Allocatable); !over && j.volumesUsable(pod, m.Node) && j.topologyAllows(pod, m) {
				return t.Name, true
			}
		}
	}
	return "", false
}

// candidatesOf are the candidates of a type that meet the pool's requirements and labels.
func (j *judge) candidatesOf(t *cloud.InstanceType, pool *v1.NodePool, combinations []map[string]string) []Candidate {
	key := typeOfPool{t, pool.Name, fmt.Sprint(combinations)}
	if known, ok := j.cache.candidates[key]; ok {
		return known
	}
	var out []Candidate
	for _, labels := range combinations {
		for _, m := range Candidates(t, labels, pool.Spec.Template.Spec.Taints) {
			if Allowed(pool.Spec.Template.Spec.Requirements, m.Node.Labels) && agree(pool.Spec.Template.Labels, m.Node.Labels) {
				out = append(out, m)
			}
		}
	}
	j.cache.candidates[key] = out
	return out
}

// agree reports whether labels hold all of wanted.
func agree(wanted, labels map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// daemonsOnAny are the DaemonSet pods that run on some candidate of a type: what the pod does not decide, such as the zone, stays open,
// so capacity is reserved for all of them.
func (j *judge) daemonsOnAny(list []Candidate) []*corev1.Pod {
	var out []*corev1.Pod
	for _, d := range j.daemons {
		if slices.ContainsFunc(list, func(m Candidate) bool { return tolerates(d, m.Node.Spec.Taints) && matchesNode(d, m.Node) }) {
			out = append(out, d)
		}
	}
	return out
}

// customLabels are all combinations of custom labels that the pool's labels and requirements allow, as far as they make a difference to
// the pod.
func (j *judge) customLabels(pod *corev1.Pod, pool *v1.NodePool) []map[string]string {
	base := map[string]string{v1.NodePoolLabelKey: pool.Name}
	maps.Copy(base, pool.Spec.Template.Labels)
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		base[v1.NodeClassLabelKey(ref.Group, ref.Kind)] = ref.Name
	}
	choices := map[string][]string{}
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if _, set := base[r.Key]; set || j.WellKnown[r.Key] {
			continue
		}
		if spreadsOver(pod, r.Key) && r.Operator != corev1.NodeSelectorOpIn {
			continue // no domain is known
		}
		choices[r.Key] = append(choices[r.Key], r.Values...)
		for _, p := range append(slices.Clip(j.daemons), pod) {
			choices[r.Key] = append(choices[r.Key], namedValues(p, r.Key)...)
		}
	}
	for key, values := range choices {
		choices[key] = append(withAdjacent(values), absent)
	}
	out := product(base, choices)
	for _, labels := range out {
		maps.DeleteFunc(labels, func(_, value string) bool { return value == absent })
	}
	return out
}

// spreadsOver reports whether a required constraint spreads the pod over the label.
func spreadsOver(pod *corev1.Pod, key string) bool {
	return slices.ContainsFunc(spreads(pod), func(s spread) bool { return s.TopologyKey == key })
}

// absent stands for not having the label. No label can have it as its value.
const absent = "(left off)"

// namedValues are the values that the pod's selector and required affinity name for a key.
func namedValues(pod *corev1.Pod, key string) []string {
	var out []string
	if value, ok := pod.Spec.NodeSelector[key]; ok {
		out = append(out, value)
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				if e.Key == key {
					out = append(out, e.Values...)
				}
			}
		}
	}
	return out
}

// withAdjacent adds the integers next to integers, and a value that is not named anywhere.
func withAdjacent(values []string) []string {
	out := append(slices.Clone(values), "something-else", "0")
	for _, v := range values {
		if n, err := strconv.Atoi(v); err == nil {
			out = append(out, strconv.Itoa(n+1), strconv.Itoa(max(n-1, 0)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
