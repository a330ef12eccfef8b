package periodic

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/profile"
)

// Profiles deletes instance profiles that neither a class nor a claim uses.
type Profiles struct {
	Keeper *profile.Manager
	Client client.Client
}

// Collect runs once.
func (c Profiles) Collect(ctx context.Context) error {
	used := map[string]bool{}
	var classes awsv1.EC2NodeClassList
	if err := c.Client.List(ctx, &classes); err != nil {
		return fmt.Errorf("listing ec2nodeclasses: %w", err)
	}
	for _, class := range classes.Items {
		used[class.Status.InstanceProfile] = true
	}
	var claims v1.NodeClaimList
	if err := c.Client.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	for _, claim := range claims.Items {
		used[claim.Annotations[awsv1.AnnotationInstanceProfile]] = true
	}
	return c.Keeper.Collect(ctx, used)
}
