package drift_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/drift"
)

const (
	hashKey    = "karpenter.azure.com/aksnodeclass-hash"
	versionKey = "karpenter.azure.com/aksnodeclass-hash-version"
	identity   = "kubernetes.azure.com/kubelet-identity-client-id"
	// sharedImage is an image in a shared gallery, sharedName what AKS calls it.
	sharedImage = "/subscriptions/s/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu/images/2204gen2containerd/versions/2"
	sharedName  = "AKSUbuntu-2204gen2containerd-2"
)

// state is what drift depends on.
type state struct {
	class  *v1beta1.AKSNodeClass
	claim  *v1.NodeClaim
	node   *corev1.Node
	action string
}

// matching is a state without drift, in both ways of launching.
func matching() state {
	s := state{class: &v1beta1.AKSNodeClass{}, claim: &v1.NodeClaim{}, node: &corev1.Node{}}
	annotations := func() map[string]string { return map[string]string{hashKey: "h1", versionKey: "v3"} }
	s.class.Annotations, s.claim.Annotations, s.class.Generation = annotations(), annotations(), 4
	s.class.Status.KubernetesVersion = "1.33.5"
	s.class.Status.Images = []v1beta1.NodeImage{{ID: "/CommunityGalleries/g/images/d/versions/1"}, {ID: sharedImage}}
	for _, name := range []string{v1beta1.ConditionTypeKubernetesVersionReady, v1beta1.ConditionTypeImagesReady} {
		s.class.Status.Conditions = append(s.class.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue, ObservedGeneration: 4})
	}
	s.claim.Status.ProviderID, s.claim.Status.ImageID = "azure:///x", sharedImage
	s.node.Status.NodeInfo.KubeletVersion = "v1.33.5"
	s.node.Labels = map[string]string{identity: "id-2"}
	return s
}

// TestDrift holds changes of a state without drift against the drift that follows, for virtual machines and for AKSMachines.
//
// Source: Azure provider specification, conformance vectors.
func TestDrift(t *testing.T) {
	t.Attr("covers", "Z133 Z134 Z135 Z136 Z137 Z138")
	for _, test := range []struct {
		name   string
		change func(*state)
		// vm and aks are the drift in each case, "same" for that of a virtual machine, "error" for an error.
		vm, aks string
	}{
		{"nothing", func(*state) {}, "", "same"},
		{"the class", func(s *state) { s.class.Annotations[hashKey] = "h2" }, "NodeClassDrift", "same"},
		{"the class, with another version of the hash", func(s *state) {
			s.class.Annotations[hashKey], s.claim.Annotations[versionKey] = "h2", "v2"
		}, "", "same"},
		{"the class, without a hash on the claim", func(s *state) { delete(s.claim.Annotations, hashKey) }, "", "same"},
		{"the class, without a version on it", func(s *state) { s.class.Annotations = map[string]string{hashKey: "h2"} }, "", "same"},
		{"the version", func(s *state) { s.node.Status.NodeInfo.KubeletVersion = "v1.33.4" }, "K8sVersionDrift", "same"},
		{"the version, of a node that is being deleted", func(s *state) {
			s.node.Status.NodeInfo.KubeletVersion, s.node.DeletionTimestamp = "v1.33.4", &metav1.Time{}
		}, "", "same"},
		{"the version, while that of the class is not known", func(s *state) {
			s.node.Status.NodeInfo.KubeletVersion, s.class.Status.Conditions[0].ObservedGeneration = "v1.33.4", 3
		}, "", "same"},
		{"no node", func(s *state) { s.node = nil }, "", "same"},
		{"the identity", func(s *state) { s.node.Labels[identity] = "id-1" }, "KubeletIdentityDrift", ""},
		{"the identity, which the node does not tell", func(s *state) { delete(s.node.Labels, identity) }, "", "same"},
		{"the identity, which is empty", func(s *state) { s.node.Labels[identity] = "" }, "", "same"},
		{"the image", func(s *state) { s.claim.Status.ImageID += "x" }, "ImageDrift", "same"},
		{"the image, in case only", func(s *state) { s.claim.Status.ImageID = strings.ToUpper(s.claim.Status.ImageID) }, "", "same"},
		{"the image, while those of the class are not known", func(s *state) {
			s.claim.Status.ImageID, s.class.Status.Conditions[1].Status = "x", metav1.ConditionFalse
		}, "", "same"},
		{"the image, which the claim does not have", func(s *state) { s.claim.Status.ImageID = "" }, "error", "same"},
		{"the image, without images of the class", func(s *state) { s.class.Status.Images = nil }, "error", "same"},
		{"the image, with images that AKS has no name for", func(s *state) {
			s.class.Status.Images = []v1beta1.NodeImage{{ID: "/CommunityGalleries/g/images/d/versions/1"}, {ID: "nonsense"}}
		}, "ImageDrift", "error"},
		{"the class and the version", func(s *state) {
			s.class.Annotations[hashKey], s.node.Status.NodeInfo.KubeletVersion = "h2", "v1.33.4"
		}, "NodeClassDrift", "same"},
		{"no instance", func(s *state) { s.claim.Status.ProviderID = "" }, "error", "same"},
		{"AKS finds no drift", func(s *state) { s.action = "Synced" }, "", "same"},
		{"AKS would recreate it", func(s *state) { s.action = "Recreate" }, "", "ClusterConfigDrift"},
		{"AKS would do something unknown", func(s *state) { s.action = "Other" }, "", "ClusterConfigDrift"},
	} {
		check := func(launched string, want string, got cloud.DriftReason, err error) {
			if (err != nil) != (want == "error") || err == nil && string(got) != want {
				t.Errorf("%s, %s: drift %q, error %v, want %q", launched, test.name, got, err, want)
			}
		}
		vm := matching()
		test.change(&vm)
		got, err := drift.OfVM(vm.class, vm.claim, vm.node, "id-2")
		check("virtual machine", test.vm, got, err)
		aks := matching()
		test.change(&aks)
		// The claim of an AKSMachine has the image by another name.
		aks.claim.Status.ImageID = strings.NewReplacer(sharedImage, sharedName, strings.ToUpper(sharedImage), strings.ToUpper(sharedName)).Replace(aks.claim.Status.ImageID)
		want := test.aks
		if want == "same" {
			want = test.vm
		}
		got, err = drift.OfAKSMachine(aks.class, aks.claim, aks.node, aks.action)
		check("AKSMachine", want, got, err)
	}
}
