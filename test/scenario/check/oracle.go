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

// refusals tries every refused pod, by brute force, on an empty new node of every pool that has no limits.
func (j *judge) refusals() {
	seen := map[string]bool{}
	for _, uid := range j.Refused {
		pod, ok := j.pods[uid]
		question := fmt.Sprint(pod.Namespace, pod.Labels, pod.Spec.String())
		if !ok || seen[question] {
			continue
		}
		seen[question] = true
		if usesDevices(&pod.Spec) {
			continue
		}
		if j.DefaultSpread && len(pod.Spec.TopologySpreadConstraints) == 0 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(j.Types)) {
			pool := j.pools[name]
			if len(pool.Spec.Limits) > 0 || demandsVariety(pool) {
				continue
			}
			if t, ok := j.fits(pod, pool); ok {
				j.fail("pod %s is refused, but would fit a %s of pool %s", pod.Name, t, name)
			}
		}
	}
}

func demandsVariety(pool *v1.NodePool) bool {
	return slices.ContainsFunc(pool.Spec.Template.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
		return r.MinValues != nil
	})
}

// fits names an instance type of the pool on which the pod could run alone, beside the daemons of that type, with all other
// pods where they are.
func (j *judge) fits(pod *corev1.Pod, pool *v1.NodePool) (string, bool) {
	if !bears(pod, pool.Spec.Template.Spec.Taints) {
		return "", false
	}
	combinations := j.customLabels(pod, pool)
	for _, t := range j.Types[pool.Name] {
		possible := j.possible(t, pool, combinations)
		daemons := j.daemonsOnAny(possible)
		if _, taken := samePort(append(daemons, pod)); taken {
			continue
		}
		asked := sum(append(daemons, pod))
		for _, m := range possible {
			if _, over := short(asked, m.allocatable); !over && wants(pod, m.node) && j.reaches(pod, m.node) && j.welcome(pod, m) {
				return t.Name, true
			}
		}
	}
	return "", false
}

// possible are the machines of a type that meet the pool's requirements and are not labelled otherwise by it.
func (j *judge) possible(t *cloud.InstanceType, pool *v1.NodePool, combinations []map[string]string) []machine {
	key := wayOfBuying{t, pool.Name, fmt.Sprint(combinations)}
	if known, ok := j.memo.possible[key]; ok {
		return known
	}
	var out []machine
	for _, labels := range combinations {
		for _, m := range machines(t, labels, pool.Spec.Template.Spec.Taints) {
			if allAllow(pool.Spec.Template.Spec.Requirements, m.node.Labels) && agree(pool.Spec.Template.Labels, m.node.Labels) {
				out = append(out, m)
			}
		}
	}
	j.memo.possible[key] = out
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

// daemonsOnAny are the daemons that run on some machine of a type: which zone and custom labels a machine gets is open, so
// room is kept for all of them.
func (j *judge) daemonsOnAny(list []machine) []*corev1.Pod {
	var out []*corev1.Pod
	for _, d := range j.daemons {
		if slices.ContainsFunc(list, func(m machine) bool { return bears(d, m.node.Spec.Taints) && wants(d, m.node) }) {
			out = append(out, d)
		}
	}
	return out
}

// customLabels are all labellings that the pool's own labels and its requirements on custom keys leave open, as far as
// they can make a difference to the pod.
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
		choices[r.Key] = append(choices[r.Key], r.Values...)
		for _, p := range append(slices.Clip(j.daemons), pod) {
			choices[r.Key] = append(choices[r.Key], mentioned(p, r.Key)...)
		}
	}
	for key, values := range choices {
		choices[key] = append(withNeighbours(values), leftOff)
	}
	out := product(base, choices)
	for _, labels := range out {
		maps.DeleteFunc(labels, func(_, value string) bool { return value == leftOff })
	}
	return out
}

// leftOff stands for not having the label. It is no value that a label can have.
const leftOff = "(left off)"

// mentioned are the values that the pod's selector and required affinity name for a key.
func mentioned(pod *corev1.Pod, key string) []string {
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

// withNeighbours adds the integers next to integers, and a value that nobody names.
func withNeighbours(values []string) []string {
	out := append(slices.Clone(values), "something-else", "0")
	for _, v := range values {
		if n, err := strconv.Atoi(v); err == nil {
			out = append(out, strconv.Itoa(n+1), strconv.Itoa(max(n-1, 0)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
