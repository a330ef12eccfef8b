package cloud

import (
	"context"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Provider launches, finds and ends the instances behind NodeClaims. All methods may be called concurrently, may be
// called again after any failure or crash, and must not keep or change the objects handed to them.
type Provider interface {
	// Create launches one instance that satisfies spec.requirements and spec.resources.requests. It answers with a
	// copy of the claim that carries what the instance turned out to be: labels (instance type, zone, capacity type,
	// arch, os, …), annotations, status.providerID, imageID, capacity and allocatable. Calling it again for the same
	// UID finds the same instance and never launches a second.
	//
	// Errors: InsufficientCapacityError and NodeClassNotReadyError end the claim; CreateError and all others are
	// retried until the launch timeout.
	Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error)

	// Delete terminates the instance of claim.Status.ProviderID. Nil means that termination has started; it is called again
	// until it returns NodeClaimNotFoundError, which means that the instance does not exist. DeleteError tells users why an
	// instance is not terminated, and what to do.
	Delete(ctx context.Context, claim *v1.NodeClaim) error

	// Get is the claim that describes an instance, or NodeClaimNotFoundError when it does not exist any more.
	Get(ctx context.Context, providerID string) (*v1.NodeClaim, error)

	// List is a claim for every instance of this cluster. An instance that is ending carries a deletion timestamp;
	// the creation timestamp is that of the instance. The UID, where the provider knows it, is that of the NodeClaim that
	// the instance was launched for: it protects the instance until the NodeClaim records a provider ID. An instance may be
	// listed before the Create that launches it returns.
	List(ctx context.Context) ([]*v1.NodeClaim, error)

	// InstanceTypes are all types that could be launched for the pool, those without available offerings included.
	// The caller must not change them: they may be shared between calls.
	InstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*InstanceType, error)

	// IsDrifted says why the instance no longer matches its node class; empty when it does.
	IsDrifted(ctx context.Context, claim *v1.NodeClaim) (DriftReason, error)
}
