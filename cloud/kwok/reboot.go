package kwok

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

var _ cloud.Rebooter = (*provider)(nil)

// Reboot implements cloud.Rebooter: the Node gets another boot ID, which is the same for the same operation. It stays ready, and its
// pods keep running.
func (p *provider) Reboot(ctx context.Context, claim *v1.NodeClaim, operationID string) error {
	if !registered(claim) {
		return fmt.Errorf("rebooting the instance of nodeclaim %q: it is not registered yet", claim.Name)
	}
	node, err := p.node(ctx, claim.Status.ProviderID)
	if err != nil {
		return err
	}
	before := node.DeepCopy()
	node.Status.NodeInfo.BootID = "kwok-" + operationID
	if err := p.client.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("rebooting node %q: %w", node.Name, err)
	}
	return nil
}
