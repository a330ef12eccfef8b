// Package crds holds the CustomResourceDefinitions of an installation on AWS: the core kinds, in which the label domain of
// EC2 instances is restricted, and their node class.
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
