// Package v1 holds the wire types of the API group karpenter.sh/v1: NodePool (what may be provisioned) and NodeClaim
// (one requested node), with the labels, annotations and taints that belong to them and with the rules that are
// pure functions of these objects: the template hash, runtime validation and disruption budgets.
//
// The package imports no client and no cloud, so that anything may import it. What the API server enforces is written
// as markers on the types; api/crds holds the schemas generated from them.
//
// Source: spec API, custom resource definitions; labels, annotations, taints, finalizers; runtime validation, hashing.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the core kinds, and the domain of their labels and annotations.
const Group = "karpenter.sh"

// SchemeGroupVersion is the group and version of the kinds in this package. It is never changed.
var SchemeGroupVersion = schema.GroupVersion{Group: Group, Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &NodePool{}, &NodePoolList{}, &NodeClaim{}, &NodeClaimList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
