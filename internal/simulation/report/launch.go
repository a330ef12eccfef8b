package report

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// launches merges nodes that differ only in the names of their pods.
func (b reporter) launches() []Launch {
	out := []Launch{}
	at := map[string]int{}
	for _, c := range b.Plan.NodeClaims {
		l := b.launch(c)
		key := identity(l)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, l)
		}
		out[i].Count++
		out[i].Nodes = append(out[i].Nodes, Node{Pods: ids(c.Pods), Devices: devices(c.Devices)})
	}
	return out
}

// identity is equal for nodes that may be shown as one.
func identity(l Launch) string {
	// Every value of a launch can be encoded.
	text, _ := json.Marshal(l)
	return string(text)
}

// launch describes the node of a claim, without count and pods.
func (b reporter) launch(c solve.NodeClaim) Launch {
	l := Launch{
		NodePool:     c.Pool,
		InstanceType: c.InstanceTypes[0],
		Alternatives: append([]string{}, c.InstanceTypes[1:]...),
		PricePerHour: dollars(c.Price),
		Requests:     amounts(c.Requests, b.Problem.Resources),
		Requirements: entries(b.Narrowed(c)),
		Labels:       b.Labels(c),
		Workloads:    b.workloads(c.Pods),
	}
	offers := b.offers(c)
	l.Zones, l.CapacityTypes = values(offers, corev1.LabelTopologyZone), values(offers, v1.CapacityTypeLabelKey)
	return l
}

// offers are the ways to buy the first instance type of a claim at the claim's price.
func (b reporter) offers(c solve.NodeClaim) []requirement.Set {
	var out []requirement.Set
	for _, o := range b.offerings(c) {
		if o.Price == c.Price && c.Requirements.Intersects(o.Requirements) {
			out = append(out, o.Requirements)
		}
	}
	return out
}

func (b reporter) offerings(c solve.NodeClaim) []catalog.Offering {
	for _, pool := range b.Problem.Pools {
		if pool.Name != c.Pool {
			continue
		}
		for _, t := range pool.Catalog {
			if t.Name == c.InstanceTypes[0] {
				return slices.DeleteFunc(slices.Clone(t.Offerings), func(o catalog.Offering) bool {
					return !o.Launchable() || !c.Requests.Fits(t.Groups[o.Group].Allocatable)
				})
			}
		}
	}
	return nil
}

// values are the values of a label over offers, sorted.
func values(offers []requirement.Set, key string) []string {
	seen := map[string]bool{}
	for _, o := range offers {
		if !o.Has(key) {
			continue
		}
		for _, v := range o.Get(key).Values() {
			seen[v] = true
		}
	}
	out := make([]string, 0, len(seen))
	return append(out, slices.Sorted(maps.Keys(seen))...)
}

// quantities reads amounts that are written as a JSON object.
func quantities(text string) map[string]string {
	out := map[string]string{}
	// The engine writes the text; an empty one leaves the map empty.
	_ = json.NewDecoder(strings.NewReader(text)).Decode(&out)
	return out
}
