package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/bound"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// Extras are facts about a run that its result does not contain.
type Extras struct {
	// Settings says which settings are used, and where they are from; empty where there is no cluster.
	Settings string
	// SkippedObjects are objects that are ignored.
	SkippedObjects []string
	// Assumed are node classes and storage classes that are assumed to exist.
	Assumed []simulation.AssumedClass
	// Notes are further assumptions.
	Notes []string
	// PlanNotes returns assumptions about the instance types of launches; nil for none.
	PlanNotes func(instanceTypes []string) []string
	// DisruptionForecast is set when what disrupts the existing nodes is forecast beside the report.
	DisruptionForecast bool
}

// Build builds the report of a result.
func Build(result simulation.Result, extras Extras) Report {
	b := reporter{result}
	r := Report{
		Version:        Version,
		Launches:       b.launches(),
		Placements:     b.placements(),
		Unschedulable:  b.refusals(),
		Ignored:        b.ignored(),
		UnusedPools:    b.unusedPools(),
		SkippedObjects: append([]string{}, extras.SkippedObjects...),
	}
	r.Total = b.total(r)
	r.Notes = b.notes(r, extras)
	if extras.PlanNotes != nil {
		r.Notes = append(r.Notes, extras.PlanNotes(instanceTypes(r.Launches))...)
	}
	return r
}

