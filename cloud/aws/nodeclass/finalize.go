package nodeclass

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// finalize deletes the resources of a class once no claim refers to it, and removes the finalizer. A resource that cannot be deleted keeps the class.
func (c *Controller) finalize(ctx context.Context, class *awsv1.EC2NodeClass) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(class, awsv1.TerminationFinalizer) {
		return reconcile.Result{}, nil
	}
	claims, err := c.claimsOf(ctx, class)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(claims) > 0 {
		var names []string
		for _, claim := range claims {
			names = append(names, claim.Name)
		}
		slices.Sort(names)
		c.Recorder.Publish(observe.WaitingOnNodeClaimTermination(class, class.UID, names))
		return reconcile.Result{RequeueAfter: seldom}, nil
	}
	if c.Profiles != nil && class.Spec.InstanceProfile == nil {
		if err := c.Profiles.RemoveAll(ctx, class); err != nil {
			return reconcile.Result{}, fmt.Errorf("finalizing ec2nodeclass %q: %w", class.Name, err)
		}
	}
	if err := c.Requests.Templates.RemoveAll(ctx, class.Name); err != nil {
		return reconcile.Result{}, fmt.Errorf("finalizing ec2nodeclass %q: %w", class.Name, err)
	}
	before := class.DeepCopy()
	controllerutil.RemoveFinalizer(class, awsv1.TerminationFinalizer)
	if err := c.Client.Patch(ctx, class, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return settle(err)
	}
	c.validations.Delete(class.Name)
	c.Requests.ForgetClass(class.Name)
	return reconcile.Result{}, nil
}

// claimsOf are the claims of a class.
func (c *Controller) claimsOf(ctx context.Context, class *awsv1.EC2NodeClass) ([]v1.NodeClaim, error) {
	var list v1.NodeClaimList
	if err := c.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing nodeclaims: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(claim v1.NodeClaim) bool {
		ref := claim.Spec.NodeClassRef
		return ref == nil || ref.Group != awsv1.Group || ref.Name != class.Name
	}), nil
}
