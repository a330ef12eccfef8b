package userdata

import (
	"slices"
	"strconv"
	"strings"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// nameBottlerocket is part of the names of all Bottlerocket images.
const nameBottlerocket = "bottlerocket"

// BottlerocketVersion is the release of a class's images, if known: from the alias, from the selected name,
// from the name of the image whose ID is selected, or from the name of any image. Empty when unknown.
func BottlerocketVersion(class *awsv1.EC2NodeClass) string {
	if alias, ok, err := class.Alias(); ok && err == nil {
		return alias.Version
	}
	for _, term := range class.Spec.AMISelectorTerms {
		if version := versionInName(term.Name); version != "" {
			return version
		}
	}
	for _, term := range class.Spec.AMISelectorTerms {
		at := slices.IndexFunc(class.Status.AMIs, func(image awsv1.AMI) bool { return term.ID != "" && image.ID == term.ID })
		if at >= 0 && strings.Contains(class.Status.AMIs[at].Name, nameBottlerocket) {
			return versionInName(class.Status.AMIs[at].Name)
		}
	}
	for _, image := range class.Status.AMIs {
		if strings.Contains(image.Name, nameBottlerocket) {
			return versionInName(image.Name)
		}
	}
	return ""
}

// versionInName returns the release in the name of an image, such as bottlerocket-aws-k8s-1.30-x86_64-v1.19.2-29cc92cc.
func versionInName(name string) string {
	for piece := range strings.SplitSeq(name, "-") {
		if strings.HasPrefix(piece, "v") && strings.Contains(piece, ".") {
			return piece
		}
	}
	return ""
}

// bindsByDefault reports whether a release mounts the required directories by default: from 1.46.0 on.
func bindsByDefault(version string) bool {
	if version == awsv1.VersionLatest {
		return true
	}
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) != 3 {
		return false
	}
	major, errMajor := strconv.Atoi(parts[0])
	minor, errMinor := strconv.Atoi(parts[1])
	return errMajor == nil && errMinor == nil && (major > 1 || (major == 1 && minor >= 46))
}
