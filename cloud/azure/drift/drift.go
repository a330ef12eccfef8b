// Package drift compares a node with what its node class says today. It makes no calls: images and the version of Kubernetes are in the
// status of the class, and what Azure and the cluster say is given.
//
// Source: Azure provider specification, drift.
package drift

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/image"
)

// Reasons, in the order in which they are looked for.
const (
	NodeClass         cloud.DriftReason = "NodeClassDrift"
	KubernetesVersion cloud.DriftReason = "K8sVersionDrift"
	KubeletIdentity   cloud.DriftReason = "KubeletIdentityDrift"
	Image             cloud.DriftReason = "ImageDrift"
	ClusterConfig     cloud.DriftReason = "ClusterConfigDrift"
)

// actionSynced is the drift action of an AKSMachine that AKS finds up to date. So is none at all.
const actionSynced = "Synced"

// OfVM returns the drift of a NodeClaim whose virtual machine the provider created; empty for none. The node is nil if there is none. The
// identity is the client ID of the managed identity that kubelets use today.
func OfVM(class *v1beta1.AKSNodeClass, claim *v1.NodeClaim, node *corev1.Node, identity string) (cloud.DriftReason, error) {
	if err := launched(claim); err != nil {
		return "", err
	}
	for _, reason := range []cloud.DriftReason{ofClass(class, claim), ofVersion(class, node), ofIdentity(node, identity)} {
		if reason != "" {
			return reason, nil
		}
	}
	return ofImage(class, claim, func(id string) (string, bool) { return id, true })
}

// OfAKSMachine returns the drift of a NodeClaim with an AKSMachine; empty for none. The node is nil if there is none. The action is what
// the AKSMachine says that AKS would do because of drift; AKS finds drift of the configuration of the cluster by itself.
func OfAKSMachine(class *v1beta1.AKSNodeClass, claim *v1.NodeClaim, node *corev1.Node, action string) (cloud.DriftReason, error) {
	if err := launched(claim); err != nil {
		return "", err
	}
	for _, reason := range []cloud.DriftReason{ofClass(class, claim), ofVersion(class, node)} {
		if reason != "" {
			return reason, nil
		}
	}
	reason, err := ofImage(class, claim, func(id string) (string, bool) {
		parsed, err := image.ParseID(id)
		if err != nil {
			return "", false
		}
		version, err := parsed.NodeImageVersion()
		return version, err == nil
	})
	if reason != "" || err != nil {
		return reason, err
	}
	if action != "" && action != actionSynced {
		return ClusterConfig, nil
	}
	return "", nil
}

// launched returns an error if a NodeClaim has no instance.
func launched(claim *v1.NodeClaim) error {
	if claim.Status.ProviderID == "" {
		return fmt.Errorf("looking for drift of nodeclaim %q: it has no provider id", claim.Name)
	}
	return nil
}

// ofClass compares the static hashes. They count only when both are there and were computed by the same rules.
func ofClass(class *v1beta1.AKSNodeClass, claim *v1.NodeClaim) cloud.DriftReason {
	hash, hashed := class.Annotations[label.AnnotationHash]
	version, versioned := class.Annotations[label.AnnotationHashVersion]
	claimHash, claimHashed := claim.Annotations[label.AnnotationHash]
	claimVersion, claimVersioned := claim.Annotations[label.AnnotationHashVersion]
	if !hashed || !versioned || !claimHashed || !claimVersioned || version != claimVersion || hash == claimHash {
		return ""
	}
	return NodeClass
}

// ofVersion compares the version of the kubelet. While the version of the class is not known, and for nodes that are being deleted, there is
// no drift.
func ofVersion(class *v1beta1.AKSNodeClass, node *corev1.Node) cloud.DriftReason {
	want, err := class.CurrentKubernetesVersion()
	if err != nil || node == nil || node.DeletionTimestamp != nil {
		return ""
	}
	if strings.TrimPrefix(node.Status.NodeInfo.KubeletVersion, "v") == want {
		return ""
	}
	return KubernetesVersion
}

// ofIdentity compares the identity of the kubelet, which nodes have a label with.
func ofIdentity(node *corev1.Node, identity string) cloud.DriftReason {
	if node == nil {
		return ""
	}
	if have := node.Labels[label.AKSKubeletIdentityClientID]; have == "" || have == identity {
		return ""
	}
	return KubeletIdentity
}

// ofImage compares the image of a NodeClaim with those of the class, after both have been named in the same way. While the images of the class
// are not known, there is no drift. Upper and lower case do not differ.
func ofImage(class *v1beta1.AKSNodeClass, claim *v1.NodeClaim, name func(id string) (string, bool)) (cloud.DriftReason, error) {
	images, err := class.CurrentImages()
	if err != nil {
		return "", nil //nolint:nilerr // The condition of the class says so, and it is no reason to look again.
	}
	var names []string
	for _, i := range images {
		if named, ok := name(i.ID); ok {
			names = append(names, named)
		}
	}
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("looking for drift of the image: aksnodeclass %q has no images that can be compared", class.Name)
	case claim.Status.ImageID == "":
		return "", errors.New("looking for drift of the image: the claim has none")
	case slices.ContainsFunc(names, func(named string) bool { return strings.EqualFold(named, claim.Status.ImageID) }):
		return "", nil
	}
	return Image, nil
}
