package explain

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/simulation/report"
)

// NodePool is the answer about a NodePool.
type NodePool struct {
	// Version is that of the schema, Kind is NodePool.
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	// Launches is set when nodes may be launched from the NodePool for pods; otherwise Message is the reason and Help the remedy.
	Launches bool   `json:"launches"`
	Message  string `json:"message,omitempty"`
	Help     string `json:"help,omitempty"`
	// Replicas is the number of nodes of a static NodePool; null for others.
	Replicas *int64 `json:"replicas"`
	// MissingNodes is how many nodes a static NodePool lacks, those being deleted left out.
	MissingNodes int64 `json:"missingNodes,omitempty"`
	// Nodes is the number of nodes, those being deleted included. PricePerHour is what they cost in dollars, without the price of
	// UnpricedNodes of them, which is not known; null when that is all of them.
	Nodes         int      `json:"nodes"`
	PricePerHour  *float64 `json:"pricePerHour"`
	UnpricedNodes int      `json:"unpricedNodes"`
	// Usage is the capacity of the nodes that are not being deleted, by resource.
	Usage []Usage `json:"usage"`
	// Budgets are those of the NodePool, Allowances what they allow for each reason, in the order of Disruption.
	Budgets    []Budget    `json:"budgets"`
	Allowances []Allowance `json:"allowances"`
	// Disrupting are the nodes that count against the budgets.
	Disrupting []Disrupting `json:"disrupting"`
	// Excluded are the nodes that may not be disrupted for any reason but repair, by obstacle.
	Excluded []Tally `json:"excluded"`
	// Disruption is what may happen to the others, one entry for each reason; with node repair also to unhealthy nodes.
	Disruption []Outlook `json:"disruption"`
}

// Usage is an amount of one resource.
type Usage struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	// Limit is empty where there is none.
	Limit string `json:"limit,omitempty"`
}

// Outlook is how many nodes may be disrupted for one reason.
type Outlook struct {
	Reason string `json:"reason"`
	// Possible is how many nodes could be, each by itself or together with others; Now how many of them budgets allow at once. NeedApproval is how many a person has to
	// approve first: none of them counts in Now.
	Possible     int `json:"possible"`
	Now          int `json:"now"`
	NeedApproval int `json:"needApproval,omitempty"`
	// Others are the other nodes, by obstacle.
	Others []Tally `json:"others"`
}

// Tally counts nodes with the same obstacle.
type Tally struct {
	Code  string `json:"code"`
	Count int    `json:"count"`
	// Wanted is set where the reason applies to the nodes.
	Wanted bool `json:"wanted"`
	// Nodes are their names.
	Nodes []string `json:"nodes"`
	// Message is that of the first, Help is the remedy: that of the kind of obstacle if the nodes have different ones.
	Message string `json:"message"`
	Help    string `json:"help"`
}

// AboutNodePool explains a NodePool.
func AboutNodePool(ctx context.Context, q Question, name string) (NodePool, error) {
	if _, ok := find[*v1.NodePool](q.Objects, "", name); !ok {
		return NodePool{}, noObject[*v1.NodePool](q.Objects, "nodepool", name)
	}
	s, err := newAnalysis(ctx, q)
	if err != nil {
		return NodePool{}, err
	}
	return s.aboutNodePool(ctx, name)
}

func (s *analysis) aboutNodePool(ctx context.Context, name string) (NodePool, error) {
	a, err := s.standing(name)
	if err != nil || s.view.Pools[name] == nil {
		return a, err
	}
	for i, r := range s.reasons() {
		outlook, err := s.outlook(ctx, name, r)
		if err != nil {
			return NodePool{}, err
		}
		outlook.Now = min(outlook.Possible-outlook.NeedApproval, a.Allowances[i].Remaining)
		a.Disruption = append(a.Disruption, outlook)
	}
	return a, nil
}

