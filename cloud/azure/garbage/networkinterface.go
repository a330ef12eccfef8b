// Package garbage deletes network interfaces that neither an instance nor a NodeClaim has: those of failed launches, and those that Azure
// did not delete with their virtual machine. Garbage collection of instances is the same on every cloud and in package nodeclaim of the
// controllers.
//
// Source: Azure provider specification, garbage collection.
package garbage

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Instances are the virtual machines with their network interfaces; instance.Client has them.
type Instances interface {
	List(context.Context) (found []*instance.Instance, complete bool, err error)
	ListNICs(context.Context) (names []string, complete bool, err error)
	DeleteNIC(ctx context.Context, name string) error
}

// NetworkInterfaces deletes network interfaces.
type NetworkInterfaces struct {
	Instances Instances
	// Client reads NodeClaims.
	Client client.Reader
}

// Collect deletes those that there are now. One that cannot be deleted is logged: Azure keeps the network interface of a virtual machine that
// is gone for some three minutes, and the next call tries again. Nothing is deleted if a list is not complete.
func (n *NetworkInterfaces) Collect(ctx context.Context) error {
	// NodeClaims come last: a launch that begins meanwhile has a NodeClaim before it has a network interface.
	names, complete, err := n.Instances.ListNICs(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	instances, all, err := n.Instances.List(ctx)
	if err != nil {
		return err
	}
	if !complete || !all {
		return errors.New("not all instances and network interfaces can be read; the log names those")
	}
	claims := &v1.NodeClaimList{}
	if err := n.Client.List(ctx, claims); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	owners := make([]string, len(claims.Items))
	for i := range claims.Items {
		owners[i] = claims.Items[i].Name
	}
	for _, name := range instance.OrphanNICs(names, instances, owners) {
		if err := n.Instances.DeleteNIC(ctx, name); err != nil {
			observe.Log(ctx).InfoContext(ctx, "cannot delete a network interface without an instance yet", logfield.Value(name), logfield.Error(err))
			continue
		}
		observe.Log(ctx).InfoContext(ctx, "deleted a network interface without an instance", logfield.Value(name))
	}
	return nil
}
