package v1beta1

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// AKSNodeClassStatus is what the settings of a class were resolved to.
type AKSNodeClassStatus struct {
	// images are the images that nodes may start from, the most preferred first. They hold for the current generation only if the
	// condition ImagesReady does; see CurrentImages.
	// +listType=atomic
	// +optional
	Images []NodeImage `json:"images,omitempty"`
	// kubernetesVersion is the version of Kubernetes of new nodes, without a leading v. See CurrentKubernetesVersion.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// localDNSState says whether new nodes have a DNS proxy.
	// +kubebuilder:validation:Enum:={Enabled,Disabled}
	// +optional
	LocalDNSState LocalDNSState `json:"localDNSState,omitempty"`
	// conditions say whether the class can be used, and what is missing.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeImage is an image that nodes may start from.
type NodeImage struct {
	// id is the id of a version of the image, in a community gallery or in a shared image gallery.
	// +required
	ID string `json:"id"`
	// requirements are what the image requires of instance types: an architecture and a generation of Hyper-V.
	// +listType=atomic
	// +required
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// LocalDNSState says whether new nodes have a DNS proxy.
type LocalDNSState string

// Values of LocalDNSState.
const (
	LocalDNSStateEnabled  LocalDNSState = "Enabled"
	LocalDNSStateDisabled LocalDNSState = "Disabled"
)

// Conditions of an AKSNodeClass.
const (
	ConditionTypeReady                  = "Ready"
	ConditionTypeKubernetesVersionReady = "KubernetesVersionReady"
	ConditionTypeImagesReady            = "ImagesReady"
	ConditionTypeSubnetsReady           = "SubnetsReady"
	ConditionTypeValidationSucceeded    = "ValidationSucceeded"
	ConditionTypeLocalDNSReady          = "LocalDNSReady"
)

// Reasons of conditions that are not True.
const (
	// ReasonKubernetesUpgrade says that the images are those of an earlier version of Kubernetes (ImagesReady).
	ReasonKubernetesUpgrade = "KubernetesUpgrade"
	// ReasonSIGRequiredForFIPS says that FIPS images exist only in shared image galleries, which are not configured (ImagesReady).
	ReasonSIGRequiredForFIPS = "SIGRequiredForFIPS"
	// ReasonAPIVersionRefused says that Azure does not serve the version of the API by which images are listed (ImagesReady).
	ReasonAPIVersionRefused = "APIVersionRefused"
	// ReasonImagesNotFound says that there is no image (ImagesReady).
	ReasonImagesNotFound = "ImagesNotFound"
	// ReasonSubnetNotFound says that the subnet does not exist (SubnetsReady).
	ReasonSubnetNotFound = "SubnetNotFound"
	// ReasonSubnetFull: a launch found too few free addresses for a node.
	ReasonSubnetFull = "SubnetFull"
	// ReasonSubnetIDInvalid says that the id of the subnet is malformed, or is not in the network of the cluster (SubnetsReady).
	ReasonSubnetIDInvalid = "SubnetIDInvalid"
	// ReasonSubnetUnknownError says that the subnet could not be read (SubnetsReady).
	ReasonSubnetUnknownError = "SubnetUnknownError"
	// ReasonDiskEncryptionSetRBACMissing says that the controller may not read the disk encryption set (ValidationSucceeded).
	ReasonDiskEncryptionSetRBACMissing = "DiskEncryptionSetRBACMissing"
	// ReasonSysctlsInvalid says that the kubelet does not accept spec.kubelet.allowedUnsafeSysctls (ValidationSucceeded).
	ReasonSysctlsInvalid = "SysctlsInvalid"
	// ReasonCheckingClusterRequirementsFailed says that the requirements of LocalDNS could not be checked (LocalDNSReady).
	ReasonCheckingClusterRequirementsFailed = "CheckingClusterRequirementsFailed"
)

// ConditionList implements condition.Object.
func (c *AKSNodeClass) ConditionList() *[]metav1.Condition { return &c.Status.Conditions }

// ConditionTypes implements condition.Object.
func (c *AKSNodeClass) ConditionTypes() condition.Types {
	return condition.Types{Root: ConditionTypeReady, Dependents: []string{
		ConditionTypeKubernetesVersionReady, ConditionTypeImagesReady, ConditionTypeSubnetsReady, ConditionTypeValidationSucceeded,
		ConditionTypeLocalDNSReady,
	}}
}

// CurrentKubernetesVersion returns the version of new nodes, without a leading v. It is an error if the version is not known for the
// current generation: the caller must not use an earlier one.
//
// Source: Azure provider specification, status getters.
func (c *AKSNodeClass) CurrentKubernetesVersion() (string, error) {
	if err := c.current(ConditionTypeKubernetesVersionReady); err != nil {
		return "", fmt.Errorf("reading the kubernetes version of aksnodeclass %q: %w", c.Name, err)
	}
	if c.Status.KubernetesVersion == "" {
		return "", fmt.Errorf("reading the kubernetes version of aksnodeclass %q: status.kubernetesVersion is empty", c.Name)
	}
	return c.Status.KubernetesVersion, nil
}

// CurrentImages returns the images that nodes may start from, the most preferred first. It is an error if they are not known for the
// current generation: the caller must not use earlier ones. An empty list is not an error here. The caller must not change the result.
//
// Source: Azure provider specification, status getters.
func (c *AKSNodeClass) CurrentImages() ([]NodeImage, error) {
	if err := c.current(ConditionTypeImagesReady); err != nil {
		return nil, fmt.Errorf("reading the images of aksnodeclass %q: %w", c.Name, err)
	}
	return c.Status.Images, nil
}

// current returns an error unless a condition is True for the current generation.
func (c *AKSNodeClass) current(conditionType string) error {
	i := slices.IndexFunc(c.Status.Conditions, func(have metav1.Condition) bool { return have.Type == conditionType })
	if i < 0 {
		return fmt.Errorf("condition %s is missing", conditionType)
	}
	switch have := c.Status.Conditions[i]; {
	case have.Status != metav1.ConditionTrue:
		return fmt.Errorf("condition %s is %s: %s", conditionType, have.Status, have.Message)
	case have.ObservedGeneration != c.Generation:
		return fmt.Errorf("condition %s is of generation %d, the class is of generation %d", conditionType, have.ObservedGeneration, c.Generation)
	}
	return nil
}
