package forecast

import (
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// recordSkipped records the nodes that consolidation does not consider although its policy would let it. What no set of nodes contains is considered by
// itself.
func recordSkipped(r *run, m disrupt.Method, obstacles []disrupt.Obstacle) {
	if m.Reason != disrupt.Underutilized || m.Search == disrupt.CandidateSets {
		return
	}
	for _, o := range obstacles {
		if o.Node != nil && held(o.Code) != "" {
			r.skipped[o.Node.Name] = o.Code
		}
	}
}

// recordConsidered records the nodes that consolidation has considered.
func recordConsidered(r *run, m disrupt.Method, fit []disrupt.Candidate) {
	if m.Reason != disrupt.Underutilized || m.Search == disrupt.CandidateSets {
		return
	}
	for _, c := range fit {
		if _, skipped := r.skipped[c.Node.Name]; !skipped {
			r.considered[c.Node.Name] = true
		}
	}
}

// recordAnnotated records the nodes that consolidation does not consider because of their annotation.
func recordAnnotated(r *run, excluded []disrupt.Obstacle, pools map[string]disrupt.Pool) {
	for _, o := range excluded {
		if o.Code != disrupt.NodeProtected {
			continue
		}
		if pool := pools[o.Node.Pool]; !pool.Static && !pool.ConsolidationDisabled {
			r.skipped[o.Node.Name] = o.Code
		}
	}
}

// held describes nodes that an obstacle keeps from being considered; empty for obstacles that say what consolidation found, or that it is not
// meant for the node.
func held(code disrupt.Code) string {
	switch code {
	case disrupt.PodProtected:
		return "with pods that have the annotation karpenter.sh/do-not-disrupt"
	case disrupt.PDBBlocked, disrupt.SeveralPDBs:
		return "with pods that PodDisruptionBudgets do not allow to evict"
	case disrupt.NodeProtected:
		return "with the annotation karpenter.sh/do-not-disrupt"
	}
	if code.OfBudgets() {
		return "in NodePools whose budgets allow no further disruption"
	}
	return ""
}

// noteSkipped says which nodes consolidation did not consider at the end: nothing is known about what it would find.
func noteSkipped(r *run) {
	byCause := map[string][]string{}
	for _, name := range sortedKeys(r.skipped) {
		if r.considered[name] {
			continue
		}
		cause := held(r.skipped[name])
		byCause[cause] = append(byCause[cause], name)
	}
	var causes []string
	for _, cause := range sortedKeys(byCause) {
		names := byCause[cause]
		causes = append(causes, nodes(len(names), cause, cause)+" ("+listed(names)+")")
	}
	if len(causes) > 0 {
		r.note("consolidation does not consider %s: whether they could be removed or replaced otherwise is not known", strings.Join(causes, ", "))
	}
}
