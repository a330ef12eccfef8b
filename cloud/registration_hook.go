package cloud

import (
	"context"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// RegistrationHook delays the registration of a Node until a system outside the cluster is ready for it. All hooks
// run in parallel on every attempt; an error or a pending result keeps the unregistered taint on the Node.
//
// Source: NodeClaim lifecycle, registration.
type RegistrationHook interface {
	// Name appears in the Registered condition while the hook is pending.
	Name() string
	// Registered may change the claim's labels and annotations; they are synced to the Node once all hooks agree.
	Registered(ctx context.Context, claim *v1.NodeClaim) (HookResult, error)
}

// HookResult is a hook's answer. The zero value agrees.
type HookResult struct {
	// Requeue requests another attempt with the usual back-off.
	Requeue bool
	// RequeueAfter requests another attempt after this time.
	RequeueAfter time.Duration
}

// Pending reports whether the hook requests another attempt.
func (r HookResult) Pending() bool { return r != HookResult{} }
