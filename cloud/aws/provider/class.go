package provider

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// find is a class by its name. One that is being deleted is not found any more.
func (p *Provider) find(ctx context.Context, name string) (*awsv1.EC2NodeClass, error) {
	class := &awsv1.EC2NodeClass{}
	if err := p.Client.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
		return nil, fmt.Errorf("getting ec2nodeclass %q: %w", name, err)
	}
	if class.DeletionTimestamp.IsZero() {
		return class, nil
	}
	kind := schema.GroupResource{Group: awsv1.Group, Resource: "ec2nodeclasses"}
	going := apierrors.NewNotFound(kind, name)
	going.ErrStatus.Message = fmt.Sprintf("%s %q is terminating, treating as not found", kind, name)
	return nil, going
}
