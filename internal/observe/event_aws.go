package observe

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Events without a reason tell each other apart by what they are about, which is one more value of their repetition.

// NodeClassMissing says that a NodePool or NodeClaim names a NodeClass that is not there or is being deleted. It has no reason, as in the
// reference.
func NodeClassMissing(object runtime.Object, uid types.UID) Event {
	return warning(object, "", "Failed resolving NodeClass", string(uid), "nodeclass")
}

// SpotRoleMissing says that spot cannot be had, because the role for it may not be made. It has no reason, as in the reference.
func SpotRoleMissing(claim *v1.NodeClaim) Event {
	const message = `Attempted to launch a spot instance but failed due to "AuthFailure.ServiceLinkedRoleCreationNotPermitted"`
	return warning(claim, "", message, string(claim.UID), "spot")
}
