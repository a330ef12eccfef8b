package screen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/karpenter-anew/karpenter/internal/explain"
	forecast "github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/simulation/report"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// noon is when everything in tests happens.
func noon() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

// fakeSource answers with a generated fleet, or with an error.
type fakeSource struct {
	nodes   int
	err     error
	changes chan uint64
	reads   map[tab]int
	unknown []string
	// failure is why the cluster could not be read again.
	failure string
}

func (f *fakeSource) head(kind string) view.Head {
	unknown := f.unknown
	if unknown == nil {
		unknown = []string{}
	}
	return view.Head{Version: view.Version, Kind: kind, At: noon(), Revision: 7, Origin: "test", Failure: f.failure, Unknown: unknown}
}

func (f *fakeSource) count(t tab) error {
	if f.reads == nil {
		f.reads = map[tab]int{}
	}
	f.reads[t]++
	return f.err
}

func pointer[T any](v T) *T { return &v }

// node is one node of the fleet; all kinds of nodes come up among 12 in a row.
func (f *fakeSource) node(i int) view.Node {
	states := []view.State{view.Ready, view.Ready, view.Blocked, view.Ready, view.Launching, view.Ready, view.Starting, view.Draining, view.Ready, view.Disrupting, view.NotReady, view.Ready}
	types := []string{"m5.large", "c6i.2xlarge", "r6g.16xlarge"}
	n := view.Node{
		Name: fmt.Sprintf("ip-10-0-%d-%d.eu-west-1.compute.internal", i/250, i%250), NodeClaim: fmt.Sprintf("web-%05d", i), NodePool: []string{"web", "batch-spot"}[i%2],
		InstanceType: types[i%3], Zone: fmt.Sprintf("eu-west-1%c", 'a'+rune(i%3)), CapacityType: []string{"on-demand", "spot"}[i%2],
		State: states[i%12], PricePerHour: pointer(0.096 * float64(1+i%3*7)), Created: noon().Add(-time.Duration(i*i+1) * time.Minute),
		Allocatable: view.Amounts{CPU: 1930 << (i % 3), Memory: 7 << 30 << (i % 3), Pods: 58},
		Requested:   &view.Amounts{CPU: 1930 << (i % 3) * int64(i%11) / 10, Memory: 7 << 30 << (i % 3) * int64((i*3)%10) / 10, Pods: int64(i % 30)},
		Labels:      map[string]string{"team": []string{"shop", "search"}[i%2], "kubernetes.io/arch": "amd64"},
	}
	switch i % 12 {
	case 2:
		n.Reason, n.Obstacle = "Drifted", "do-not-disrupt-pod"
	case 3:
		n.NodeClaim, n.NodePool, n.CapacityType, n.PricePerHour = "", "", "", nil
	case 4:
		n.Name, n.Requested = n.NodeClaim, nil
	case 9:
		n.Reason = "Underutilized"
	}
	return n
}

func (f *fakeSource) Fleet(context.Context, time.Time) (view.Fleet, error) {
	if err := f.count(nodesTab); err != nil {
		return view.Fleet{}, err
	}
	out := view.Fleet{Head: f.head("Fleet"), Nodes: []view.Node{}}
	out.Totals = view.Totals{States: map[view.State]int{}, Requested: &view.Amounts{}, Pending: 15}
	for i := range f.nodes {
		n := f.node(i)
		out.Nodes = append(out.Nodes, n)
		t := &out.Totals
		t.Nodes++
		t.States[n.State]++
		t.Allocatable.CPU += n.Allocatable.CPU
		t.Allocatable.Memory += n.Allocatable.Memory
		if n.Requested != nil {
			t.Requested.CPU += n.Requested.CPU
			t.Requested.Memory += n.Requested.Memory
		}
		if n.PricePerHour == nil {
			t.UnknownPrices++
		} else {
			t.PricePerHour += *n.PricePerHour
		}
	}
	return out, nil
}

