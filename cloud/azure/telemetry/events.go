package telemetry

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// errorBytes is how much of an error of Azure an event shows: such errors have many lines.
const errorBytes = 500

// AsyncProvisioningError says that a launch failed after Azure had accepted it.
func AsyncProvisioningError(claim *v1.NodeClaim, err error) observe.Event {
	return observe.WarningEvent(claim, "AsyncProvisioningError", "Failed to register: "+condition.Truncate(err.Error(), errorBytes), string(claim.UID))
}

// maxFamilies is how many families of sizes an event names.
const maxFamilies = 3

// QuotaExceeded says that quotas prevent all nodes that a NodePool allows.
func QuotaExceeded(pool *v1.NodePool, families []string) observe.Event {
	named := "family " + strings.Join(families[:min(len(families), maxFamilies)], ", ")
	if more := len(families) - maxFamilies; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return observe.WarningEvent(pool, "QuotaExceeded",
		"No node can be launched, no quota is left for on-demand nodes of "+named+": request more quota, or allow other families or spot in the NodePool", string(pool.UID), named)
}

// NodeClassResolutionError says that the node class of a NodePool or NodeClaim does not exist or is being deleted.
func NodeClassResolutionError(object runtime.Object, uid types.UID) observe.Event {
	return observe.WarningEvent(object, "NodeClassResolutionError", "Failed resolving NodeClass", string(uid))
}

// ExampleEvents returns each event of this package once, for the reference.
func ExampleEvents(claim *v1.NodeClaim, _ *corev1.Node, pool *v1.NodePool) []observe.Event {
	return []observe.Event{
		AsyncProvisioningError(claim, errors.New("SkuNotAvailable: the size is not available in the location")),
		QuotaExceeded(pool, []string{"standardNCASv3_T4Family"}), NodeClassResolutionError(pool, pool.UID), NodeClassResolutionError(claim, claim.UID),
		observe.WaitingOnNodeClaimTermination(&v1beta1.AKSNodeClass{}, "nodeclass-uid", []string{claim.Name}),
	}
}
