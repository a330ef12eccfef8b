package userdata

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// NodeLabels are the labels that a kubelet registers its node with: those of the claim, the capacity type, and on all families
// but Custom the one that says that the taints are already set. Kubelets may not set kubernetes.io labels.
func NodeLabels(claim map[string]string, capacityType string, family awsv1.Family) map[string]string {
	out := maps.Clone(claim)
	if out == nil {
		out = map[string]string{}
	}
	out[v1.CapacityTypeLabelKey] = capacityType
	if family != awsv1.FamilyCustom {
		out[v1.NodeDoNotSyncTaintsLabelKey] = "true"
	}
	maps.DeleteFunc(out, func(key, _ string) bool { return ofKubernetes(key) })
	return out
}

// ofKubernetes reports whether a label's domain belongs to Kubernetes.
func ofKubernetes(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	return ok && slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(reserved string) bool {
		return domain == reserved || strings.HasSuffix(domain, "."+reserved)
	})
}

// NodeTaints are the taints that a kubelet registers its node with: the claim's, including startup taints, and the one that repels
// pods until the node is registered.
func NodeTaints(taints, startup []corev1.Taint) []corev1.Taint {
	out := slices.Concat(taints, startup)
	unregistered := v1.UnregisteredNoExecuteTaint()
	if !slices.ContainsFunc(out, func(t corev1.Taint) bool { return t.MatchTaint(&unregistered) }) {
		out = append(out, unregistered)
	}
	return out
}