// standing explains a NodePool without Disruption, which takes a simulation for each node.
func (s *analysis) standing(name string) (NodePool, error) {
	pool, ok := find[*v1.NodePool](s.Objects, "", name)
	if !ok {
		return NodePool{}, noObject[*v1.NodePool](s.Objects, "nodepool", name)
	}
	a := NodePool{
		Version: Version, Kind: "NodePool", Name: name, Replicas: pool.Spec.Replicas, Launches: true,
		Usage: []Usage{}, Budgets: []Budget{}, Allowances: []Allowance{}, Disrupting: []Disrupting{}, Excluded: []Tally{}, Disruption: []Outlook{},
	}
	s.readiness(&a, pool)
	if s.view.Pools[name] == nil {
		return a, nil
	}
	s.possessions(&a, pool)
	s.rights(&a, pool)
	s.exclusions(&a)
	return a, nil
}

// readiness sets whether nodes can be launched, and otherwise why not.
func (s *analysis) readiness(a *NodePool, pool *v1.NodePool) {
	for _, skipped := range s.view.Result.Skipped {
		if skipped.Name == a.Name {
			a.Launches, a.Message = false, skipped.Why
		}
	}
	for _, pool := range s.view.Result.Plan.Unlaunchable {
		if pool.Pool != a.Name {
			continue
		}
		unused := report.Unlaunchable(pool, s.view.Result.Problem.Pools)
		a.Launches, a.Message, a.Help = false, unused.Message, unused.Help
	}
	if why := replicasIgnored(s, pool); why != "" {
		a.Message = "it is static, and " + why
		a.Help = "Turn the feature gate StaticCapacity of the controller on."
	}
	if !a.Launches {
		return
	}
	if why, usedUp := s.limitsUsedUp(a.Name); usedUp {
		a.Launches, a.Message, a.Help = false, why.Headline()+", "+why.Detail(), why.Remedy()
	}
}

// replicasIgnored is why the replicas of a pool are not kept; empty if they are, and for pools without replicas. The condition counts because only
// the controller knows its feature gates where it has published no settings.
func replicasIgnored(s *analysis, pool *v1.NodePool) string {
	if pool.Spec.Replicas == nil {
		return ""
	}
	if c := meta.FindStatusCondition(pool.Status.Conditions, v1.ConditionTypeReplicasKept); c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1.ReasonStaticCapacityDisabled {
		return "its condition ReplicasKept is False: " + cmp.Or(c.Message, c.Reason)
	}
	if s.Options.IgnoreReplicas {
		return "the feature gate StaticCapacity is off: its nodes are not kept at spec.replicas"
	}
	return ""
}

// limitsUsedUp is why the limits of a pool leave nothing to launch beside its nodes as they are, before anything is planned.
func (s *analysis) limitsUsedUp(name string) (unschedulable.Reason, bool) {
	in := s.view.Result.Problem
	for _, pool := range in.Pools {
		if pool.Name == name {
			nodes := slices.DeleteFunc(slices.Clone(in.Nodes), func(n *model.Node) bool { return n.Pool != name })
			return solve.LimitsUsedUp(pool, nodes, s.view.Snapshot.Resources.Names())
		}
	}
	return unschedulable.Reason{}, false
}

// nodes are the nodes of a pool.
func (s *analysis) nodes(pool string) []*model.Node { return s.ofPool[pool] }

