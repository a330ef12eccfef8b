package kwok

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const nodeClaimKind = "NodeClaim"

// newNode is the Node with which the launched claim's instance joins the cluster. Of the taints it only has the one that
// marks it unregistered; registration adds the others. The claim owns it from the start, so that Kubernetes garbage
// collection deletes it if the claim is deleted concurrently.
func newNode(claim *v1.NodeClaim) *corev1.Node {
	name, _ := nodeNameOf(claim.Status.ProviderID)
	labels := maps.Clone(claim.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if ref := claim.Spec.NodeClassRef; ref != nil {
		labels[v1.NodeClassLabelKey(ref.Group, ref.Kind)] = ref.Name
	}
	labels[corev1.LabelHostname] = hostname(claim)
	labels[labelNode] = nodeFake
	labels[labelPartition] = partitionOne
	blocks := true
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      labels,
			Annotations: map[string]string{labelNode: nodeFake},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1.SchemeGroupVersion.String(), Kind: nodeClaimKind,
				Name: claim.Name, UID: claim.UID, BlockOwnerDeletion: &blocks,
			}},
		},
		Spec: corev1.NodeSpec{
			ProviderID: claim.Status.ProviderID,
			Taints:     []corev1.Taint{v1.UnregisteredNoExecuteTaint()},
		},
		Status: corev1.NodeStatus{
			Capacity:    claim.Status.Capacity.DeepCopy(),
			Allocatable: claim.Status.Allocatable.DeepCopy(),
			Phase:       corev1.NodePending,
		},
	}
}

// claimOf describes the instance behind node.
func claimOf(node *corev1.Node) *v1.NodeClaim {
	claim := &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:              claimName(node),
			Labels:            maps.Clone(node.Labels),
			Annotations:       maps.Clone(node.Annotations),
			CreationTimestamp: node.CreationTimestamp,
			DeletionTimestamp: node.DeletionTimestamp.DeepCopy(),
		},
	}
	claim.Status.NodeName = node.Name
	claim.Status.ProviderID = node.Spec.ProviderID
	claim.Status.Capacity = node.Status.Capacity.DeepCopy()
	claim.Status.Allocatable = node.Status.Allocatable.DeepCopy()
	return claim
}

// claimName is the name of the claim that owns node; the host name where no owner is recorded.
func claimName(node *corev1.Node) string {
	for _, ref := range node.OwnerReferences {
		if ref.Kind == nodeClaimKind && ref.APIVersion == v1.SchemeGroupVersion.String() {
			return ref.Name
		}
	}
	return node.Labels[corev1.LabelHostname]
}
