package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Text renders the result for people and for comparison. Launches are in planning order, equal ones merged; a launch shows its
// cheapest instance type, how many others fit, the requirements of its pods beyond those of the pool ("where"), the labels that the node gets beyond those of the template ("labels"), what NodeOverlays
// changed about its instance types ("overlaid"), and which devices the pods' claims get there, and from which drivers of the
// node ("devices", "drivers").
//
//	launch default: c-2x-amd64-linux (or 23 others) $0.0378/h, 3 pods: web (3)
//	  requests cpu 1500m, memory 768Mi, pods 3
//	  where topology.kubernetes.io/zone In [test-zone-a]
//	place node-1: web (2)
//	refuse web (1)
//	  default: no instance type has enough resources
//	ignore web (1): node selector term with matchFields is not supported
//	skip spare: it is not ready: KWOKNodeClass "spare" does not exist
//	leave out cheap: conflict with another overlay
//	leave out DaemonSet default/agent: no node of default could hold its pods
//	total 1 node, $0.0378/h
func (r Result) Text() string {
	var blocks tally
	for _, c := range r.Plan.NodeClaims {
		blocks.add(r.launch(c))
	}
	var b strings.Builder
	for _, text := range blocks.order {
		times := ""
		if n := blocks.count[text]; n > 1 {
			times = fmt.Sprintf(" x%d", n)
		}
		b.WriteString(strings.Replace(text, timesMark, times, 1))
	}
	for _, p := range r.Plan.Placements {
		fmt.Fprintf(&b, "place %s: %s\n", nodeName(p.Node), r.group(p.Pods))
		if len(p.Devices) > 0 {
			fmt.Fprintf(&b, "  devices %s\n", devices(p.Devices))
		}
	}
	for _, refusal := range r.refusals() {
		fmt.Fprintf(&b, "refuse %s\n%s", r.group(refusal.pods), refusal.why)
	}
	r.writeIgnored(&b)
	if len(r.Plan.Undecided) > 0 {
		fmt.Fprintf(&b, "undecided %s\n", r.group(r.Plan.Undecided))
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "skip %s: %s\n", s.Name, s.Why)
	}
	for _, o := range r.IgnoredOverlays {
		if !o.Unmatched {
			fmt.Fprintf(&b, "leave out %s: %s\n", o.Name, o.Why)
		}
	}
	for _, o := range r.Plan.OmittedDaemons {
		fmt.Fprintf(&b, "leave out DaemonSet %s/%s: no node of %s could hold its pods\n", o.DaemonSet.Namespace, o.DaemonSet.Name, strings.Join(o.Pools, ", "))
	}
	for _, u := range r.UnresolvedBuffers {
		fmt.Fprintf(&b, "leave out %s: %s\n", u.Owner, u.Why)
	}
	fmt.Fprintf(&b, "total %s, $%.4f/h\n", plural(len(r.Plan.NodeClaims), "node"), r.Plan.Price())
	return b.String()
}

// timesMark is replaced by the number of equal launches.
const timesMark = "\x00"

// tally counts equal texts in order of first appearance.
type tally struct {
	order []string
	count map[string]int
}

func (t *tally) add(text string) {
	if t.count == nil {
		t.count = map[string]int{}
	}
	if t.count[text] == 0 {
		t.order = append(t.order, text)
	}
	t.count[text]++
}

func (r Result) launch(c solve.NodeClaim) string {
	var b strings.Builder
	others := ""
	if n := len(c.InstanceTypes) - 1; n > 0 {
		others = fmt.Sprintf(" (or %s)", plural(n, "other"))
	}
	fmt.Fprintf(&b, "launch %s%s: %s%s $%.4f/h, %s: %s\n", c.Pool, timesMark, c.InstanceTypes[0], others, c.Price,
		plural(len(c.Pods), "pod"), r.group(c.Pods))
	fmt.Fprintf(&b, "  requests %s\n", r.amounts(c.Requests))
	if overlaid := overlaid(c); overlaid != "" {
		fmt.Fprintf(&b, "  overlaid %s\n", overlaid)
	}
	if len(c.Devices) > 0 {
		fmt.Fprintf(&b, "  devices %s\n", devices(c.Devices))
	}
	if len(c.Drivers) > 0 {
		fmt.Fprintf(&b, "  drivers %s\n", strings.Join(c.Drivers, ", "))
	}
	if narrowed := r.Narrowed(c); len(narrowed) > 0 {
		fmt.Fprintf(&b, "  where %s\n", narrowed)
	}
	var labels []string
	for key, value := range r.Labels(c) {
		labels = append(labels, key+"="+value)
	}
	if len(labels) > 0 {
		slices.Sort(labels)
		fmt.Fprintf(&b, "  labels %s\n", strings.Join(labels, ", "))
	}
	return b.String()
}