func (f *fakeSource) Node(_ context.Context, name string, _ time.Time) (view.NodeDetail, error) {
	if f.err != nil {
		return view.NodeDetail{}, f.err
	}
	for i := range f.nodes {
		n := f.node(i)
		if n.Name != name && n.NodeClaim != name {
			continue
		}
		d := view.NodeDetail{Head: f.head("Node"), Node: n, Life: []ledger.Record{}}
		d.Pods = []view.Pod{
			{Namespace: "shop", Name: "web-1", Workload: "Deployment shop/web", Requests: view.Amounts{CPU: 1000, Memory: 1 << 30}, Created: noon().Add(-time.Hour)},
			{Namespace: "kube-system", Name: "proxy-x", Requests: view.Amounts{CPU: 100, Memory: 64 << 20}, Created: noon().Add(-3 * time.Hour), Daemon: true},
		}
		d.Why = &view.Why{Reason: "provisioned", At: noon().Add(-4 * time.Hour), Pods: ledger.NamesOf([]string{"shop/web-1"})}
		d.Explanation = &explain.Node{
			Name: n.Name, NodeClaim: n.NodeClaim, NodePool: n.NodePool, PricePerHour: n.PricePerHour, PodsToMove: 1,
			Verdicts: []explain.Verdict{{Reason: "Underutilized", Wanted: true, Now: true, Plan: &explain.Plan{Decision: "delete", SavesPerHour: pointer(0.096)}}},
		}
		for _, phase := range []ledger.Phase{ledger.Created, ledger.Launched} {
			d.Life = append(d.Life, ledger.Record{
				Kind: ledger.KindNodeClaim, Time: noon().Add(-4 * time.Hour),
				NodeClaim: &ledger.NodeClaimEvent{Event: phase, NodeClaimState: ledger.NodeClaimState{Name: n.NodeClaim}},
			})
		}
		return d, nil
	}
	return view.NodeDetail{}, fmt.Errorf("node %q: %w", name, view.ErrNotFound)
}

func (f *fakeSource) Pending(context.Context, time.Time) (view.Pending, error) {
	if err := f.count(pendingTab); err != nil {
		return view.Pending{}, err
	}
	return view.Pending{
		Head: f.head("Pending"),
		Groups: []view.PendingGroup{
			{
				State: explain.Refused, Pods: []string{"shop/huge-1", "shop/huge-2"}, Workloads: []string{"Deployment shop/huge"}, Oldest: noon().Add(-25 * time.Minute),
				Fate: report.Fate{Outcome: report.Refused, Reasons: []report.Reason{
					{NodePool: "web", Code: "resources", Message: "no instance type is large enough", Detail: "needs 900 cpu", Help: "allow larger instance types"},
					{NodePool: "batch-spot", Code: "taints", Message: "the pod does not tolerate the taint batch", Help: "add a toleration"},
				}},
			},
			{
				State: explain.Pending, Pods: []string{"shop/web-9"}, Workloads: []string{"Deployment shop/web"}, Oldest: noon().Add(-5 * time.Second),
				Fate: report.Fate{Outcome: report.Launched, Launch: &report.Launch{InstanceType: "m5.large", NodePool: "web", PricePerHour: 0.096}},
			},
			{
				State: explain.Idle, Pods: []string{"shop/later"}, Workloads: []string{}, Oldest: noon().Add(-50 * time.Hour),
				Fate: report.Fate{Outcome: report.NothingToDo, Message: "its scheduling gates are not removed"},
			},
		},
		Planned: []view.PlannedNode{
			{NodeClaim: "web-00004", NodePool: "web", InstanceTypes: ledger.NamesOf([]string{"m5.large", "m6i.large"}), PricePerHour: pointer(0.096), Pods: ledger.NamesOf([]string{"shop/web-8"})},
			{NodePool: "web", InstanceTypes: ledger.NamesOf([]string{"m5.large"}), Pods: ledger.NamesOf([]string{"shop/web-9"})},
		},
	}, nil
}

func (f *fakeSource) Moves(context.Context, time.Time) (view.Moves, error) {
	if err := f.count(movesTab); err != nil {
		return view.Moves{}, err
	}
	return view.Moves{
		Head: f.head("Moves"),
		Commands: []view.Command{
			{State: view.Proposed, Reason: "Underutilized", Decision: "replace", Nodes: []string{"ip-10-0-0-1", "ip-10-0-0-5", "ip-10-0-0-8"}, NodePools: []string{"web"}, Replacements: []string{"m5.large"}, Pods: 11, SavesPerHour: pointer(0.31)},
			{ID: "4f1c", State: view.UnderWay, Reason: "Drifted", Decision: "replace", Nodes: []string{"ip-10-0-0-9"}, NodePools: []string{"web"}, Replacements: []string{"web-00004"}, Pods: 3, SavesPerHour: pointer(0.0), Decided: pointer(noon().Add(-40 * time.Second)), Started: pointer(noon().Add(-25 * time.Second)), WaitsFor: "replacements to be initialized: web-00004"},
			{ID: "09aa", State: view.Failed, Reason: "Empty", Decision: "delete", Nodes: []string{"ip-10-0-0-2"}, NodePools: []string{"batch-spot"}, Replacements: []string{}, Decided: pointer(noon().Add(-2 * time.Hour)), Ended: pointer(noon().Add(-119 * time.Minute)), Error: "the node got pods"},
		},
		Plans: []view.Plan{{
			Name: "drifted-19ab4", Phase: "Voided", Reason: "Drifted", Decision: "replace", Policy: "ask", Nodes: []string{"ip-10-0-0-3"}, NodePools: []string{"web"},
			Changed: noon().Add(-time.Hour), By: "ann", Why: "the node is gone",
		}},
		Pools: []view.Budgets{{
			NodePool: "web", Nodes: 30, Budgets: []explain.Budget{{Nodes: "10%", InForce: true, Allowed: 3}},
			Allowances: []explain.Allowance{{Reason: "Drifted", Allowed: pointer(3), Disrupting: 1, Remaining: 2}, {Reason: "Empty"}},
			Disrupting: []explain.Disrupting{{Node: "ip-10-0-0-9", Why: "it is being deleted"}},
		}},
	}, nil
}

