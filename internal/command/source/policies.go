package source

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// noPlans says that the DisruptionPlans of a cluster are not known.
const noPlans = "no permission to list DisruptionPlans: which nodes wait for approval, or were part of a rejected plan, is not known"

// PolicyNotes says which OperationsPolicies among objects are not considered, and what is not known of them and of DisruptionPlans. ofSnapshot is set
// for objects of a snapshot; forbidden are the kinds that could not be listed.
func (p *Settings) PolicyNotes(objects []client.Object, ofSnapshot bool, forbidden []string) []string {
	var names []string
	approval := false
	for _, o := range objects {
		if found, ok := o.(*opsv1alpha1.OperationsPolicy); ok {
			names = append(names, fmt.Sprintf("%q", found.Name))
			approval = approval || found.Spec.Approval != nil && found.Spec.Approval.Mode != opsv1alpha1.ApprovalNever
		}
	}
	unread := slices.Contains(forbidden, snapshot.Policies)
	slices.Sort(names)
	on := p.Simulation().OperationsPolicies
	switch {
	case unread && !on:
		return []string{NoPolicies + "; the feature gate OperationsPolicy is off"}
	case unread:
		return []string{NoPolicies + ", and those of the cluster are not considered"}
	case len(names) > 0 && !on:
		return []string{fmt.Sprintf("OperationsPolicies that are not considered, because the feature gate OperationsPolicy is off: %s", strings.Join(names, ", "))}
	case approval && slices.Contains(forbidden, snapshot.Plans):
		return []string{noPlans}
	case len(names) == 0 && on && ofSnapshot:
		return []string{"the snapshot has no OperationsPolicies, although the feature gate for them is on"}
	}
	return nil
}
