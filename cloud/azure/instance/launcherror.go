package instance

import "github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"

// NewLaunchError returns the error of a launch with its cause. The code is that of Azure; empty if there is none.
func NewLaunchError(phase Phase, code string, failure azureerrors.Failure, cause error) *LaunchError {
	return &LaunchError{Phase: phase, Code: code, Failure: failure, err: failure.Error(cause)}
}
