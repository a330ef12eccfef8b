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

// KubeletManaged reports whether a label is one of those that every kubelet sets on its node: host name, zone, region, instance type,
// operating system and architecture, in the present and the earlier form.
func KubeletManaged(key string) bool {
	switch key {
	case corev1.LabelHostname,
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
		corev1.LabelInstanceTypeStable, corev1.LabelInstanceType,
		corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch":
		return true
	}
	return false
}

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
