package disruption

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/bookkeeper"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// fullPeriod is the time between two records of passes that name all nodes that are left alone.
const fullPeriod = time.Hour

// told is what the records of passes have said so far. Only the loop accesses it.
type told struct {
	// obstacles are those of the last record, by method.
	obstacles map[string][]disrupt.Obstacle
	// full is when a record last named all nodes.
	full time.Time
	// decided are the obstacles that each method itself found when it last decided.
	decided map[string][]disrupt.Obstacle
}

// leave notes the nodes that a method leaves alone, for the record of the pass. decided are the obstacles that it found itself; known is set
// if it did not decide, because nothing has changed since it last did.
func (pl *planner) leave(p *pass, method string, obstacles, decided []disrupt.Obstacle, known bool) {
	if pl.Books == nil {
		return
	}
	if known {
		decided = pl.told.decided[method]
	} else {
		pl.told.decided[method] = decided
	}
	p.left[method] = append(slices.Clip(obstacles), decided...)
}

// recordPass records a pass in the ledger.
func (pl *planner) recordPass(p *pass, failed error) {
	if pl.Books == nil {
		return
	}
	record := &ledger.Disruption{
		Pass:  ledger.Pass{Input: pl.inputHash(p), Snapshot: p.snapshot.Version},
		Nodes: p.snapshot.Nodes.Len(), Candidates: len(p.candidates), Commands: p.commands,
	}
	delta := 0.0
	for _, c := range p.commands {
		delta -= c.SavingsPerHour
	}
	record.Cost = pl.Books.FleetCost(delta, 0)
	if failed != nil {
		record.Error = failed.Error()
	}
	record.Full = pl.told.full.IsZero() || p.now.Sub(pl.told.full) >= fullPeriod
	record.LeftAlone = leftAlone(pl.told.obstacles, p.left, record.Full)
	pl.told.obstacles = p.left
	if record.Full {
		pl.told.full = p.now
	}
	record.Seconds = pl.Books.Since(p.now)
	pl.Books.Append(ledger.Record{Kind: ledger.KindDisruption, Disruption: record})
}

// inputHash is the hash of the input of a pass: the version of the snapshot, the pools with their generations, the lists of instance types,
// and what is left alone because of commands and failures. PodDisruptionBudgets are not part of it.
func (pl *planner) inputHash(p *pass) string {
	h := pl.Books.Hash()
	h.Text(name)
	h.Number(p.snapshot.Version)
	for _, pool := range slices.Sorted(maps.Keys(p.pools)) {
		h.Text(pool, string(p.pools[pool].UID))
		h.Number(uint64(p.pools[pool].Generation)) //nolint:gosec // a generation is not negative
	}
	h.Text(pl.reads.prices.digest())
	for _, set := range []map[string]bool{p.inCommand, p.nodeBackoff, p.groupBackoff, p.poolBackoff} {
		h.Number(uint64(len(set)))
		h.Text(slices.Sorted(maps.Keys(set))...)
	}
	return h.String()
}

// leftAlone returns how many nodes each method leaves alone for which reason, and names those for which that is new, or all.
func leftAlone(before, now map[string][]disrupt.Obstacle, all bool) []ledger.LeftAlone {
	var out []ledger.LeftAlone
	for method, obstacles := range now {
		out = append(out, groups(method, before[method], obstacles, all)...)
	}
	slices.SortFunc(out, func(a, b ledger.LeftAlone) int {
		return cmp.Or(strings.Compare(a.Method, b.Method), strings.Compare(a.Code, b.Code))
	})
	return out
}

// groups are the obstacles of one method by code.
//
// In most passes nearly all nodes have the obstacle that they had before, in the same order: these are compared as lists. Only from the
// first difference on the codes before are looked up by node.
func groups(method string, before, now []disrupt.Obstacle, all bool) []ledger.LeftAlone {
	byCode := map[disrupt.Code]*ledger.LeftAlone{}
	var group *ledger.LeftAlone
	var codes map[string]disrupt.Code // before, by node; nil while the lists are the same
	same := func(i int) bool {
		o := &now[i]
		if codes == nil {
			if i < len(before) && before[i].Node != nil && before[i].Node.ID == o.Node.ID {
				return before[i].Code == o.Code
			}
			codes = make(map[string]disrupt.Code, len(before))
			for j := range before {
				if before[j].Node != nil {
					codes[before[j].Node.ID] = before[j].Code
				}
			}
		}
		return codes[o.Node.ID] == o.Code
	}
	for i := range now {
		o := &now[i]
		if o.Node == nil {
			continue
		}
		if group == nil || group.Code != string(o.Code) {
			if group = byCode[o.Code]; group == nil {
				group = &ledger.LeftAlone{Method: method, Code: string(o.Code)}
				byCode[o.Code] = group
			}
		}
		group.Count++
		if all || !same(i) {
			group.Nodes = append(group.Nodes, nameOf(o.Node))
		}
	}
	out := make([]ledger.LeftAlone, 0, len(byCode))
	for _, g := range byCode {
		slices.Sort(g.Nodes)
		out = append(out, *g)
	}
	return out
}