// overlaid describes what NodeOverlays changed about the candidates of a claim.
func overlaid(c solve.NodeClaim) string {
	var parts []string
	if c.PriceOverlaid {
		parts = append(parts, "price")
	}
	if c.CapacityOverlaid {
		parts = append(parts, "capacity")
	}
	return strings.Join(parts, ", ")
}

// Labels is the labels that the claim's node gets beyond those of its pool's template.
func (r Result) Labels(c solve.NodeClaim) map[string]string {
	out := map[string]string{}
	for key, value := range c.Labels {
		if r.templates[c.Pool][key] != value {
			out[key] = value
		}
	}
	return out
}

// Narrowed are the requirements of the claim beyond those of its pool. Instance types are left out, and so are capacity types
// unless there is one: they follow from the rest.
func (r Result) Narrowed(c solve.NodeClaim) requirement.Set {
	var pool *model.Pool
	for _, p := range r.Problem.Pools {
		if p.Name == c.Pool {
			pool = p
		}
	}
	var out requirement.Set
	for _, have := range c.Requirements {
		implied := have.Key == corev1.LabelInstanceTypeStable || have.Key == v1.CapacityTypeLabelKey && have.Len() > 1
		if !implied && (!pool.Requirements.Has(have.Key) || !pool.Requirements.Get(have.Key).Equal(have)) {
			out = append(out, have)
		}
	}
	return out
}

// amounts lists resources by name, the number of pods last.
func (r Result) amounts(v resource.Vector) string {
	type amount struct{ name, text string }
	var list []amount
	for i, n := range v {
		if n != 0 && i != resource.Pods && i < len(r.Problem.Resources) {
			list = append(list, amount{r.Problem.Resources[i], resource.Format(i, n)})
		}
	}
	slices.SortFunc(list, func(a, b amount) int { return strings.Compare(a.name, b.name) })
	list = append(list, amount{"pods", resource.Format(resource.Pods, v.At(resource.Pods))})
	parts := make([]string, len(list))
	for i, a := range list {
		parts[i] = a.name + " " + a.text
	}
	return strings.Join(parts, ", ")
}

type refused struct {
	pods []*model.Pod
	why  string
}

// refusals merges pods that are unschedulable for the same reasons.
func (r Result) refusals() []refused {
	var out []refused
	for _, u := range r.Plan.Unschedulable {
		var b strings.Builder
		for _, why := range u.Reasons {
			b.WriteString("  ")
			if why.Pool != "" {
				b.WriteString(why.Pool + ": ")
			}
			b.WriteString(why.Headline() + "\n")
			if detail := why.Detail(); detail != "" {
				b.WriteString("    " + detail + "\n")
			}
		}
		i := slices.IndexFunc(out, func(known refused) bool { return known.why == b.String() })
		if i < 0 {
			out, i = append(out, refused{why: b.String()}), len(out)
		}
		out[i].pods = append(out[i].pods, u.Pods...)
	}
	return out
}

func (r Result) writeIgnored(b *strings.Builder) {
	byWhy := map[string][]*model.Pod{}
	for _, p := range r.Rejected {
		byWhy[p.Rejected] = append(byWhy[p.Rejected], p)
	}
	lines := make([]string, 0, len(byWhy))
	for why, pods := range byWhy {
		lines = append(lines, fmt.Sprintf("ignore %s: %s\n", r.group(pods), why))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}

// group counts pods by workload: "api (2), web (3)".
func (r Result) group(pods []*model.Pod) string {
	count := map[string]int{}
	for _, p := range pods {
		count[r.Owner(p).String()]++
	}
	parts := make([]string, 0, len(count))
	for _, name := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", name, count[name]))
	}
	return strings.Join(parts, ", ")
}

func nodeName(n *model.Node) string {
	if n.NodeName == "" {
		return "nodeclaim " + n.ClaimName
	}
	return n.NodeName
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
