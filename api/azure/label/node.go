package label

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxValue is the most bytes of the value of a label.
const maxValue = 63

// ClusterValue returns the value of AKSCluster: the name of the resource group of the nodes as the value of a label. Parentheses become
// dashes, the name is cut to 63 characters, and a name that ends with a character that a value may not end with gets a z.
//
// Source: Azure provider specification, normalising the node RG label.
func ClusterValue(resourceGroup string) string {
	value := strings.NewReplacer("(", "-", ")", "-").Replace(resourceGroup)
	if len(value) > maxValue {
		value = value[:maxValue]
	}
	if value == "" || !strings.ContainsRune("-_.", rune(value[len(value)-1])) {
		return value
	}
	if len(value) == maxValue {
		value = value[:maxValue-1]
	}
	return value + "z"
}

// kubeletManaged are labels of the domains of Kubernetes that the kubelet may set on its node.
var kubeletManaged = map[string]bool{
	corev1.LabelHostname:                true,
	corev1.LabelTopologyZone:            true,
	corev1.LabelTopologyRegion:          true,
	corev1.LabelFailureDomainBetaZone:   true,
	corev1.LabelFailureDomainBetaRegion: true,
	corev1.LabelInstanceType:            true,
	corev1.LabelInstanceTypeStable:      true,
	corev1.LabelOSStable:                true,
	corev1.LabelArchStable:              true,
	"beta.kubernetes.io/os":             true,
	"beta.kubernetes.io/arch":           true,
}

// KubeletManaged reports whether a label is one of those that every kubelet sets on its node: host name, zone, region, instance type,
// operating system and architecture, in the present and the earlier form.
func KubeletManaged(key string) bool { return kubeletManaged[key] }

// KubeletMaySet reports whether the API server lets the kubelet set a label on its node: labels outside the domains of Kubernetes, labels
// of kubelet.kubernetes.io, node.kubernetes.io and their subdomains, and those that KubeletManaged reports.
//
// Source: the admission plugin NodeRestriction of Kubernetes; Azure provider specification, labels the node registers with.
func KubeletMaySet(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok || KubeletManaged(key) {
		return true
	}
	within := func(parent string) bool { return domain == parent || strings.HasSuffix(domain, "."+parent) }
	if !within("kubernetes.io") && !within("k8s.io") {
		return true
	}
	return within("kubelet.kubernetes.io") || within("node.kubernetes.io")
}
