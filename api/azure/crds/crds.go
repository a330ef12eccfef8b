// Package crds holds the CustomResourceDefinitions of an installation on Azure: the core kinds, in which the label domains of AKS nodes are
// restricted, and their node class.
//
// The core kinds differ from those of other clouds in three ways. Users may name only some labels of the domains karpenter.azure.com and
// kubernetes.azure.com, and no labels that AKS sets without a domain. NodePools and NodeClaims are in the category nap, as node classes
// are. NodeClaims have no printer columns for the provider ID and the image ID.
//
// Source: Azure provider specification, additions to the core CRDs.
package crds

//go:generate go run ./gen

import (
	"embed"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-anew/karpenter/api/crds"
)

//go:embed *.yaml
var files embed.FS

// Definitions returns the CRDs in the order of their file names. The caller owns the result.
func Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return crds.Read(files, "*.yaml")
}
