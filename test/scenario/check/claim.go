package check

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// claim checks one launch: it must be valid whichever of its instance types and offerings the cloud selects.
func (j *judge) claim(name string, c Claim) {
	pool := c.Object.Labels[v1.NodePoolLabelKey]
	if len(c.Pods) == 0 {
		j.fail("%s of pool %s is for no pod", name, pool)
	}
	if _, usable := j.Types[pool]; !usable {
		j.fail("%s is of pool %q, which cannot launch", name, pool)
		return
	}
	listed := j.listed(c.Object, pool)
	if len(listed) == 0 {
		j.fail("%s of pool %s lists no instance type", name, pool)
	}
	j.minValues(name, j.pools[pool], listed)
	for _, r := range c.Object.Spec.Requirements {
		if r.MinValues != nil && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) < *r.MinValues {
			j.fail("%s requires %d values of %s and lists %v: the API server would refuse it", name, *r.MinValues, r.Key, r.Values)
		}
	}
	low := map[string]float64{}
	for _, t := range listed {
		if price, ok := j.launched(name, c, t); ok {
			low[t.Name] = price
		}
	}
	best := j.cheapest(j.pools[pool], listed, low)
	if math.Abs(best-c.Price) > 1e-9 || math.Abs(low[c.Cheapest]-best) > 1e-9 {
		j.fail("%s names %s for $%v; the cheapest choice costs $%v", name, c.Cheapest, c.Price, best)
	}
	if what, ok := short(j.beyondDevices(sum(j.podsOf(c.Pods)), c.Object.Spec.Resources.Requests), c.Object.Spec.Resources.Requests); ok {
		j.fail("%s requests less than its pods: %s", name, what)
	}
}

// cheapest is the least price of the types that would be launched: exotic ones only if there are no others, or for minValues.
func (j *judge) cheapest(pool *v1.NodePool, listed []*cloud.InstanceType, low map[string]float64) float64 {
	usual, any := math.Inf(1), math.Inf(1)
	for _, t := range listed {
		price, ok := low[t.Name]
		if !ok {
			continue
		}
		any = min(any, price)
		if !t.Exotic {
			usual = min(usual, price)
		}
	}
	if math.IsInf(usual, 1) || slices.ContainsFunc(pool.Spec.Template.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool { return r.MinValues != nil }) {
		return any
	}
	return usual
}

// minValues checks that the listed types have as many different values as minValues of the pool requires.
func (j *judge) minValues(name string, pool *v1.NodePool, listed []*cloud.InstanceType) {
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if r.MinValues == nil || j.FewerValues {
			continue
		}
		values := map[string]bool{}
		for _, t := range listed {
			for _, have := range t.Requirements {
				for _, value := range have.Values {
					if have.Key == r.Key && have.Operator == corev1.NodeSelectorOpIn && allows(r, map[string]string{r.Key: value}) {
						values[value] = true
					}
				}
			}
		}
		if len(values) < *r.MinValues {
			j.fail("%s has %d values of %s, minValues of its pool is %d", name, len(values), r.Key, *r.MinValues)
		}
	}
}

// listed are the instance types that the claim names.
func (j *judge) listed(c *v1.NodeClaim, pool string) []*cloud.InstanceType {
	var out []*cloud.InstanceType
	for _, r := range c.Spec.Requirements {
		if r.Key != corev1.LabelInstanceTypeStable || r.Operator != corev1.NodeSelectorOpIn {
			continue
		}
		for _, name := range r.Values {
			found := false
			for _, t := range j.Types[pool] {
				if t.Name == name {
					out, found = append(out, t), true
				}
			}
			if !found {
				j.fail("instance type %q is listed and does not exist", name)
			}
		}
	}
	return out
}

// launched checks the claim as one instance type and returns the least that it costs.
func (j *judge) launched(name string, c Claim, t *cloud.InstanceType) (price float64, ok bool) {
	pods := j.podsOf(c.Pods)
	price = math.Inf(1)
	tooSmall := "no available offering meets its requirements"
	for _, m := range Candidates(t, c.Object.Labels, c.Object.Spec.Taints) {
		if !Allowed(c.Object.Spec.Requirements, m.Node.Labels) {
			continue
		}
		if what, over := short(j.beyondDevices(sum(append(j.daemonsOn(m.Node, m.Allocatable), pods...)), m.Allocatable), m.Allocatable); over {
			tooSmall = "too small: " + what
			continue
		}
		beside := j.startingOn(m.Node, m.Allocatable)
		if what, clash := samePort(append(slices.Clip(beside), pods...)); clash {
			j.fail("%s as %s: %s", name, t.Name, what)
		}
		price = min(price, m.Price)
		if pool := j.pools[c.Object.Labels[v1.NodePoolLabelKey]]; !Allowed(pool.Spec.Template.Spec.Requirements, m.Node.Labels) {
			j.fail("%s as %s does not meet the requirements of its pool", name, t.Name)
		}
		for _, pod := range pods {
			if !matchesNode(pod, m.Node) {
				j.fail("%s as %s in %s (%s): pod %s may not run there", name, t.Name, m.Node.Labels[corev1.LabelTopologyZone],
					m.Node.Labels[v1.CapacityTypeLabelKey], pod.Name)
			}
			if !j.volumesUsable(pod, m.Node) {
				j.fail("%s as %s in %s: pod %s cannot use its volumes there", name, t.Name, m.Node.Labels[corev1.LabelTopologyZone], pod.Name)
			}
			at := &plannedNode{name: name, options: []map[string]string{m.Node.Labels}}
			for _, d := range beside {
				if j.mayViolate(pod, at, d, at) {
					j.fail("%s as %s: pod %s and DaemonSet %s violate anti-affinity", name, t.Name, pod.Name, d.Name)
				}
			}
			if !tolerates(pod, m.Node.Spec.Taints) {
				j.fail("%s: pod %s does not tolerate its taints", name, pod.Name)
			}
		}
	}
	if math.IsInf(price, 1) {
		j.fail("%s lists %s: %s", name, t.Name, tooSmall)
		return 0, false
	}
	return price, true
}

// limits checks the limits of pools that launch, with every claim launched as the largest type that it lists.
func (j *judge) limits() {
	for name, pool := range j.pools {
		if len(pool.Spec.Limits) == 0 {
			continue
		}
		total := j.existing(name)
		launches := false
		for _, c := range j.Claims {
			if c.Object.Labels[v1.NodePoolLabelKey] != name {
				continue
			}
			launches = true
			add(total, Largest(j.listed(c.Object, name)))
		}
		for r, limit := range pool.Spec.Limits {
			if have := total[r]; launches && have.Cmp(limit) > 0 {
				j.fail("pool %s may grow to %s %s, beyond its limit %s", name, have.String(), r, limit.String())
			}
		}
	}
}

// Largest is the maximum of every resource over the types, and one node.
func Largest(list []*cloud.InstanceType) corev1.ResourceList {
	out := corev1.ResourceList{v1.ResourceNodes: *resource.NewQuantity(1, resource.DecimalSI)}
	for _, t := range list {
		for name, q := range t.Capacity {
			if have := out[name]; q.Cmp(have) > 0 {
				out[name] = q
			}
		}
	}
	return out
}
