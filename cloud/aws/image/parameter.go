// Package image decides which images instances start from: which parameters and queries lead to them, which of those found
// are kept, and which one an instance type gets. It makes no calls.
//
// Source: AWS provider specification, image discovery and choice.
package image

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/family"
)

// Architectures as EC2 names them.
const (
	archX86   = "x86_64"
	archARM64 = "arm64"
)

// Variant is what hardware an image is made for.
type Variant string

// The variants of the images that AWS publishes.
const (
	VariantStandard Variant = "standard"
	VariantNVIDIA   Variant = "nvidia"
	VariantNeuron   Variant = "neuron"
	VariantWindows  Variant = "windows"
	// VariantAny is for images that the user selects: only their architecture is known.
	VariantAny Variant = ""
)

// Parameter is a public parameter whose value is an image ID.
type Parameter struct {
	Path string
	// Variants are what the image serves.
	Variants []Variant
	// Mutable says that the value changes as images are released.
	Mutable bool
}

// UnsupportedAliasError says that AWS publishes no such images for the cluster's version.
type UnsupportedAliasError struct{ message string }

// Error is the message for the condition of the class.
func (e *UnsupportedAliasError) Error() string { return e.message }

const (
	// lastMinorAL2 is the last minor version of Kubernetes with images of AL2, firstMinor2025 the first with Windows 2025.
	lastMinorAL2   = 32
	firstMinor2025 = 35
)

// Parameters are the parameters that an alias stands for, on a cluster of a version such as 1.34. Not all of them need exist.
func Parameters(alias awsv1.Alias, version string) ([]Parameter, error) {
	_, minorText, ok := strings.Cut(version, ".")
	minor, err := strconv.Atoi(minorText)
	if !ok || err != nil {
		return nil, fmt.Errorf("version %q of Kubernetes is not of the form major.minor", version)
	}
	var out []Parameter
	switch {
	case alias.Family == awsv1.FamilyAL2 && minor > lastMinorAL2:
		return nil, &UnsupportedAliasError{fmt.Sprintf("AL2 aliases are no longer supported on EKS 1.33+ (version %s)", version)}
	case alias.Family == awsv1.FamilyWindows2025 && minor < firstMinor2025:
		return nil, &UnsupportedAliasError{fmt.Sprintf("Windows Server 2025 requires EKS version 1.35 or higher, current version: %s", version)}
	case alias.Family == awsv1.FamilyAL2:
		out = parametersAL2(alias.Version, version)
	case alias.Family == awsv1.FamilyAL2023:
		out = parametersAL2023(alias.Version, version)
	case alias.Family == awsv1.FamilyBottlerocket:
		out = parametersBottlerocket(alias.Version, version)
	case alias.Family.Windows():
		release := strings.TrimPrefix(string(alias.Family), "Windows")
		out = []Parameter{{fmt.Sprintf("/aws/service/ami-windows-latest/Windows_Server-%s-English-Core-EKS_Optimized-%s/image_id", release, version), []Variant{VariantWindows}, true}}
	default:
		return nil, fmt.Errorf("family %s has no aliases", alias.Family)
	}
	for i := range out {
		out[i].Mutable = alias.Version == awsv1.VersionLatest
	}
	return out, nil
}

func parametersAL2(release, version string) []Parameter {
	path := func(kind, node string) string {
		name := "recommended"
		if release != awsv1.VersionLatest {
			name = fmt.Sprintf("amazon-eks-%s-%s-%s", node, version, release)
		}
		return fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2%s/%s/image_id", version, kind, name)
	}
	return []Parameter{
		{Path: path("", "node"), Variants: []Variant{VariantStandard}},
		{Path: path("-arm64", "arm64-node"), Variants: []Variant{VariantStandard}},
		{Path: path("-gpu", "gpu-node"), Variants: []Variant{VariantNeuron, VariantNVIDIA}},
	}
}

func parametersAL2023(release, version string) []Parameter {
	var out []Parameter
	for _, image := range []struct {
		arch    string
		variant Variant
	}{
		{archX86, VariantStandard}, {archX86, VariantNVIDIA}, {archX86, VariantNeuron}, {archARM64, VariantStandard}, {archARM64, VariantNVIDIA},
	} {
		name := "recommended"
		if release != awsv1.VersionLatest {
			name = fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", image.arch, image.variant, version, release)
		}
		path := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/%s/image_id", version, image.arch, image.variant, name)
		out = append(out, Parameter{Path: path, Variants: []Variant{image.variant}})
	}
	return out
}

func parametersBottlerocket(release, version string) []Parameter {
	path := func(kind, arch string) string {
		return fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/%s/image_id", version, kind, arch, strings.TrimPrefix(release, "v"))
	}
	return []Parameter{
		{Path: path("", archX86), Variants: []Variant{VariantStandard, VariantNeuron}},
		{Path: path("", archARM64), Variants: []Variant{VariantStandard}},
		{Path: path("-nvidia", archX86), Variants: []Variant{VariantNVIDIA}},
		{Path: path("-nvidia", archARM64), Variants: []Variant{VariantNVIDIA}},
	}
}

// Requirements are what an image of a variant asks of instance types, short keys first; false for an architecture that no
// node has. The family matters for Windows alone.
func Requirements(architecture string, variant Variant, of awsv1.Family) ([]corev1.NodeSelectorRequirement, bool) {
	arch, ok := map[string]string{archX86: "amd64", archARM64: "arm64"}[architecture]
	if !ok {
		return nil, false
	}
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	out := []corev1.NodeSelectorRequirement{in(corev1.LabelArchStable, arch)}
	switch variant {
	case VariantStandard:
		out = append(out,
			corev1.NodeSelectorRequirement{Key: awsv1.LabelInstanceAcceleratorCount, Operator: corev1.NodeSelectorOpDoesNotExist},
			corev1.NodeSelectorRequirement{Key: awsv1.LabelInstanceGPUCount, Operator: corev1.NodeSelectorOpDoesNotExist})
	case VariantNVIDIA:
		out = append(out, corev1.NodeSelectorRequirement{Key: awsv1.LabelInstanceGPUCount, Operator: corev1.NodeSelectorOpExists})
	case VariantNeuron:
		out = append(out, corev1.NodeSelectorRequirement{Key: awsv1.LabelInstanceAcceleratorCount, Operator: corev1.NodeSelectorOpExists})
	case VariantWindows:
		out = append(out, in(corev1.LabelOSStable, string(corev1.Windows)), in(corev1.LabelWindowsBuild, family.TraitsOf(of).WindowsBuild))
	}
	slices.SortFunc(out, func(a, b corev1.NodeSelectorRequirement) int {
		if len(a.Key) != len(b.Key) {
			return len(a.Key) - len(b.Key)
		}
		return strings.Compare(a.Key, b.Key)
	})
	return out, true
}
