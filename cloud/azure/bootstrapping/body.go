package bootstrapping

import (
	"fmt"
	"math"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/gpu"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeprofile"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// Spec is the node that the service prepares.
type Spec struct {
	Class *v1beta1.AKSNodeClass
	SKU   sku.Description
	// Family is the operating system of the image, Distro what the service calls the image.
	Family family.Family
	Distro string
	// KubernetesVersion is the version of the kubelet, without a leading v.
	KubernetesVersion string
	// SubnetID is the ARM id of the subnet of the node.
	SubnetID string
	MaxPods  int32
	// EphemeralDisk and System are as decided for the launch; System says that the node is for system pods.
	EphemeralDisk, System bool
	// Labels are those of the node. StartupTaints are those that something removes when the node has started, with the unregistered taint;
	// Taints are the others. Taints are written as key=value:Effect.
	Labels                map[string]string
	StartupTaints, Taints []string
	// MemoryCapacity is the memory of the instance type in bytes, from which MemoryOverhead, a fraction, is subtracted.
	MemoryCapacity int64
	MemoryOverhead float64
}

// Body is what the service is asked.
type Body struct {
	Profile Profile `json:"provisionProfile"`
	Helper  Helper  `json:"provisionHelperValues"`
}

// Profile is the node.
type Profile struct {
	Name                     string                   `json:"name"`
	VMSize                   string                   `json:"vmSize"`
	OrchestratorVersion      string                   `json:"orchestratorVersion"`
	VNetSubnetID             string                   `json:"vnetSubnetID"`
	Distro                   string                   `json:"distro"`
	MaxPods                  int32                    `json:"maxPods"`
	Architecture             string                   `json:"architecture"`
	OSType                   int                      `json:"osType"`
	OSSKU                    int                      `json:"osSku"`
	StorageProfile           string                   `json:"storageProfile"`
	Mode                     int                      `json:"mode"`
	VNetCIDRs                []string                 `json:"vnetCidrs"`
	CustomNodeLabels         map[string]string        `json:"customNodeLabels"`
	NodeInitializationTaints []string                 `json:"nodeInitializationTaints"`
	NodeTaints               []string                 `json:"nodeTaints"`
	KubeletConfig            *nodeprofile.Kubelet     `json:"customKubeletConfig"`
	LinuxOSConfig            *nodeprofile.LinuxOS     `json:"customLinuxOSConfig,omitempty"`
	EnableFIPS               bool                     `json:"enableFIPS"`
	GPU                      *GPUProfile              `json:"gpuProfile,omitempty"`
	Security                 SecurityProfile          `json:"securityProfile"`
	ArtifactStreaming        ArtifactStreamingProfile `json:"artifactStreamingProfile"`
	LocalDNS                 *nodeprofile.LocalDNS    `json:"localDNSProfile,omitempty"`
}

// GPUProfile says which driver the node installs.
type GPUProfile struct {
	InstallDriver bool `json:"installGPUDriver"`
	DriverType    int  `json:"driverType"`
}

// SecurityProfile has the access by SSH, and Trusted Launch as far as the class sets it.
type SecurityProfile struct {
	SSHAccess        int   `json:"sshAccess"`
	EnableVTPM       *bool `json:"enableVTPM,omitempty"`
	EnableSecureBoot *bool `json:"enableSecureBoot,omitempty"`
}

// ArtifactStreamingProfile says whether images of containers are streamed.
type ArtifactStreamingProfile struct {
	Enabled bool `json:"enabled"`
}

// Helper has the hardware, for what the service reserves.
type Helper struct {
	// CPU is the number of vCPUs, Memory the memory of the hardware in GiB.
	CPU    float64 `json:"skuCPU"`
	Memory float64 `json:"skuMemory"`
}

// Numbers by which the service knows things.
const (
	linux           = 2
	ubuntu          = 1
	azureLinux      = 7
	systemMode      = 1
	userMode        = 2
	driverGRID      = 2
	driverCUDA      = 3
	accessLocalUser = 0
)

// BodyOf returns what the service is asked for a node. It fails for an operating system that the service cannot prepare, and if a size in the
// class is not a quantity.
func BodyOf(spec *Spec) (*Body, error) {
	osSKU, err := osSKUOf(spec.Family)
	if err != nil {
		return nil, err
	}
	kubelet, err := nodeprofile.KubeletOf(spec.Class)
	if err != nil {
		return nil, fmt.Errorf("translating the configuration of the kubelet: %w", err)
	}
	if kubelet == nil {
		kubelet = &nodeprofile.Kubelet{} // the service expects one, also of a class without it
	}
	linuxOS, err := nodeprofile.LinuxOSOf(spec.Class)
	if err != nil {
		return nil, fmt.Errorf("translating the configuration of Linux: %w", err)
	}
	class := spec.Class
	out := &Body{
		Profile: Profile{
			VMSize: spec.SKU.Name, OrchestratorVersion: spec.KubernetesVersion, VNetSubnetID: spec.SubnetID, Distro: spec.Distro, MaxPods: spec.MaxPods,
			Architecture: choose(spec.SKU.Architecture == "arm64", "Arm64", "x64"), OSType: linux, OSSKU: osSKU,
			StorageProfile: choose(spec.EphemeralDisk, "Ephemeral", "ManagedDisks"), Mode: choose(spec.System, systemMode, userMode),
			VNetCIDRs: []string{}, CustomNodeLabels: spec.Labels, NodeInitializationTaints: present(spec.StartupTaints), NodeTaints: present(spec.Taints),
			KubeletConfig: kubelet, LinuxOSConfig: linuxOS, EnableFIPS: class.FIPS(), GPU: gpuProfile(spec),
			Security:          SecurityProfile{SSHAccess: accessLocalUser},
			ArtifactStreaming: ArtifactStreamingProfile{Enabled: class.StreamsArtifacts(spec.SKU.Architecture)},
			LocalDNS:          nodeprofile.LocalDNSOf(class),
		},
		Helper: Helper{CPU: float64(spec.SKU.VCPUs), Memory: hardwareMemory(spec.MemoryCapacity, spec.MemoryOverhead)},
	}
	if out.Profile.CustomNodeLabels == nil {
		out.Profile.CustomNodeLabels = map[string]string{}
	}
	if class.Spec.Security != nil && class.Spec.Security.TrustedLaunch != nil {
		out.Profile.Security.EnableVTPM = class.Spec.Security.TrustedLaunch.VTPM
		out.Profile.Security.EnableSecureBoot = class.Spec.Security.TrustedLaunch.SecureBoot
	}
	return out, nil
}

func osSKUOf(of family.Family) (int, error) {
	switch of {
	case family.Ubuntu2004, family.Ubuntu2204, family.Ubuntu2404:
		return ubuntu, nil
	case family.AzureLinux2, family.AzureLinux3:
		return azureLinux, nil
	}
	return 0, fmt.Errorf("the node bootstrapping service cannot prepare nodes with operating system %q", of)
}

// gpuProfile returns the profile of a size with GPUs of NVIDIA; nil for others. The driver is of the kind that the script of nodes without the
// service installs.
func gpuProfile(spec *Spec) *GPUProfile {
	driver, ok := gpu.DriverOf(spec.SKU.Name)
	if !ok {
		return nil
	}
	return &GPUProfile{InstallDriver: spec.Class.InstallsGPUDriver(), DriverType: choose(driver.GRID(), driverGRID, driverCUDA)}
}

// hardwareMemory returns the memory of the hardware in whole GiB, given what is left of it. The division may end a little above a whole
// number, which is not another GiB.
func hardwareMemory(capacity int64, overhead float64) float64 {
	const gib, tolerance = 1 << 30, 1e-6
	return math.Ceil(float64(capacity)/(1-overhead)/gib - tolerance)
}

// present returns a list that is empty instead of absent.
func present(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// choose returns one of two values.
func choose[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}
