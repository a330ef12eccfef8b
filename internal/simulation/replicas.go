package simulation

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// UnplannedReplicas says which static pools among objects have fewer NodeClaims than replicas: a plan is about pods, and leaves them out.
func UnplannedReplicas(objects []client.Object) []string {
	have := map[string]int64{}
	for _, o := range objects {
		if claim, ok := o.(*v1.NodeClaim); ok && claim.DeletionTimestamp == nil {
			have[claim.Labels[v1.NodePoolLabelKey]]++
		}
	}
	var out []string
	for _, o := range objects {
		pool, ok := o.(*v1.NodePool)
		if !ok || pool.Spec.Replicas == nil || have[pool.Name] >= *pool.Spec.Replicas {
			continue
		}
		out = append(out, fmt.Sprintf("NodePool %q is static and lacks %d of %d replicas: their nodes are not part of the plan, and pods of the plan may fit there; "+
			"--disruption forecasts them", pool.Name, *pool.Spec.Replicas-have[pool.Name], *pool.Spec.Replicas))
	}
	return out
}
