package cloud

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Rebooter restarts instances in place. Like those of Provider, its calls may be concurrent and may be repeated after any
// failure or crash.
//
// Source: specification of version 1.15, reboots.
type Rebooter interface {
	// Reboot restarts the instance of claim.Status.ProviderID. Nil means that the cloud has accepted the request; whether the node
	// has booted is seen at its boot ID. The operation ID is the same whenever the same reboot is requested again, and another one for
	// every other reboot, so that a cloud can reject duplicates.
	//
	// Errors: RebootNotImplementedError, RebootRejectedError and NodeClaimNotFoundError end the reboot; all others are retried.
	Reboot(ctx context.Context, claim *v1.NodeClaim, operationID string) error
}

// Reboot restarts the instance of a claim, see Rebooter. A cloud without a Rebooter answers with RebootNotImplementedError.
func (c Cloud) Reboot(ctx context.Context, claim *v1.NodeClaim, operationID string) error {
	if c.Rebooter == nil {
		return NewRebootNotImplementedError(c.Name)
	}
	return c.Rebooter.Reboot(ctx, claim, operationID)
}

// RebootDrainBound is how long the node of a claim may be drained before a reboot, as its annotation says: zero for not at all, and nil for without
// a limit. Drains last for at least MinDrain. An error says that the annotation is not a duration: the reboot fails then.
func RebootDrainBound(claim *v1.NodeClaim) (*time.Duration, error) {
	text, ok := claim.Annotations[v1.RebootTerminationGracePeriodAnnotationKey]
	if !ok {
		return nil, nil
	}
	bound, err := time.ParseDuration(text)
	if err != nil || bound < 0 {
		return nil, fmt.Errorf("the annotation %s is %q: set it to a duration such as 10m, or to 0s, and request the reboot again",
			v1.RebootTerminationGracePeriodAnnotationKey, text)
	}
	return &bound, nil
}

// RebootNotImplementedError says that a cloud does not reboot instances.
type RebootNotImplementedError struct{ cloud string }

// NewRebootNotImplementedError names the cloud.
func NewRebootNotImplementedError(cloud string) *RebootNotImplementedError {
	return &RebootNotImplementedError{cloud: cloud}
}

// Error is `cloud provider "<name>" does not reboot instances`.
func (e *RebootNotImplementedError) Error() string {
	return fmt.Sprintf("cloud provider %q does not reboot instances", e.cloud)
}

// IsRebootNotImplemented reports whether err is, or wraps, a RebootNotImplementedError.
func IsRebootNotImplemented(err error) bool { return isA[*RebootNotImplementedError](err) }

// RebootRejectedError says that a reboot fails however often it is requested, for instance for lack of a permission.
type RebootRejectedError struct{ cause error }

// NewRebootRejectedError wraps the cause.
func NewRebootRejectedError(cause error) *RebootRejectedError {
	return &RebootRejectedError{cause: cause}
}

// Error is that of the cause.
func (e *RebootRejectedError) Error() string { return e.cause.Error() }

// Unwrap is the cause.
func (e *RebootRejectedError) Unwrap() error { return e.cause }

// IsRebootRejected reports whether err is, or wraps, a RebootRejectedError.
func IsRebootRejected(err error) bool { return isA[*RebootRejectedError](err) }
