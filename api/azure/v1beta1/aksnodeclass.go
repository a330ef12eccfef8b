package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AKSNodeClass holds the settings of AKS nodes that are not requirements of a NodePool: network, image, disk, security, kubelet and
// operating system.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=aksnodeclasses,scope=Cluster,categories={karpenter,nap},shortName={aksnc,aksncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="ImageFamily",type="string",JSONPath=".spec.imageFamily",priority=1,description=""
type AKSNodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the nodes.
	// +optional
	Spec AKSNodeClassSpec `json:"spec,omitempty"`
	// status is what the settings were resolved to.
	// +optional
	Status AKSNodeClassStatus `json:"status,omitzero"`
}

// AKSNodeClassList is a list of AKSNodeClasses.
//
// +kubebuilder:object:root=true
type AKSNodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AKSNodeClass `json:"items"`
}

// AKSNodeClassSpec is the desired state of AKS nodes.
//
// The names of the fields and of their types, and their order, are part of the static hash; see Hash.
//
// +kubebuilder:validation:XValidation:message="fipsMode 'FIPS' is not supported with imageFamily 'Ubuntu2404'",rule="!has(self.fipsMode) || self.fipsMode != 'FIPS' || !has(self.imageFamily) || self.imageFamily != 'Ubuntu2404'"
// +kubebuilder:validation:XValidation:message="fipsMode 'FIPS' with imageFamily 'Ubuntu2204' requires security.trustedLaunch.vtpm or security.trustedLaunch.secureBoot",rule="!has(self.fipsMode) || self.fipsMode != 'FIPS' || !has(self.imageFamily) || self.imageFamily != 'Ubuntu2204' || (has(self.security) && has(self.security.trustedLaunch) && ((has(self.security.trustedLaunch.vtpm) && self.security.trustedLaunch.vtpm) || (has(self.security.trustedLaunch.secureBoot) && self.security.trustedLaunch.secureBoot)))"
// +kubebuilder:validation:XValidation:message="fipsMode 'FIPS' with security.trustedLaunch requires imageFamily 'Ubuntu' or 'Ubuntu2204'",rule="!has(self.fipsMode) || self.fipsMode != 'FIPS' || !has(self.imageFamily) || self.imageFamily in ['Ubuntu', 'Ubuntu2204'] || !has(self.security) || !has(self.security.trustedLaunch) || !((has(self.security.trustedLaunch.vtpm) && self.security.trustedLaunch.vtpm) || (has(self.security.trustedLaunch.secureBoot) && self.security.trustedLaunch.secureBoot))"
// +kubebuilder:validation:XValidation:message="linuxOSConfig.swapFileSize requires kubelet.failSwapOn to be false",rule="!has(self.linuxOSConfig) || !has(self.linuxOSConfig.swapFileSize) || (has(self.kubelet) && has(self.kubelet.failSwapOn) && !self.kubelet.failSwapOn)"
type AKSNodeClassSpec struct {
	// vnetSubnetID is the ARM id of the subnet of the nodes. Absent means the subnet that the controller is configured with.
	// +kubebuilder:validation:Pattern:=`(?i)^/subscriptions/[^/]+/resourceGroups/[a-zA-Z0-9_().-]{0,89}[a-zA-Z0-9_()-]/providers/Microsoft[.]Network/virtualNetworks/[^/]+/subnets/[^/]+$`
	// +optional
	VNETSubnetID *string `json:"vnetSubnetID,omitempty"`
	// osDiskSizeGB is the size of the disk of the operating system, in gigabytes as Azure counts them (GiB).
	// +kubebuilder:default:=128
	// +kubebuilder:validation:Minimum:=30
	// +kubebuilder:validation:Maximum:=2048
	// +optional
	OSDiskSizeGB *int32 `json:"osDiskSizeGB,omitempty"`
	// imageFamily is the operating system. The family Ubuntu leaves the release to the version of Kubernetes and to fipsMode.
	// +kubebuilder:default:=Ubuntu
	// +kubebuilder:validation:Enum:={Ubuntu,Ubuntu2204,Ubuntu2404,AzureLinux}
	// +optional
	ImageFamily *string `json:"imageFamily,omitempty"`
	// fipsMode selects images with cryptographic modules that comply with FIPS 140. Absent means Disabled.
	// +kubebuilder:validation:Enum:={FIPS,Disabled}
	// +optional
	FIPSMode *FIPSMode `json:"fipsMode,omitempty"`
	// tags are put on the Azure resources of the nodes. A slash in a key is replaced by an underscore. A change updates existing
	// resources and is not drift.
	// +kubebuilder:validation:XValidation:message="tag keys must have at most 512 characters",rule="self.all(k, size(k) <= 512)"
	// +kubebuilder:validation:XValidation:message="tag keys must not contain '<', '>', '%', '&', '?' or a backslash",rule="self.all(k, !k.matches('[<>%&?\\\\\\\\]'))"
	// +kubebuilder:validation:XValidation:message="tag values must have at most 256 characters",rule="self.all(k, size(self[k]) <= 256)"
	// +optional
	Tags map[string]string `json:"tags,omitempty" hash:"ignore"`
	// kubelet holds settings of the kubelet. Its defaults apply only if it is present.
	// +optional
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty"`
	// maxPods is the most pods of a node. Absent means a number that depends on the network plugin of the cluster.
	// +kubebuilder:validation:Minimum:=10
	// +kubebuilder:validation:Maximum:=250
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`
	// security holds security settings of the virtual machines.
	// +optional
	Security *Security `json:"security,omitempty"`
	// localDNS configures a DNS proxy on each node.
	// +optional
	LocalDNS *LocalDNS `json:"localDNS,omitempty"`
	// gpu holds settings of nodes with GPUs.
	// +optional
	GPU *GPU `json:"gpu,omitempty"`
	// artifactStreaming holds settings of the streaming of container images.
	// +optional
	ArtifactStreaming *ArtifactStreaming `json:"artifactStreaming,omitempty"`
	// linuxOSConfig holds settings of the kernel and of memory.
	// +optional
	LinuxOSConfig *LinuxOSConfiguration `json:"linuxOSConfig,omitempty"`
}

// Values of imageFamily.
const (
	ImageFamilyUbuntu     = "Ubuntu"
	ImageFamilyUbuntu2204 = "Ubuntu2204"
	ImageFamilyUbuntu2404 = "Ubuntu2404"
	ImageFamilyAzureLinux = "AzureLinux"
)

// FIPSMode says whether images comply with FIPS 140.
type FIPSMode string

// Values of FIPSMode.
const (
	FIPSModeFIPS     FIPSMode = "FIPS"
	FIPSModeDisabled FIPSMode = "Disabled"
)

// Security holds security settings of virtual machines.
type Security struct {
	// encryptionAtHost encrypts temporary disks and the caches of disks on the host. Only sizes that support it are launched.
	// +optional
	EncryptionAtHost *bool `json:"encryptionAtHost,omitempty"`
	// trustedLaunch holds the settings of Trusted Launch, which is enabled if one of them is true.
	// +optional
	TrustedLaunch *TrustedLaunch `json:"trustedLaunch,omitempty"`
}

// TrustedLaunch holds the settings of Trusted Launch.
type TrustedLaunch struct {
	// vtpm adds a virtual Trusted Platform Module.
	// +optional
	VTPM *bool `json:"vtpm,omitempty"`
	// secureBoot lets the virtual machine boot only signed code.
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty"`
}

// GPU holds settings of nodes with GPUs.
type GPU struct {
	// mode says whether the driver of the GPU is installed when a node boots.
	// +kubebuilder:default:=Driver
	// +kubebuilder:validation:Enum:={Driver,None}
	// +optional
	Mode GPUMode `json:"mode,omitempty"`
}

// GPUMode says whether the driver of a GPU is installed.
type GPUMode string

// Values of GPUMode.
const (
	GPUModeDriver GPUMode = "Driver"
	GPUModeNone   GPUMode = "None"
)

// ArtifactStreaming holds settings of the streaming of container images.
type ArtifactStreaming struct {
	// enabled starts containers before their images are downloaded completely. It has no effect on arm64 nodes.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}