func (s *analysis) possessions(a *NodePool, pool *v1.NodePool) {
	var sum resource.Vector
	var dollars float64
	staying := int64(0)
	for _, n := range s.nodes(a.Name) {
		a.Nodes++
		if price := s.knownPrice(n); price != nil {
			dollars += *price
		} else {
			a.UnpricedNodes++
		}
		if !n.Deleting {
			sum = sum.Add(n.Capacity)
			staying++
		}
	}
	if a.Replicas != nil && replicasIgnored(s, pool) == "" {
		a.MissingNodes = max(*a.Replicas-staying, 0)
	}
	if a.UnpricedNodes == 0 || a.UnpricedNodes < a.Nodes {
		a.PricePerHour = &dollars
	}
	used := map[string]string{}
	for i, name := range s.view.Snapshot.Resources.Names() {
		if n := sum.At(i); n != 0 {
			used[name] = resource.Format(i, n)
		}
	}
	for name := range pool.Spec.Limits {
		if used[string(name)] == "" {
			used[string(name)] = "0"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		u := Usage{Resource: name, Used: used[name]}
		for limited, limit := range pool.Spec.Limits {
			if string(limited) == name {
				u.Limit = limit.String()
			}
		}
		a.Usage = append(a.Usage, u)
	}
}

// rights are the budgets, and what counts against them.
func (s *analysis) rights(a *NodePool, pool *v1.NodePool) {
	a.Budgets = append(a.Budgets, s.budgets(pool)...)
	for _, r := range s.reasons() {
		a.Allowances = append(a.Allowances, s.allowance(a.Name, r))
	}
	a.Disrupting = append(a.Disrupting, s.disrupting(a.Name)...)
}

// reasons are those for which nodes are disrupted, in the order of the methods: Unhealthy only with node repair, Expired only with soft expiry.
func (s *analysis) reasons() []disrupt.Reason {
	if s.Options.NodeRepair {
		return append([]disrupt.Reason{disrupt.Unhealthy}, voluntary(s)...)
	}
	return voluntary(s)
}

// voluntary are the reasons without Unhealthy.
func voluntary(s *analysis) []disrupt.Reason {
	out := disrupt.Reasons()
	if s.assessed.Operations.SoftExpiry() {
		return slices.Insert(out, slices.Index(out, disrupt.Underutilized), disrupt.Expired)
	}
	return out
}

// exclusions counts the nodes that may not be disrupted for any reason but repair.
func (s *analysis) exclusions(a *NodePool) {
	for _, n := range s.nodes(a.Name) {
		if o, barred := s.excluded[n.ID]; barred {
			a.Excluded = s.count(a.Excluded, n, o, false)
		}
	}
}

// outlook counts what may happen to the nodes of a pool for a reason, without its budgets.
func (s *analysis) outlook(ctx context.Context, pool string, reason disrupt.Reason) (Outlook, error) {
	if reason == disrupt.Unhealthy {
		return s.repairOutlook(ctx, pool)
	}
	out := Outlook{Reason: string(reason), Others: []Tally{}}
	for _, n := range s.nodes(pool) {
		c, ok := s.candidate(n.ID)
		if !ok {
			continue
		}
		command, o, wanted := s.assess(reason, c)
		if reason == disrupt.Underutilized {
			if set, ok := s.consolidatedTogether(); ok && includes(set, n) {
				command, o = set, disrupt.Obstacle{}
			}
		}
		if o.Code == "" {
			out.Possible++
			if _, asked := s.assessed.Demand(command); asked {
				out.NeedApproval++
			}
			continue
		}
		out.Others = s.count(out.Others, n, o, wanted)
	}
	return out, nil
}

// count adds a node to the tally of its obstacle.
func (s *analysis) count(tallies []Tally, n *model.Node, o disrupt.Obstacle, wanted bool) []Tally {
	i := slices.IndexFunc(tallies, func(t Tally) bool { return t.Code == string(o.Code) && t.Wanted == wanted })
	general := o.Code.Remedy()
	if i >= 0 && tallies[i].Help != general && tallies[i].Help != s.obstacle(o).Help {
		tallies[i].Help = general
	}
	if i < 0 {
		i = len(tallies)
		shown := s.obstacle(o)
		tallies = append(tallies, Tally{Code: shown.Code, Wanted: wanted, Message: shown.Message, Help: shown.Help})
	}
	tallies[i].Count++
	tallies[i].Nodes = append(tallies[i].Nodes, n.Name)
	return tallies
}
