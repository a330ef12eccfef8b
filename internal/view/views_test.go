package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/internal/view"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// noon is the time of these tests, on a Friday.
func noon() time.Time { return time.Date(2026, time.January, 2, 12, 0, 0, 0, time.UTC) }

// fixed is a cluster that changes only when its state is replaced.
type fixed struct {
	state view.ClusterState
	mu    sync.Mutex
}

func (f *fixed) State(context.Context) (view.ClusterState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state, nil
}

// shop is the cluster of examples/explain/shop.yaml.
func shop(t *testing.T) *fixed {
	t.Helper()
	f, err := os.Open("../../examples/explain/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := scenariorun.Reader(t).Read("shop.yaml", f)
	if err != nil {
		t.Fatal(err)
	}
	vendor, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &fixed{state: view.ClusterState{Objects: m.Objects, Version: 1, Cloud: vendor, Options: simulation.Options{Now: noon()}, Origin: "shop", Unknown: []string{"the memory of the controller"}}}
}

// eventually asks for the fleet until the engine has answered.
func eventually(ctx context.Context, t *testing.T, v *view.Views) view.Fleet {
	t.Helper()
	if _, err := v.Moves(ctx, time.Time{}); err != nil { // waits for the engine
		t.Fatal(err)
	}
	fleet, err := v.Fleet(ctx, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return fleet
}

func TestFleet(t *testing.T) {
	fleet := eventually(t.Context(), t, view.New(shop(t), nil, clock.RealClock{}))
	if fleet.Version != "v1" || fleet.Kind != "Fleet" || fleet.Past || fleet.Origin != "shop" || !slices.Equal(fleet.Unknown, []string{"the memory of the controller"}) {
		t.Errorf("%+v", fleet.Head)
	}
	if len(fleet.Nodes) != 2 || fleet.Totals.Nodes != 2 || fleet.Totals.Pending != 5 {
		t.Fatalf("%+v", fleet.Totals)
	}
	n := fleet.Nodes[1]
	if n.Name != "node-2" || n.NodeClaim != "web-2" || n.NodePool != "web" || n.InstanceType != "c-4x-amd64-linux" || n.CapacityType != "on-demand" || n.PricePerHour == nil {
		t.Errorf("%+v", n)
	}
	if n.Reason != "Empty" || n.Obstacle != "" || n.State != view.Ready {
		t.Errorf("an empty node that can be deleted has reason %q, obstacle %q and state %s", n.Reason, n.Obstacle, n.State)
	}
	if first := fleet.Nodes[0]; first.Requested.CPU != 3000 || first.Requested.Memory != 1<<30 || first.Requested.Pods != 1 || first.Allocatable.CPU != 4000 {
		t.Errorf("%+v", first)
	}
	if fleet.Totals.Requested.CPU != 3000 || fleet.Totals.PricePerHour <= *n.PricePerHour || fleet.Totals.States[view.Ready] != 2 {
		t.Errorf("%+v", fleet.Totals)
	}
}

func TestNodeByEitherName(t *testing.T) {
	v := view.New(shop(t), nil, clock.RealClock{})
	for _, name := range []string{"node-1", "web-1"} {
		n, err := v.Node(t.Context(), name, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if n.Name != "node-1" || len(n.Pods) != 1 || n.Pods[0].Requests.CPU != 3000 || n.Explanation == nil || n.Explanation.PodsToMove != 1 || n.Life == nil {
			t.Errorf("%s: %+v", name, n)
		}
		if !strings.Contains(strings.Join(n.Unknown, "\n"), "there is no ledger") {
			t.Errorf("%s does not say that its life is not known: %q", name, n.Unknown)
		}
	}
	if _, err := v.Node(t.Context(), "node-9", time.Time{}); !errors.Is(err, view.ErrNotFound) {
		t.Errorf("a node that does not exist: %v", err)
	}
}

func TestPendingGroupsPodsByReason(t *testing.T) {
	p, err := view.New(shop(t), nil, clock.RealClock{}).Pending(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]explain.State{}
	for _, g := range p.Groups {
		for _, pod := range g.Pods {
			states[pod] = g.State
		}
	}
	want := map[string]explain.State{"default/gated": explain.Idle, "default/odd": explain.Refused, "shop/huge": explain.Refused, "shop/medium": explain.Pending, "shop/small": explain.Nominated}
	for pod, state := range want {
		if states[pod] != state {
			t.Errorf("pod %s is %q, want %q", pod, states[pod], state)
		}
	}
	if len(states) != len(want) {
		t.Errorf("groups have %d pods: %v", len(states), states)
	}
	for _, g := range p.Groups {
		if slices.Contains(g.Pods, "shop/huge") && (len(g.Fate.Reasons) == 0 || g.Fate.Reasons[0].Help == "") {
			t.Errorf("it is not said what would help: %+v", g.Fate)
		}
	}
}

func TestMovesPoolsAndCost(t *testing.T) {
	v := view.New(shop(t), nil, clock.RealClock{})
	moves, err := v.Moves(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(moves.Commands) != 1 || moves.Commands[0].State != view.Proposed || moves.Commands[0].Reason != "Empty" || !slices.Equal(moves.Commands[0].Nodes, []string{"node-2"}) ||
		moves.Commands[0].SavesPerHour == nil {
		t.Errorf("%+v", moves.Commands)
	}
	pools, err := v.Pools(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pools.Pools) != len(moves.Pools) || pools.Pools[len(pools.Pools)-1].Name != "web" || pools.Pools[len(pools.Pools)-1].Nodes != 2 || pools.Pools[0].NodeClass == "" {
		t.Errorf("%+v", pools.Pools)
	}
	cost, err := v.Cost(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if cost.Now.Nodes != 2 || len(cost.ByNodePool) != 1 || cost.ByNodePool[0].PricePerHour != cost.Now.PricePerHour || len(cost.Workloads) == 0 {
		t.Errorf("%+v", cost)
	}
	if cost.Bound == nil && !strings.Contains(strings.Join(cost.Unknown, "\n"), "bound") {
		t.Errorf("the bound is missing without a word: %q", cost.Unknown)
	}
	text, err := v.Manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m, err := scenariorun.Reader(t).Read("manifests", strings.NewReader(string(text))); err != nil || len(m.Objects) != len(pools.Pools)+1 || strings.Contains(string(text), "status:") {
		t.Errorf("the manifests cannot be applied again: %v\n%s", err, text)
	}
}

// TestChangesAreSent: a new state has another revision, the same state has not.
func TestChangesAreSent(t *testing.T) {
	c := shop(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		changes := view.New(c, nil, clock.RealClock{}).Changes(ctx)
		first := <-changes
		time.Sleep(10 * time.Second) // of the bubble: no real time passes
		synctest.Wait()
		select {
		case again := <-changes:
			t.Errorf("revision %d is sent although nothing has changed", again)
		default:
		}
		c.mu.Lock()
		c.state.Version++
		c.mu.Unlock()
		if second := <-changes; second == first {
			t.Errorf("the revision of a new state is %d, too", second)
		}
		cancel()
		for range changes {
		}
	})
}

// removal is a ledger of a fleet of two nodes, the second of which is removed. Its moments are minutes after noon.
func removal() ledger.Memory {
	now := noon()
	l := ledger.New(func() time.Time { return now }, 1<<20, nil)
	l.Begin(ledger.Start{Run: "r"}, nil, 1)
	price, saving := 0.5, 0.5
	claim := func(name string) ledger.NodeClaimState {
		return ledger.NodeClaimState{
			Name: name, UID: name, Node: "node-" + name, NodePool: "web", InstanceType: "c-4x-amd64-linux", Zone: "zone-a", CapacityType: "spot", Price: &price,
			Allocatable: map[string]string{"cpu": "4", "memory": "8Gi", "pods": "20"},
		}
	}
	event := func(at time.Duration, r ledger.Record) {
		now = noon().Add(at)
		l.Append(r)
	}
	old := claim("a")
	old.Phase = ledger.Initialized
	event(0, ledger.Record{Kind: ledger.KindFleet, Fleet: &ledger.Fleet{Part: 1, Parts: 1, NodeClaims: []ledger.NodeClaimState{old}}})
	event(time.Minute, ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{
		Event: ledger.Created, NodeClaimState: ledger.NodeClaimState{Name: "b", NodePool: "web"}, Reason: "provisioned", Pods: &ledger.Names{Count: 1, First: []string{"shop/x"}},
	}})
	event(2*time.Minute, ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{Event: ledger.Launched, NodeClaimState: claim("b")}})
	event(3*time.Minute, ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{Event: ledger.Initialized, NodeClaimState: claim("b")}})
	event(4*time.Minute, ledger.Record{Kind: ledger.KindDisruption, Disruption: &ledger.Disruption{Commands: []ledger.Command{{
		ID: "c1", Reason: "Empty", Decision: "delete", Nodes: []ledger.NodeClaimState{claim("b")}, Pods: 3, SavingsPerHour: saving,
	}}}})
	event(5*time.Minute, ledger.Record{Kind: ledger.KindCommand, Command: &ledger.CommandEvent{
		ID: "c1", Reason: "Empty", Decision: "delete", Outcome: ledger.CommandStarted, Nodes: []string{"node-b"}, NodeClaims: []string{"b"}, NodePools: []string{"web"},
	}})
	event(6*time.Minute, ledger.Record{Kind: ledger.KindCommand, Command: &ledger.CommandEvent{ID: "c1", Reason: "Empty", Decision: "delete", Outcome: ledger.CommandSucceeded}})
	event(6*time.Minute, ledger.Record{Kind: ledger.KindSaving, Saving: &ledger.Saving{Event: ledger.SavingClaimed, Command: "c1", Reason: "Empty", PerHour: &saving, MaxSeconds: 86400}})
	event(7*time.Minute, ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{Event: ledger.Deleted, NodeClaimState: ledger.NodeClaimState{Name: "b"}}})
	event(66*time.Minute, ledger.Record{Kind: ledger.KindProvisioning, Provisioning: &ledger.Provisioning{Pods: 2, Unschedulable: []ledger.Unschedulable{{
		Pods: ledger.Names{Count: 2, First: []string{"shop/y", "shop/z"}}, Reasons: []ledger.PoolReason{{NodePool: "web", Code: "NoInstanceType", Text: "none is large enough"}},
	}}}})
	return ledger.Memory{Ledger: l}
}

