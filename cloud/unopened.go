package cloud

import (
	"context"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Unopened is the Provider of a cloud that is described without an account: it has no instances, and every call returns Err.
type Unopened struct {
	// Err says what is missing; it is not nil.
	Err error
}

var _ Provider = Unopened{}

// Create implements Provider.
func (u Unopened) Create(context.Context, *v1.NodeClaim) (*v1.NodeClaim, error) { return nil, u.Err }

// Delete implements Provider.
func (u Unopened) Delete(context.Context, *v1.NodeClaim) error { return u.Err }

// Get implements Provider.
func (u Unopened) Get(context.Context, string) (*v1.NodeClaim, error) { return nil, u.Err }

// List implements Provider.
func (u Unopened) List(context.Context) ([]*v1.NodeClaim, error) { return nil, u.Err }

// InstanceTypes implements Provider.
func (u Unopened) InstanceTypes(context.Context, *v1.NodePool) ([]*InstanceType, error) {
	return nil, u.Err
}

// IsDrifted implements Provider.
func (u Unopened) IsDrifted(context.Context, *v1.NodeClaim) (DriftReason, error) { return "", u.Err }