// nameOf is the name of a node in records.
func nameOf(n *model.Node) string { return cmp.Or(n.NodeName, n.ClaimName) }

// recorded is a command as records show it.
func (pl *planner) recorded(ctx context.Context, cmd command) ledger.Command {
	out := ledger.Command{
		ID: cmd.id, Method: cmd.method.Name, Reason: string(cmd.method.Reason), Decision: cmd.plan.Decision(), Pods: cmd.plan.Pods(),
		SavingsPerHour: cmd.plan.Savings(),
	}
	for _, candidate := range cmd.plan.Candidates {
		state := ledger.NodeClaimState{Name: candidate.Node.ClaimName, Node: candidate.Node.NodeName, NodePool: candidate.Node.Pool}
		if pl.Books != nil {
			state = pl.Books.State(ctx, candidate.Node)
		}
		out.Nodes = append(out.Nodes, state)
	}
	for _, claim := range cmd.plan.Replacements {
		planned := ledger.PlannedNodeClaim{
			NodePool: claim.Pool, Pods: podNames(claim), InstanceTypes: ledger.NamesOf(claim.InstanceTypes), Price: ledger.Known(claim.Price, true),
		}
		if types := claim.Requirements.Get(v1.CapacityTypeLabelKey); !types.Complement() {
			planned.CapacityTypes = types.Values()
		}
		if zones := claim.Requirements.Get(corev1.LabelTopologyZone); !zones.Complement() {
			planned.Zones = zones.Values()
		}
		out.Replacements = append(out.Replacements, planned)
	}
	if cmd.plan.Static {
		out.Replacements = []ledger.PlannedNodeClaim{{NodePool: cmd.plan.Candidates[0].Node.Pool}}
	}
	return out
}

// podNames lists the pods of a NodeClaim as namespace/name.
func podNames(claim solve.NodeClaim) ledger.Names {
	first := make([]string, min(len(claim.Pods), ledger.MaxNames))
	for i := range first {
		first[i] = claim.Pods[i].ID()
	}
	return ledger.Names{Count: len(claim.Pods), First: first}
}

// Notifier tells people what happens. Its methods return at once.
type Notifier interface {
	// Plan is called for each phase of a plan, and when an approved one begins to wait.
	Plan(plan *opsv1alpha1.DisruptionPlan)
	// Command is called for commands that need no approval. savingsPerHour is in dollars, empty if it is not known.
	Command(event *ledger.CommandEvent, savingsPerHour string)
}

// outcome records what happened to a command, and notifies of it. obstacles are why its validation failed.
func (r *reporter) outcome(cmd command, what ledger.Outcome, obstacles []disrupt.Obstacle, failed error) {
	r.plans.note(cmd, what, obstacles, failed)
	if r.books == nil && r.notifier == nil {
		return
	}
	event := &ledger.CommandEvent{
		ID: cmd.id, Method: cmd.method.Name, Reason: string(cmd.method.Reason), Decision: cmd.plan.Decision(), Outcome: what,
		NodePools: cmd.plan.Pools(), Launched: cmd.launched,
	}
	for _, candidate := range cmd.plan.Candidates {
		event.Nodes = append(event.Nodes, candidate.Node.NodeName)
		event.NodeClaims = append(event.NodeClaims, candidate.Node.ClaimName)
	}
	for _, o := range obstacles {
		event.Obstacles = append(event.Obstacles, ledger.NodeObstacle{Node: nameOf(o.Node), Code: string(o.Code), Text: o.String()})
	}
	if failed != nil {
		event.Error = failed.Error()
	}
	if r.books != nil {
		r.books.Append(ledger.Record{Kind: ledger.KindCommand, Command: event})
	}
	if r.notifier != nil && cmd.approvedBy == "" { // of others, the phases of the plan tell
		r.notifier.Command(event, dollars(problem.SavingsOf(cmd.plan), true))
	}
}

// claimSavings claims what a command saves that has succeeded. One whose nodes are replaced by what others launch claims nothing.
func (e *executor) claimSavings(ctx context.Context, cmd command) {
	if e.Books == nil || cmd.plan.Reboot || cmd.plan.TerminateFirst != "" {
		return
	}
	done := bookkeeper.Done{Command: cmd.id, Method: cmd.method.Name, Reason: string(cmd.method.Reason), Launched: cmd.launched}
	for _, candidate := range cmd.plan.Candidates {
		done.Removed = append(done.Removed, candidate.Node)
	}
	e.Books.Succeeded(ctx, done)
}
