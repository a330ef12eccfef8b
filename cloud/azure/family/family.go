// Package family holds the operating systems of AKS nodes: which one a class gets, and the images that AKS publishes for it.
//
// Source: Azure provider specification, concrete family selection, image definitions.
package family

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
)

// Family is an operating system with its release.
type Family string

// The families.
const (
	Ubuntu2004  Family = "Ubuntu2004"
	Ubuntu2204  Family = "Ubuntu2204"
	Ubuntu2404  Family = "Ubuntu2404"
	AzureLinux2 Family = "AzureLinux2"
	AzureLinux3 Family = "AzureLinux3"
)

// Minor versions of Kubernetes 1 from which on new nodes get a newer release.
const (
	minorOfAzureLinux3 = 32
	minorOfUbuntu2404  = 34
)

// Of returns the family of new nodes of a class with a version of Kubernetes, such as 1.34.1. The families Ubuntu and AzureLinux of classes
// leave the release to the version, and Ubuntu also to FIPS and Trusted Launch.
func Of(class *v1beta1.AKSNodeClass, kubernetesVersion string) (Family, error) {
	parsed, err := version.ParseGeneric(kubernetesVersion)
	if err != nil {
		return "", fmt.Errorf("choosing the family of aksnodeclass %q: parsing the kubernetes version: %w", class.Name, err)
	}
	from := func(minor uint) bool { return parsed.Major() > 1 || parsed.Major() == 1 && parsed.Minor() >= minor }
	switch name := class.ImageFamily(); name {
	case v1beta1.ImageFamilyUbuntu2204:
		return Ubuntu2204, nil
	case v1beta1.ImageFamilyUbuntu2404:
		return Ubuntu2404, nil
	case v1beta1.ImageFamilyAzureLinux:
		if from(minorOfAzureLinux3) {
			return AzureLinux3, nil
		}
		return AzureLinux2, nil
	case v1beta1.ImageFamilyUbuntu, "":
		switch {
		case class.TrustedLaunch():
			return Ubuntu2204, nil
		case class.FIPS():
			return Ubuntu2004, nil
		case from(minorOfUbuntu2404):
			return Ubuntu2404, nil
		}
		return Ubuntu2204, nil
	default:
		return "", fmt.Errorf("choosing the family of aksnodeclass %q: imageFamily %q is unknown", class.Name, name)
	}
}

// OSSKU returns the value of the label kubernetes.azure.com/os-sku: the operating system without its release.
func (f Family) OSSKU() string {
	if f == AzureLinux2 || f == AzureLinux3 {
		return label.OSSKUAzureLinux
	}
	return label.OSSKUUbuntu
}

// EffectiveOSSKU returns the value of the label kubernetes.azure.com/os-sku-effective: the operating system with its release, which AKS
// leaves out of the name of Ubuntu 20.04.
func (f Family) EffectiveOSSKU() string {
	if f == Ubuntu2004 {
		return label.OSSKUUbuntu
	}
	return string(f)
}