func TestPast(t *testing.T) {
	v := view.New(shop(t), removal(), clock.RealClock{})
	for _, tt := range []struct {
		minute int
		states string
		state  view.CommandState
	}{
		{0, "node-a ready", ""},
		{1, "b launching node-a ready", ""},
		{2, "node-a ready node-b launching", ""},
		{3, "node-a ready node-b ready", ""},
		{4, "node-a ready node-b ready", view.Waiting},
		{5, "node-a ready node-b disrupting", view.UnderWay},
		{6, "node-a ready node-b ready", view.Succeeded},
		{7, "node-a ready", view.Succeeded},
	} {
		at := noon().Add(time.Duration(tt.minute) * time.Minute)
		fleet, err := v.Fleet(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		var states []string
		for _, n := range fleet.Nodes {
			states = append(states, n.Name+" "+string(n.State))
			if n.Requested != nil {
				t.Errorf("the past knows what node %s held", n.Name)
			}
		}
		if got := strings.Join(states, " "); got != tt.states || !fleet.Past || !fleet.At.Equal(at) || len(fleet.Unknown) == 0 || fleet.Revision != 0 {
			t.Errorf("minute %d: %q, want %q; %+v", tt.minute, got, tt.states, fleet.Head)
		}
		moves, err := v.Moves(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if tt.state == "" && len(moves.Commands) > 0 || tt.state != "" && (len(moves.Commands) != 1 || moves.Commands[0].State != tt.state || moves.Commands[0].Pods != 3) {
			t.Errorf("minute %d: %+v", tt.minute, moves.Commands)
		}
	}
	if _, err := v.Fleet(t.Context(), noon().Add(-time.Minute)); !errors.Is(err, view.ErrNotFound) || !strings.Contains(err.Error(), "2026-01-02T12:00:00Z") {
		t.Errorf("before the first record: %v", err)
	}
}

func TestPastOfNodeCostAndPending(t *testing.T) {
	v := view.New(shop(t), removal(), clock.RealClock{})
	n, err := v.Node(t.Context(), "node-b", noon().Add(3*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if n.Why == nil || n.Why.Reason != "provisioned" || n.Why.Pods.Count != 1 || !n.Created.Equal(noon().Add(time.Minute)) || len(n.Life) != 3 || n.Allocatable.Memory != 8<<30 {
		t.Errorf("%+v", n)
	}
	late := noon().Add(66 * time.Minute)
	cost, err := v.Cost(t.Context(), late)
	if err != nil {
		t.Fatal(err)
	}
	if len(cost.Savings) != 1 || cost.Savings[0].PerHour != 0.5 || cost.Savings[0].Dollars != 0.5 || cost.Savings[0].Commands != 1 {
		t.Errorf("an hour of $0.5/h saves %+v", cost.Savings)
	}
	highest := 0.0
	for i, p := range cost.Series {
		highest = max(highest, p.PricePerHour)
		if i > 0 && !p.At.After(cost.Series[i-1].At) {
			t.Errorf("point %d is at %s, after %s", i, p.At, cost.Series[i-1].At)
		}
	}
	if n := len(cost.Series); n == 0 || n > 1000 || highest != 1 || cost.Series[n-1].PricePerHour != 0.5 || cost.Series[n-1].ByNodePool["web"] != 0.5 {
		t.Errorf("%d points, the highest of $%v/h", n, highest)
	}
	pending, err := v.Pending(t.Context(), late)
	if err != nil {
		t.Fatal(err)
	}
	if len(pending.Groups) != 1 || !slices.Equal(pending.Groups[0].Pods, []string{"shop/y", "shop/z"}) || pending.Groups[0].Fate.Reasons[0].Code != "NoInstanceType" {
		t.Errorf("%+v", pending.Groups)
	}
	line, err := v.Timeline(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if line.From == nil || !line.From.Equal(noon()) || !line.To.Equal(late) || len(line.Moments) != 4 || len(line.Gaps) != 0 {
		t.Errorf("%+v", line)
	}
}

// damaged is a ledger of which a part cannot be read.
type damaged struct{ ledger.Memory }

func (d damaged) Read(ctx context.Context, f ledger.Filter) ([]json.RawMessage, ledger.Coverage, error) {
	lines, cover, err := d.Memory.Read(ctx, f)
	cover.Unreadable, cover.Lost = []string{"1.ledger: skipping the rest"}, 7
	return lines, cover, err
}

func TestDamageOfTheLedgerIsUnknown(t *testing.T) {
	v := view.New(shop(t), damaged{removal()}, clock.RealClock{})
	line, err := v.Timeline(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	past, err := v.Fleet(t.Context(), noon())
	if err != nil {
		t.Fatal(err)
	}
	for _, unknown := range [][]string{line.Unknown, past.Unknown} {
		if text := strings.Join(unknown, "\n"); !strings.Contains(text, "1.ledger: skipping the rest") || !strings.Contains(text, "7 records") {
			t.Errorf("it does not say what of the ledger is missing: %s", text)
		}
	}
}

func TestDocumentsByName(t *testing.T) {
	d := view.DocumentsOf(view.New(shop(t), removal(), clock.RealClock{}))
	for name, kind := range map[string]string{
		"fleet": "view.Fleet", "pending": "view.Pending", "moves": "view.Moves", "cost": "view.Cost", "pools": "view.Pools", "node": "view.NodeDetail", "timeline": "view.Timeline",
	} {
		shown, err := d.Document(t.Context(), name, "node-1", time.Time{})
		if got := fmt.Sprintf("%T", shown); err != nil || got != kind {
			t.Errorf("%s is a %s: %v", name, got, err)
		}
	}
	if _, err := d.Document(t.Context(), "nodes", "", time.Time{}); !errors.Is(err, view.ErrNotFound) {
		t.Errorf("a view that does not exist: %v", err)
	}
	if _, err := d.Document(t.Context(), "timeline", "", noon()); !errors.Is(err, view.ErrInvalid) || !strings.Contains(err.Error(), "leave out at") {
		t.Errorf("the time line of a moment: %v", err)
	}
	if _, err := d.Edit(t.Context(), nil); !errors.Is(err, view.ErrInvalid) || !strings.Contains(err.Error(), "karpenter diff") {
		t.Errorf("an edit where none is compared: %v", err)
	}
}

// TestTheEngineRests: where a state says so, its answers about an earlier one are used for a while, and say that.
func TestTheEngineRests(t *testing.T) {
	c := shop(t)
	c.state.Rest = time.Minute
	v := view.New(c, nil, clock.RealClock{})
	analyzed := func() (time.Time, string) {
		t.Helper()
		p, err := v.Pending(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		return p.At, strings.Join(p.Unknown, "\n")
	}
	if _, unknown := analyzed(); strings.Contains(unknown, "as of") {
		t.Errorf("the first answer: %s", unknown)
	}
	next := func(after time.Duration) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.state.Version++
		c.state.Options.Now = c.state.Options.Now.Add(after)
	}
	next(59 * time.Second)
	if at, unknown := analyzed(); !at.Equal(noon().Add(59*time.Second)) || !strings.Contains(unknown, "newer pending pods: this is as of 2026-01-02T12:00:00Z") {
		t.Errorf("within the rest, at %s: %s", at, unknown)
	}
	next(time.Second)
	if _, unknown := analyzed(); strings.Contains(unknown, "as of") {
		t.Errorf("after the rest: %s", unknown)
	}
}
