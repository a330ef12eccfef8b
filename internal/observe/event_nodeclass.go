package observe

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// WaitingOnNodeClaimTermination says that a NodeClass that is being deleted stays until its NodeClaims are gone.
func WaitingOnNodeClaimTermination(class runtime.Object, uid types.UID, claims []string) Event {
	return normal(class, "WaitingOnNodeClaimTermination", "Waiting on NodeClaim termination for "+someOf(claims), string(uid))
}
