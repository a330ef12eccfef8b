package provisioning

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// recordPass records a plan that was carried out in the ledger. created and errs are by NodeClaim of the plan.
func recordPass(p *Provisioner, in input, plan solve.Plan, created []string, errs []error) {
	if p.Books == nil {
		return
	}
	pass := &ledger.Provisioning{
		Pass: ledger.Pass{Input: inputHash(p, in), Snapshot: in.snapshot.Version},
		Pods: len(in.problem.Pods), Rejected: len(in.rejected), Nodes: len(in.problem.Nodes),
		Deferred: len(plan.Deferred), Undecided: len(plan.Undecided),
	}
	for _, pool := range in.problem.Pools {
		pass.NodePools = append(pass.NodePools, pool.Name)
	}
	launched, unpriced := 0.0, 0
	for i, claim := range plan.NodeClaims {
		planned := plannedNodeClaim(claim)
		planned.Name = created[i]
		if errs[i] != nil {
			planned.Error = errs[i].Error()
		}
		pass.NodeClaims = append(pass.NodeClaims, planned)
		switch {
		case created[i] == "":
		case planned.Price == nil:
			unpriced++
		default:
			launched += *planned.Price
		}
	}
	pass.Cost = p.Books.FleetCost(launched, unpriced)
	for _, at := range plan.Placements {
		pass.Placements = append(pass.Placements, ledger.Placement{Node: at.Node.NodeName, NodeClaim: at.Node.ClaimName, Pods: podNames(at.Pods)})
	}
	for _, r := range plan.Unschedulable {
		why := ledger.Unschedulable{Pods: podNames(r.Pods)}
		for _, reason := range r.Reasons {
			why.Reasons = append(why.Reasons, ledger.PoolReason{NodePool: reason.Pool, Code: reason.Code, Text: reason.String()})
		}
		pass.Unschedulable = append(pass.Unschedulable, why)
	}
	pass.Seconds = p.Books.Since(in.began)
	p.Books.Append(ledger.Record{Kind: ledger.KindProvisioning, Provisioning: pass})
}

// inputHash is the hash of the input of a pass: the pods to place, by UID, the version of the snapshot, and the pools with their
// generations and lists of instance types. Settings do not change during a run.
func inputHash(p *Provisioner, in input) string {
	h := p.Books.Hash()
	h.Text(name)
	h.Number(in.snapshot.Version)
	for _, pod := range in.problem.Pods {
		h.Text(pod.UID)
	}
	for _, pool := range in.problem.Pools {
		h.Text(pool.Name)
		if object := in.pools[pool.Name]; object != nil {
			h.Text(string(object.UID))
			h.Number(uint64(object.Generation)) //nolint:gosec // a generation is not negative
		}
		if len(pool.Catalog) > 0 {
			// A catalog is never changed, and made anew when the instance types change.
			h.Text(fmt.Sprintf("%p", &pool.Catalog[0]))
		}
	}
	return h.String()
}

func plannedNodeClaim(c solve.NodeClaim) ledger.PlannedNodeClaim {
	out := ledger.PlannedNodeClaim{
		NodePool: c.Pool, Pods: podNames(c.Pods), InstanceTypes: ledger.NamesOf(c.InstanceTypes), Price: ledger.Known(c.Price, true),
	}
	if types := c.Requirements.Get(v1.CapacityTypeLabelKey); !types.Complement() {
		out.CapacityTypes = types.Values()
	}
	if zones := c.Requirements.Get(corev1.LabelTopologyZone); !zones.Complement() {
		out.Zones = zones.Values()
	}
	return out
}

// podNames lists pods as namespace/name, without the virtual ones of capacity buffers.
func podNames(pods []*model.Pod) ledger.Names {
	shown := realPods(pods)
	return ledger.Names{Count: len(shown), First: ids(shown[:min(len(shown), ledger.MaxNames)])}
}