// instanceTypes are the cheapest of each launch, sorted; never nil.
func instanceTypes(launches []Launch) []string {
	out := make([]string, 0, len(launches))
	for i := range launches {
		out = append(out, launches[i].InstanceType)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type reporter struct{ simulation.Result }

func (b reporter) total(r Report) Total {
	t := Total{Nodes: len(b.Plan.NodeClaims), PricePerHour: dollars(b.Plan.Price())}
	t.LowerBoundPerHour, t.Gap = b.leastPrice()
	for _, c := range b.Plan.NodeClaims {
		t.Pods.OnNewNodes += len(c.Pods)
	}
	for _, p := range b.Plan.Placements {
		t.Pods.OnExistingNodes += len(p.Pods)
	}
	for _, u := range b.Plan.Unschedulable {
		t.Pods.Unschedulable += len(u.Pods)
	}
	for _, i := range r.Ignored {
		t.Pods.Ignored += len(i.Pods)
	}
	return t
}

// dollars removes rounding errors of sums: no price has more than six decimals.
func dollars(price float64) float64 { return math.Round(price*1e6) / 1e6 }

// leastPrice is what nodes for the pods of the plan cost at least, and the part of the plan's price above it. The bound allows
// for rounding; a gap within that is none.
func (b reporter) leastPrice() (dollarsPerHour, gap float64) {
	const rounding = 1e-8
	price, least := b.Plan.Price(), bound.Of(b.Problem, b.Plan)
	if bound.Gap(price, least) < rounding {
		return dollars(price), 0
	}
	least = math.Floor(least*1e6) / 1e6
	return least, dollars(bound.Gap(dollars(price), least))
}

func (b reporter) placements() []Placement {
	out := []Placement{}
	for _, p := range b.Plan.Placements {
		out = append(out, b.placement(p))
	}
	slices.SortStableFunc(out, func(x, y Placement) int {
		return cmp.Or(strings.Compare(x.Node, y.Node), strings.Compare(x.NodeClaim, y.NodeClaim))
	})
	return out
}

func (b reporter) placement(p solve.Placement) Placement {
	return Placement{
		Node: p.Node.NodeName, NodeClaim: p.Node.ClaimName, NodePool: p.Node.Pool,
		Workloads: b.workloads(p.Pods), Pods: ids(p.Pods), Devices: devices(p.Devices),
	}
}

// refusals merges pods that are unschedulable for the same reasons.
func (b reporter) refusals() []Refusal {
	var groups grouping[unschedulable.Reasons]
	for _, u := range b.Plan.Unschedulable {
		groups.add(u.Reasons.String()+poolsOf(u.Reasons), u.Reasons, u.Pods)
	}
	out := []Refusal{}
	for _, g := range groups.list {
		out = append(out, Refusal{Workloads: b.workloads(g.pods), Pods: ids(g.pods), Reasons: b.reasons(g.value)})
	}
	return out
}

func poolsOf(reasons unschedulable.Reasons) string {
	var b strings.Builder
	for _, r := range reasons {
		b.WriteString("\x00" + r.Pool)
	}
	return b.String()
}

func (b reporter) reasons(list unschedulable.Reasons) []Reason {
	out := []Reason{}
	for _, why := range list {
		out = append(out, b.reason(why))
	}
	return out
}

func (b reporter) reason(r unschedulable.Reason) Reason {
	if i := slices.IndexFunc(b.Skipped, func(s simulation.SkippedPool) bool { return s.Name == r.Pool }); i >= 0 && r.Code == unschedulable.PoolNotUsed {
		r.Why = b.Skipped[i].Why // which has more than the controller tells pods
	}
	return Reason{
		NodePool: r.Pool, Code: string(r.Code), Message: r.Headline(), Detail: r.Detail(), Help: r.Remedy(),
		Requirements: entries(b.beyond(r.Pool, r.Requirements)), Requests: quantities(r.Resources),
	}
}

// beyond are the requirements of set beyond those of the pool.
func (b reporter) beyond(pool string, set requirement.Set) requirement.Set {
	i := slices.IndexFunc(b.Problem.Pools, func(p *model.Pool) bool { return p.Name == pool })
	if i < 0 {
		return set
	}
	own := b.Problem.Pools[i].Requirements
	return slices.DeleteFunc(slices.Clone(set), func(r requirement.Requirement) bool {
		return own.Has(r.Key) && own.Get(r.Key).Equal(r)
	})
}

// Unlaunchable describes one of the pools from which no node could be launched.
func Unlaunchable(pool solve.UnlaunchablePool, pools []*model.Pool) UnusedPool {
	if pool.MinValues {
		why := unschedulable.Reason{Code: unschedulable.MinValuesUnmet}
		return UnusedPool{Name: pool.Pool, Message: "fewer values are available than minValues requires", Help: why.Remedy()}
	}
	why := unschedulable.Reason{Code: unschedulable.PoolEmpty}
	if i := slices.IndexFunc(pools, func(p *model.Pool) bool { return p.Name == pool.Pool }); i >= 0 {
		why = unschedulable.EmptyPool(pools[i].Requirements, pools[i].Catalog)
	}
	why.UnavailableOfferings = pool.Unavailable
	message := why.Headline()
	if detail := why.Detail(); detail != "" {
		message += ", " + detail
	}
	return UnusedPool{Name: pool.Pool, Message: message, Help: why.Remedy()}
}

func (b reporter) ignored() []Ignored {
	var groups grouping[Ignored]
	for _, p := range b.Rejected {
		groups.add("rejected\x00"+p.Rejected, Ignored{Message: p.Rejected, Invalid: !p.Silent}, []*model.Pod{p})
	}
	for _, p := range b.Idle {
		groups.add("idle\x00"+p.Why, Ignored{Message: p.Why}, []*model.Pod{p.Pod})
	}
	out := []Ignored{}
	for _, g := range groups.list {
		g.value.Workloads, g.value.Pods = b.workloads(g.pods), ids(g.pods)
		out = append(out, g.value)
	}
	slices.SortStableFunc(out, func(x, y Ignored) int { return strings.Compare(x.Message, y.Message) })
	return out
}

func (b reporter) unusedPools() []UnusedPool {
	out := []UnusedPool{}
	for _, s := range b.Skipped {
		out = append(out, UnusedPool{Name: s.Name, Message: s.Why})
	}
	for _, pool := range b.Plan.Unlaunchable {
		out = append(out, Unlaunchable(pool, b.Problem.Pools))
	}
	slices.SortStableFunc(out, func(x, y UnusedPool) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// unusedBeside are the unused pools that the reasons do not name. No pool matters to a pod that requires an existing node.
func (b reporter) unusedBeside(reasons unschedulable.Reasons) []UnusedPool {
	if slices.ContainsFunc(reasons, func(r unschedulable.Reason) bool { return r.Code == unschedulable.NodeNamed }) {
		return []UnusedPool{}
	}
	return slices.DeleteFunc(b.unusedPools(), func(u UnusedPool) bool {
		return slices.ContainsFunc(reasons, func(r unschedulable.Reason) bool { return r.Pool == u.Name })
	})
}

func (b reporter) notes(r Report, extras Extras) []string {
	out := []string{}
	if extras.Settings != "" {
		out = append(out, extras.Settings)
	}
	for _, a := range extras.Assumed {
		state := "to be ready"
		if a.Kind == "StorageClass" {
			state = "to provision volumes in any zone"
		}
		out = append(out, fmt.Sprintf("%s %q is not in the input; it is assumed to exist and %s", a.Kind, a.Name, state))
	}
	for _, o := range b.Plan.OmittedDaemons {
		out = append(out, fmt.Sprintf("no instance type of NodePool %s has capacity for the pods of DaemonSet %s/%s; nodes are launched without it",
			strings.Join(o.Pools, ", "), o.DaemonSet.Namespace, o.DaemonSet.Name))
	}
	out = append(out, b.PoolWarnings...)
	for _, other := range b.OtherSchedulers {
		out = append(out, fmt.Sprintf("%s to be placed by the scheduler %q: nodes are launched for them, but kube-scheduler leaves them alone, so this scheduler has to run",
			plural(other.Pods, "pod"), other.Scheduler))
	}
	for _, g := range b.WaitingGroups {
		out = append(out, waitingGroup(g))
	}
	if !extras.DisruptionForecast {
		out = append(out, b.disruption()...)
	}
	out = append(out, extras.Notes...)
	if b.Warning != nil {
		out = append(out, "ignoring objects that cannot be read: "+strings.ReplaceAll(b.Warning.Error(), "\n", "; "))
	}
	for _, o := range b.IgnoredOverlays {
		why := o.Why
		if o.With != "" {
			why += fmt.Sprintf(": %q", o.With)
		}
		effect := "does not apply"
		if o.Unmatched {
			effect = "changes nothing"
		}
		out = append(out, fmt.Sprintf("NodeOverlay %q %s: %s", o.Name, effect, why))
	}
	for _, k := range b.Buffers {
		out = append(out, fmt.Sprintf("CapacityBuffer %q keeps capacity for future pods: %d of the pods below, placed after all others", k.Owner, len(k.Pods)))
	}
	for _, u := range b.UnresolvedBuffers {
		out = append(out, fmt.Sprintf("CapacityBuffer %q keeps no capacity: %s", u.Owner, u.Why))
	}
	if len(b.Problem.Pools)+len(b.Skipped) == 0 {
		out = append(out, "the input has no NodePool, so no node can be launched")
	}
	if pods := r.Total.Pods; pods.OnNewNodes+pods.OnExistingNodes+pods.Unschedulable+pods.Ignored == 0 {
		out = append(out, "no pod is unschedulable, so no node is needed")
	}
	return out
}

// disruption says that existing nodes are not disrupted in the simulation, and which of them would be.
func (b reporter) disruption() (notes []string) {
	if b.NodeClaims == 0 {
		return nil
	}
	for _, p := range b.Drifted {
		notes = append(notes, fmt.Sprintf("NodePool %q: its template does not match %d of %s; Karpenter replaces them, as the disruption budgets of the NodePool allow",
			p.Name, p.Drifted, plural(p.NodeClaims, "node")))
	}
	return append(notes, fmt.Sprintf("drift, consolidation, expiration and repair are not simulated; they may replace or remove %s: --disruption forecasts drift and consolidation", plural(b.NodeClaims, "existing node")))
}

// workloads counts pods by owner, sorted by namespace, name and kind.
func (b reporter) workloads(pods []*model.Pod) []Workload {
	count := map[simulation.Owner]int{}
	for _, p := range pods {
		count[b.Owner(p)]++
	}
	out := make([]Workload, 0, len(count))
	for o, n := range count {
		out = append(out, Workload{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Pods: n})
	}
	slices.SortFunc(out, func(x, y Workload) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name), strings.Compare(x.Kind, y.Kind))
	})
	return out
}

func ids(pods []*model.Pod) []string {
	out := make([]string, len(pods))
	for i, p := range pods {
		out[i] = p.ID()
	}
	return out
}

// entries renders requirements as the API writes them.
func entries(set requirement.Set) []Requirement {
	out := []Requirement{}
	for _, r := range set {
		if r.Key == hostname {
			continue
		}
		for _, e := range r.Entries() {
			out = append(out, Requirement{
				Key: e.Key, Operator: string(e.Operator), Values: append([]string{}, e.Values...), MinValues: e.MinValues,
			})
		}
	}
	return out
}

// hostname is the label by which the solver distinguishes new nodes; they have no name yet.
const hostname = requirement.HostnameLabel

// amounts renders a vector as quantities by resource name.
func amounts(v resource.Vector, names []string) map[string]string {
	out := map[string]string{}
	for i, n := range v {
		if n != 0 && i < len(names) {
			out[names[i]] = resource.Format(i, n)
		}
	}
	return out
}

// grouping collects pods under keys, in order of first appearance.
type grouping[T any] struct {
	list []group[T]
	at   map[string]int
}

type group[T any] struct {
	value T
	pods  []*model.Pod
}

func (g *grouping[T]) add(key string, value T, pods []*model.Pod) {
	if g.at == nil {
		g.at = map[string]int{}
	}
	i, ok := g.at[key]
	if !ok {
		i = len(g.list)
		g.at[key] = i
		g.list = append(g.list, group[T]{value: value})
	}
	g.list[i].pods = append(g.list[i].pods, pods...)
}
