// Package served is what the API server of a cluster offers: its version, and which of the APIs that not every cluster has. The process
// asks once, at its start, and passes the answer on as a plain value.
//
// kube-scheduler does not publish its feature gates. A behavior that follows one of them is switched by what the API server offers: by its
// version, where the gate can no longer be off in that version, or by an API that is served only with the gate.
//
// Source: specification of version 1.15, gate states.
package served

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Newest is the newest minor version of Kubernetes 1 whose kube-scheduler is followed.
const Newest = 37

// ExtendedResourcesMinor is the minor version from which kube-scheduler serves extended resources by dynamic resource allocation, whatever its
// feature gates. Source: KEP-5004.
const ExtendedResourcesMinor = 37

// API is what an API server offers. The zero value is an unknown version without optional resources.
type API struct {
	// Minor is the minor version of Kubernetes 1; 0 when it is unknown.
	Minor int
	// Resources are those of Optional that are served.
	Resources []schema.GroupVersionResource
}

// Optional are the resources that the process uses where they are served, and does without elsewhere.
var Optional = []schema.GroupVersionResource{PodGroups, DeviceTaintRules, CSIDrivers} //nolint:gochecknoglobals // a constant

// The optional resources.
//
//nolint:gochecknoglobals // constants
var (
	PodGroups        = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"}
	DeviceTaintRules = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "devicetaintrules"}
	CSIDrivers       = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "csidrivers"}
)

// Everything is an API server of the newest version that serves all optional resources: what tools assume without a cluster.
func Everything() API { return API{Minor: Newest, Resources: Optional} }

// Has reports whether a resource is served.
func (a API) Has(resource schema.GroupVersionResource) bool {
	return slices.Contains(a.Resources, resource)
}
