package observe

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// LegacyRefused reports why an object of an earlier API is not served.
func LegacyRefused(object runtime.Object, uid types.UID, why string) Event {
	return WarningEvent(object, "LegacyRefused", fmt.Sprintf("Not served: %s", why), string(uid), why)
}
