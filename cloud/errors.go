package cloud

import (
	"errors"
	"fmt"
)

// NodeClaimNotFoundError says that an instance does not exist (any more). Get, Delete and IsDrifted answer with it.
type NodeClaimNotFoundError struct{ cause error }

// NewNodeClaimNotFoundError wraps the cause, which should name the instance.
func NewNodeClaimNotFoundError(cause error) *NodeClaimNotFoundError {
	return &NodeClaimNotFoundError{cause: cause}
}

// Error is "nodeclaim not found, <cause>".
func (e *NodeClaimNotFoundError) Error() string {
	return fmt.Sprintf("nodeclaim not found, %v", e.cause)
}

// Unwrap is the cause.
func (e *NodeClaimNotFoundError) Unwrap() error { return e.cause }

// IsNodeClaimNotFound reports whether err is, or wraps, a NodeClaimNotFoundError.
func IsNodeClaimNotFound(err error) bool { return isA[*NodeClaimNotFoundError](err) }

// IgnoreNodeClaimNotFound is err, or nil when it is a NodeClaimNotFoundError.
func IgnoreNodeClaimNotFound(err error) error {
	if IsNodeClaimNotFound(err) {
		return nil
	}
	return err
}

// InsufficientCapacityError says that no offering that the claim allows can be launched now. The claim is deleted and its pods
// are scheduled again; the provider must mark the exhausted offerings as unavailable.
type InsufficientCapacityError struct{ cause error }

// NewInsufficientCapacityError wraps the cause.
func NewInsufficientCapacityError(cause error) *InsufficientCapacityError {
	return &InsufficientCapacityError{cause: cause}
}

// Error is "insufficient capacity, <cause>".
func (e *InsufficientCapacityError) Error() string {
	return fmt.Sprintf("insufficient capacity, %v", e.cause)
}

// Unwrap is the cause.
func (e *InsufficientCapacityError) Unwrap() error { return e.cause }

// IsInsufficientCapacity reports whether err is, or wraps, an InsufficientCapacityError.
func IsInsufficientCapacity(err error) bool { return isA[*InsufficientCapacityError](err) }

// NodeClassNotReadyError says that the claim's node class cannot be used yet. The claim is deleted.
type NodeClassNotReadyError struct{ cause error }

// NewNodeClassNotReadyError wraps the cause.
func NewNodeClassNotReadyError(cause error) *NodeClassNotReadyError {
	return &NodeClassNotReadyError{cause: cause}
}

// Error is "NodeClassRef not ready, <cause>".
func (e *NodeClassNotReadyError) Error() string {
	return fmt.Sprintf("NodeClassRef not ready, %v", e.cause)
}

// Unwrap is the cause.
func (e *NodeClassNotReadyError) Unwrap() error { return e.cause }

// IsNodeClassNotReady reports whether err is, or wraps, a NodeClassNotReadyError.
func IsNodeClassNotReady(err error) bool { return isA[*NodeClassNotReadyError](err) }

// CreateError is a failed launch with a reason for users: Reason and Message become those of the claim's Launched
// condition. The launch is retried until the launch timeout.
type CreateError struct {
	// Reason is the condition's reason, in CamelCase.
	Reason string
	// Message is the condition's message.
	Message string

	cause error
}

// NewCreateError wraps the cause together with the condition that users will see.
func NewCreateError(cause error, reason, message string) *CreateError {
	return &CreateError{Reason: reason, Message: message, cause: cause}
}

// Error is "creating nodeclaim, <cause>".
func (e *CreateError) Error() string { return fmt.Sprintf("creating nodeclaim, %v", e.cause) }

// Unwrap is the cause.
func (e *CreateError) Unwrap() error { return e.cause }

// AsCreateError is the CreateError that err is or wraps.
func AsCreateError(err error) (*CreateError, bool) {
	var e *CreateError
	ok := errors.As(err, &e)
	return e, ok
}

// DeleteError says that an instance is not terminated before a user, or the cloud, changes something: Reason and Message become those of
// the claim's InstanceTerminating condition. The termination is retried.
type DeleteError struct {
	// Reason is the condition's reason, in CamelCase.
	Reason string
	// Message is the condition's message. It says what to do.
	Message string

	cause error
}

// NewDeleteError wraps the cause together with the condition that users will see.
func NewDeleteError(cause error, reason, message string) *DeleteError {
	return &DeleteError{Reason: reason, Message: message, cause: cause}
}

// Error is "deleting nodeclaim, <cause>".
func (e *DeleteError) Error() string { return fmt.Sprintf("deleting nodeclaim, %v", e.cause) }

// Unwrap is the cause.
func (e *DeleteError) Unwrap() error { return e.cause }

// AsDeleteError is the DeleteError that err is or wraps.
func AsDeleteError(err error) (*DeleteError, bool) {
	var e *DeleteError
	ok := errors.As(err, &e)
	return e, ok
}

// UnevaluatedNodePoolError says that a NodePool's instance types are not available yet, because its NodeOverlays are not
// evaluated. The pool is skipped in this run.
type UnevaluatedNodePoolError struct {
	// NodePool is the pool's name.
	NodePool string
}

// NewUnevaluatedNodePoolError names the pool.
func NewUnevaluatedNodePoolError(nodePool string) *UnevaluatedNodePoolError {
	return &UnevaluatedNodePoolError{NodePool: nodePool}
}

// Error is `nodepool "<name>" is awaiting evaluation`.
func (e *UnevaluatedNodePoolError) Error() string {
	return fmt.Sprintf("nodepool %q is awaiting evaluation", e.NodePool)
}

// IsUnevaluatedNodePool reports whether err is, or wraps, an UnevaluatedNodePoolError.
func IsUnevaluatedNodePool(err error) bool { return isA[*UnevaluatedNodePoolError](err) }

// ErrorLabel returns the value of the metric label error for a provider's error. It is empty for untyped errors, so that texts do not
// become label values.
func ErrorLabel(err error) string {
	switch {
	case IsInsufficientCapacity(err):
		return "InsufficientCapacityError"
	case IsNodeClaimNotFound(err):
		return "NodeClaimNotFoundError"
	case IsNodeClassNotReady(err):
		return "NodeClassNotReadyError"
	default:
		return ""
	}
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