func (f *fakeSource) Cost(context.Context, time.Time) (view.Cost, error) {
	if err := f.count(costTab); err != nil {
		return view.Cost{}, err
	}
	out := view.Cost{
		Head: f.head("Cost"), Now: view.Priced{Nodes: 30, PricePerHour: 20, UnknownPrices: 2},
		ByNodePool:     []view.Priced{{Name: "web", Nodes: 15, PricePerHour: 12}, {Name: "batch-spot", Nodes: 13, PricePerHour: 8}, {Nodes: 2, UnknownPrices: 2}},
		ByZone:         []view.Priced{{Name: "eu-west-1a", Nodes: 30, PricePerHour: 20, UnknownPrices: 2}},
		ByCapacityType: []view.Priced{{Name: "on-demand", Nodes: 15, PricePerHour: 12}, {Name: "spot", Nodes: 13, PricePerHour: 8}},
		ByInstanceType: []view.Priced{{Name: "m5.large", Nodes: 28, PricePerHour: 20}},
		Bound:          &view.Bound{Packed: 16, Least: 15.5, GapPercent: 3.1, Unplaced: 2},
		Savings:        []view.Saved{{Reason: "Underutilized", PerHour: 1.5, Dollars: 31.25, Commands: 4, Unpriced: 1}},
		Workloads:      []view.WorkloadCost{{Workload: "Deployment shop/web", Pods: 9, PricePerHour: 4.5}},
	}
	for i := range 100 {
		out.Series = append(out.Series, view.Point{At: noon().Add(time.Duration(i-100) * time.Hour), PricePerHour: float64(15 + (i/10)%6)})
	}
	return out, nil
}

func (f *fakeSource) Pools(context.Context, time.Time) (view.Pools, error) {
	if err := f.count(poolsTab); err != nil {
		return view.Pools{}, err
	}
	return view.Pools{Head: f.head("Pools"), Pools: []view.Pool{
		{
			NodePool: explain.NodePool{
				Name: "web", Launches: true, Nodes: 15, PricePerHour: pointer(12.0), UnpricedNodes: 1,
				Usage:      []explain.Usage{{Resource: "cpu", Used: "60", Limit: "100"}, {Resource: "memory", Used: "200Gi"}},
				Disruption: []explain.Outlook{{Reason: "Underutilized", Possible: 4, Now: 2}}, Allowances: []explain.Allowance{{Reason: "Underutilized", Allowed: pointer(2)}},
			},
			Weight: 10, NodeClass: "EC2NodeClass default", Drifted: 1, Conditions: []view.Condition{{Type: "Ready", Status: "True", Since: noon().Add(-48 * time.Hour)}},
			Unavailable: []view.Offering{{InstanceType: "m5.large", Zone: "eu-west-1a", CapacityType: "spot", Until: pointer(noon().Add(3 * time.Minute)), Why: "insufficient capacity"}}, UnavailableCount: 61,
		},
		{NodePool: explain.NodePool{Name: "batch-spot", Message: "its limit of cpu is reached", Help: "raise the limit", Nodes: 13}, NodeClass: "EC2NodeClass default"},
	}}, nil
}

func (f *fakeSource) Edit(context.Context, []byte) (forecast.Diff, error) {
	return forecast.Diff{}, errors.New("top edits nothing")
}

func (f *fakeSource) Manifests(context.Context) ([]byte, error) {
	return nil, errors.New("top edits nothing")
}

func (f *fakeSource) Timeline(context.Context) (view.Timeline, error) {
	return view.Timeline{Head: f.head("Timeline")}, nil
}

func (f *fakeSource) Changes(context.Context) <-chan uint64 { return f.changes }
