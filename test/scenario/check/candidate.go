package check

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Candidate is a node that an instance type may become, with one of its offerings.
type Candidate struct {
	Node *corev1.Node
	// Allocatable is what pods may request there, Price is that of the offering in dollars per hour.
	Allocatable corev1.ResourceList
	Price       float64
}

// Candidates are all nodes that an instance type may become with the given labels and any available offering. A label for which the type
// allows several values gives one candidate per value.
func Candidates(t *cloud.InstanceType, labels map[string]string, taints []corev1.Taint) []Candidate {
	var out []Candidate
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if !o.Available || o.CapacityType() == v1.CapacityTypeReserved && o.ReservationCapacity <= 0 {
			continue
		}
		fixed := map[string]string{
			"karpenter.sh/registered":  "true",
			"karpenter.sh/initialized": "true",
			corev1.LabelHostname:       "an-unknown-name",
		}
		maps.Copy(fixed, labels)
		choices := map[string][]string{}
		for _, r := range t.Requirements {
			if r.Operator == corev1.NodeSelectorOpIn {
				choices[r.Key] = r.Values
			}
		}
		for _, r := range o.Requirements {
			delete(choices, r.Key)
			if r.Operator == corev1.NodeSelectorOpIn {
				choices[r.Key] = r.Values
			}
		}
		for _, labels := range product(fixed, choices) {
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: taints}}
			node.Name, node.Labels = labels[corev1.LabelHostname], withOldNames(labels)
			out = append(out, Candidate{Node: node, Allocatable: t.AllocatableOf(o), Price: o.Price})
		}
	}
	return out
}

// product is base with every combination of choices.
func product(base map[string]string, choices map[string][]string) []map[string]string {
	out := []map[string]string{base}
	for _, key := range slices.Sorted(maps.Keys(choices)) {
		var next []map[string]string
		for _, have := range out {
			for _, value := range choices[key] {
				with := maps.Clone(have)
				with[key] = value
				next = append(next, with)
			}
		}
		out = next
	}
	return out
}

// withOldNames adds the deprecated labels that kubelets and clouds keep.
func withOldNames(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	for old, current := range map[string]string{
		"failure-domain.beta.kubernetes.io/zone":   corev1.LabelTopologyZone,
		"failure-domain.beta.kubernetes.io/region": corev1.LabelTopologyRegion,
		"beta.kubernetes.io/arch":                  corev1.LabelArchStable,
		"beta.kubernetes.io/os":                    corev1.LabelOSStable,
		"beta.kubernetes.io/instance-type":         corev1.LabelInstanceTypeStable,
	} {
		if value, ok := labels[current]; ok {
			out[old] = value
		}
	}
	return out
}

// allows reports whether a node with these labels meets a requirement.
func allows(r v1.NodeSelectorRequirementWithMinValues, labels map[string]string) bool {
	value, present := labels[r.Key]
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return present && slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return !present || !slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpExists:
		return present
	case corev1.NodeSelectorOpDoesNotExist:
		return !present
	}
	n, err := strconv.ParseInt(value, 10, 64)
	bound, boundErr := strconv.ParseInt(strings.Join(r.Values, ""), 10, 64)
	if !present || err != nil || boundErr != nil {
		return false
	}
	switch r.Operator {
	case corev1.NodeSelectorOpGt:
		return n > bound
	case corev1.NodeSelectorOpLt:
		return n < bound
	case v1.NodeSelectorOpGte:
		return n >= bound
	case v1.NodeSelectorOpLte:
		return n <= bound
	}
	return false
}

// Allowed reports whether a node with these labels meets all requirements.
func Allowed(list []v1.NodeSelectorRequirementWithMinValues, labels map[string]string) bool {
	return !slices.ContainsFunc(list, func(r v1.NodeSelectorRequirementWithMinValues) bool { return !allows(r, labels) })
}

// matchesNode reports whether the pod's node selector and required affinity accept the node.
func matchesNode(pod *corev1.Pod, node *corev1.Node) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return ok && err == nil
}

// tolerates reports whether the pod tolerates the NoSchedule and NoExecute taints. Tolerations may compare numbers.
func tolerates(pod *corev1.Pod, taints []corev1.Taint) bool {
	_, repelled := schedulingcorev1.FindMatchingUntoleratedTaint(klog.Background(), taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, true)
	return !repelled
}

// sum is what pods request together, one "pods" each.
func sum(pods []*corev1.Pod) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, pod := range pods {
		requests := podresource.PodRequests(pod, podresource.PodResourcesOptions{UseStatusResources: true})
		requests[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
		add(total, requests)
	}
	return total
}

func add(total, more corev1.ResourceList) {
	for name, q := range more {
		have := total[name]
		have.Add(q)
		total[name] = have
	}
}

// short is the first requested resource, by name, with insufficient capacity.
func short(asked, room corev1.ResourceList) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		q, have := asked[name], room[name]
		if q.Sign() > 0 && q.Cmp(have) > 0 {
			return string(name) + " " + q.String() + " of " + have.String(), true
		}
	}
	return "", false
}

// startingOn are those of daemonsOn that no running pod keeps away from the node.
func (j *judge) startingOn(node *corev1.Node, allocatable corev1.ResourceList) []*corev1.Pod {
	return slices.DeleteFunc(j.daemonsOn(node, allocatable), func(d *corev1.Pod) bool { return j.keptAway(d, node) })
}

// daemonsOn are the DaemonSet pods that would run on the node with this capacity: those that fit together, in the order of the
// list.
func (j *judge) daemonsOn(node *corev1.Node, allocatable corev1.ResourceList) []*corev1.Pod {
	var out []*corev1.Pod
	for _, d := range j.daemons {
		if !tolerates(d, node.Spec.Taints) || !matchesNode(d, node) {
			continue
		}
		if _, over := short(sum(append(slices.Clip(out), d)), allocatable); !over {
			out = append(out, d)
		}
	}
	return out
}
