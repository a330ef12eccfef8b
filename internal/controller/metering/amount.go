package metering

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/karpenter-anew/karpenter/internal/observe"
)

// amount is a quantity of a resource: cpu in cores, everything else in base units.
type amount struct {
	// resource is the value of the label resource_type.
	resource string
	value    float64
}

// amounts are sorted by resource, each once: names that give the same label value are added up, since two series may not have the same
// labels. They are immutable.
type amounts []amount

// usage is the requests and limits of the pods of a node, and those of its DaemonSet pods.
type usage struct {
	requests, limits, daemonRequests, daemonLimits amounts
}

func amountsOf(list corev1.ResourceList) amounts {
	out := make(amounts, 0, len(list))
	for name, quantity := range list {
		out = append(out, amount{observe.ResourceType(name), observe.ResourceValue(name, quantity)})
	}
	slices.SortFunc(out, func(a, b amount) int { return strings.Compare(a.resource, b.resource) })
	merged := out[:0]
	for _, a := range out {
		if last := len(merged) - 1; last >= 0 && merged[last].resource == a.resource {
			merged[last].value += a.value
			continue
		}
		merged = append(merged, a)
	}
	return merged
}

// requestsOf is the requests of a pod, with one of the resource pods.
func requestsOf(pod *corev1.Pod) amounts {
	return amountsOf(podresource.PodRequests(pod, podresource.PodResourcesOptions{UseStatusResources: true})).
		plus(amounts{{observe.ResourceType(corev1.ResourcePods), 1}})
}

func limitsOf(pod *corev1.Pod) amounts {
	return amountsOf(podresource.PodLimits(pod, podresource.PodResourcesOptions{UseStatusResources: true}))
}

// plus is the sum.
func (a amounts) plus(b amounts) amounts {
	return a.combine(b, func(x, y float64) float64 { return x + y })
}

// minus is a less b; resources that only b has are left out.
func (a amounts) minus(b amounts) amounts {
	out := slices.Clone(a)
	for i := range out {
		out[i].value -= b.of(out[i].resource)
	}
	return out
}

// of is the value of a resource; zero if it is not listed.
func (a amounts) of(resource string) float64 {
	at, found := slices.BinarySearchFunc(a, resource, func(x amount, name string) int { return strings.Compare(x.resource, name) })
	if !found {
		return 0
	}
	return a[at].value
}

func (a amounts) combine(b amounts, f func(x, y float64) float64) amounts {
	out := make(amounts, 0, max(len(a), len(b)))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].resource < b[0].resource:
			out, a = append(out, amount{a[0].resource, f(a[0].value, 0)}), a[1:]
		case len(a) == 0 || b[0].resource < a[0].resource:
			out, b = append(out, amount{b[0].resource, f(0, b[0].value)}), b[1:]
		default:
			out, a, b = append(out, amount{a[0].resource, f(a[0].value, b[0].value)}), a[1:], b[1:]
		}
	}
	return out
}
