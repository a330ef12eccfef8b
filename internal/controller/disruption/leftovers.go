package disruption

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// clean removes marks from nodes that no command holds and that are neither rebooting nor being deleted. Such marks are left by a process that ended
// during a command, or by a command that abandoned nodes; this makes both safe. held are the nodes of commands that are being carried
// out at the time of the call.
//
// The reason for the disruption of a rebooting node stays until the reboot has ended: evictions are counted by it.
//
// Source: disruption specification, the loop, clean up leftovers.
func (m *marker) clean(ctx context.Context, v view, held func() map[string]bool) error {
	var stray []*model.Node
	for _, n := range v.snapshot.Nodes.Sorted() {
		if n.Managed && n.NodeName != "" && !n.Deleting && !n.Rebooting && !v.running[n.ID] && v.marked(n) {
			stray = append(stray, n)
		}
	}
	if len(stray) == 0 {
		return nil
	}
	errs := forEach(ctx, m.turns, stray, func(n *model.Node) error {
		if held()[n.ID] {
			return nil
		}
		m.log.Info("removing leftover disruption marks", logfield.Node(n.NodeName), logfield.NodeClaim(n.ClaimName))
		return m.unmark(ctx, n)
	})
	return errors.Join(errs...)
}

// marked reports whether the node has a mark to remove.
func (v view) marked(n *model.Node) bool {
	if node := v.nodes[n.NodeName]; node != nil && disrupted(node) && node.DeletionTimestamp.IsZero() {
		return true
	}
	claim := v.claims[n.ClaimName]
	return claim != nil && n.Initialized && meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeDisruptionReason) != nil
}
