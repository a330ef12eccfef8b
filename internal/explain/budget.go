package explain

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// Budget is one of a NodePool's budgets.
type Budget struct {
	// Nodes is as it is written; Reasons are all where the list is null.
	Nodes   string   `json:"nodes"`
	Reasons []string `json:"reasons"`
	// InForce is set unless its window is closed; Changes is when that changes.
	InForce bool       `json:"inForce"`
	Changes *time.Time `json:"changes,omitempty"`
	// Allowed is how many nodes at a time that is now.
	Allowed int    `json:"allowed"`
	Error   string `json:"error,omitempty"`
}

// Disrupting is a node that counts against the budgets, and why.
type Disrupting struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// budgets are those of a NodePool, in its order.
func (s *analysis) budgets(pool *v1.NodePool) []Budget {
	now := s.Options.Now
	usage := disrupt.Usages(s.view.Snapshot, nil, "")[pool.Name]
	var out []Budget
	for i := range pool.Spec.Disruption.Budgets {
		budget := &pool.Spec.Disruption.Budgets[i]
		b := Budget{Nodes: budget.Nodes}
		for _, r := range budget.Reasons {
			b.Reasons = append(b.Reasons, string(r))
		}
		allowed, err := budget.Allowed(now, usage.Nodes)
		if err == nil {
			var changes time.Time
			if b.InForce, err = budget.Active(now); err == nil {
				if changes, err = budget.Changes(now); err == nil && !changes.IsZero() {
					b.Changes = &changes
				}
			}
		}
		if err != nil {
			b.Error = err.Error()
		}
		if b.InForce {
			b.Allowed = allowed
		}
		out = append(out, b)
	}
	return out
}

// tightest is the budget of a NodePool that allows least for a reason now; false when none is in force for it.
func (s *analysis) tightest(pool *v1.NodePool, reason disrupt.Reason) (tightest Budget, ok bool) {
	for i, b := range s.budgets(pool) {
		if !b.InForce || !pool.Spec.Disruption.Budgets[i].AppliesTo(v1.DisruptionReason(reason)) {
			continue
		}
		if !ok || b.Allowed < tightest.Allowed {
			tightest, ok = b, true
		}
	}
	return tightest, ok
}

// disrupting are the nodes of a NodePool that count against its budgets.
func (s *analysis) disrupting(pool string) []Disrupting {
	var out []Disrupting
	for _, n := range s.nodes(pool) {
		switch {
		case !n.Initialized && !n.Rebooting || n.InstanceTerminating:
		case n.Deleting:
			why := "it is being deleted"
			if held := heldBy(s, n); held != nil {
				why += ", and its drain waits: " + held.Message
			}
			out = append(out, Disrupting{n.Name, why})
		case n.Rebooting:
			out = append(out, Disrupting{n.Name, "it is rebooting"})
		case !n.Ready:
			out = append(out, Disrupting{n.Name, "it is not ready"})
		case s.underWay[n.ID] != "":
			out = append(out, Disrupting{n.Name, "the controller is disrupting it (" + s.underWay[n.ID] + ")"})
		}
	}
	return out
}

func (b Budget) text() string {
	text := b.Nodes
	if b.Reasons != nil {
		text += " for " + strings.Join(b.Reasons, ", ")
	}
	switch {
	case b.Error != "":
		return text + " cannot be read: " + b.Error
	case b.InForce && b.Changes != nil:
		return text + fmt.Sprintf(": %d at a time, until %s", b.Allowed, b.Changes.Format(time.RFC3339))
	case b.InForce:
		return text + fmt.Sprintf(": %d at a time", b.Allowed)
	case b.Changes != nil:
		return text + " is not in force before " + b.Changes.Format(time.RFC3339)
	}
	return text + " is never in force"
}
