package nodelookup

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// CountReschedulablePods counts the pods that have to be rescheduled when the NodeClaim is deleted. Without exactly one Node there are
// none.
func CountReschedulablePods(ctx context.Context, r client.Reader, claim *v1.NodeClaim) (int, error) {
	node, err := NodeOf(ctx, r, claim)
	if errors.Is(err, NotFound) || errors.Is(err, Duplicate) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pods, err := PodsOn(ctx, r, node.Name)
	if err != nil {
		return 0, fmt.Errorf("counting pods of nodeclaim %q: %w", claim.Name, err)
	}
	count := 0
	for i := range pods {
		if podrules.Reschedulable(&pods[i]) {
			count++
		}
	}
	return count, nil
}
