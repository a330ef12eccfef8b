package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubeletConfiguration holds settings of the kubelet, by their names there.
//
// +kubebuilder:validation:XValidation:message="imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent",rule="!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent"
type KubeletConfiguration struct {
	// cpuManagerPolicy says how containers get CPUs; with static, those of guaranteed pods can have exclusive CPUs.
	// +kubebuilder:default:=none
	// +kubebuilder:validation:Enum:={none,static}
	// +optional
	CPUManagerPolicy string `json:"cpuManagerPolicy,omitempty"`
	// cpuCFSQuota enforces the CPU limits of containers.
	// +kubebuilder:default:=true
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`

	// A text that is not a Go duration would fail to decode, which would hide all classes from the controller. Hence the pattern, and the
	// rule, which refuses what does not fit into 64 bits of nanoseconds.

	// cpuCFSQuotaPeriod is the period in which CPU limits are enforced.
	// +kubebuilder:default:="100ms"
	// +kubebuilder:validation:MaxLength:=64
	// +kubebuilder:validation:Pattern:=`^(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))+)$`
	// +kubebuilder:validation:XValidation:message="cpuCFSQuotaPeriod must be a duration such as 100ms",rule="self == '0' || duration(self) >= duration('0s')"
	// +kubebuilder:validation:Type:=string
	// +optional
	CPUCFSQuotaPeriod metav1.Duration `json:"cpuCFSQuotaPeriod,omitzero"`
	// imageGCHighThresholdPercent is the usage of the disk, in percent, above which unused images are deleted.
	// +kubebuilder:validation:Minimum:=0
	// +kubebuilder:validation:Maximum:=100
	// +optional
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// imageGCLowThresholdPercent is the usage of the disk, in percent, down to which unused images are deleted.
	// +kubebuilder:validation:Minimum:=0
	// +kubebuilder:validation:Maximum:=100
	// +optional
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// topologyManagerPolicy says how resources are aligned with NUMA nodes.
	// +kubebuilder:default:=none
	// +kubebuilder:validation:Enum:={restricted,best-effort,none,single-numa-node}
	// +optional
	TopologyManagerPolicy string `json:"topologyManagerPolicy,omitempty"`
	// allowedUnsafeSysctls are unsafe sysctls, or patterns of them that end with an asterisk, that pods may set.
	// +listType=atomic
	// +optional
	AllowedUnsafeSysctls []string `json:"allowedUnsafeSysctls,omitempty"`
	// containerLogMaxSize is the size at which the log of a container is rotated.
	// +kubebuilder:default:="50Mi"
	// +kubebuilder:validation:Pattern:=`^\d+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)$`
	// +optional
	ContainerLogMaxSize string `json:"containerLogMaxSize,omitempty"`
	// containerLogMaxFiles is the most log files of a container.
	// +kubebuilder:default:=5
	// +kubebuilder:validation:Minimum:=2
	// +optional
	ContainerLogMaxFiles *int32 `json:"containerLogMaxFiles,omitempty"`
	// podPidsLimit is the most processes of a pod.
	// +optional
	PodPidsLimit *int64 `json:"podPidsLimit,omitempty"`
	// failSwapOn keeps the kubelet from starting where swap is on. linuxOSConfig.swapFileSize requires false.
	// +optional
	FailSwapOn *bool `json:"failSwapOn,omitempty"`
}
